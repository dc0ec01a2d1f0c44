// `nanobench new suite|feature`: a commented template to fill in.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "ablations/catalogue.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
namespace fs = std::filesystem;

constexpr const char* kNewFooter =
    "Examples:\n"
    "  nanobench new suite mine.json                   a suite over the engine's features\n"
    "  nanobench new suite mine.json --own-trainer     a suite for a training script of your own\n"
    "  nanobench new feature my_idea                   a feature of your own, in catalogue/features/my_idea.json";

constexpr const char* kSuiteTemplate =
    R"json(// A suite: which configurations to measure, on what data, with which seeds. Comments like this one are allowed.
// All keys: nanobench help designs
{
  "name": "NAME",
  "title": "What each of three changes of record 17 does",

  // The rule that makes the cells: leave_one_out, add_one_in, pairs, factorial, fractional_factorial, screening, sweep,
  // a_a, history (nanobench ablate --help says what each does).
  "design": "leave_one_out",

  // Where the cells start from: a record (nanobench list records), with features of it at other values.
  "base": {"record": "record17", "features": {}},

  // What is changed (nanobench list features). A word is turned to its other value; {"id": "x", "value": "y"} to y.
  "features": ["rotary", "attention_skip", "value_embeddings"],

  // smoke takes seconds, nano minutes, mini hours on two cores (nanobench list scales).
  "scale": "nano",

  // Three seeds or more: one gives no spread, and so no verdict.
  "seeds": [1, 2, 3],

  // synthetic (generated, with a known entropy), text:FILE, or shards:DIR from `nanobench data prepare`.
  "data": "synthetic"
}
)json";

constexpr const char* kTrainerTemplate =
    R"json(// A suite for a training script of your own. Comments like this one are allowed. All keys: docs/external.md
// (nanobench help external).
{
  "name": "NAME",
  "title": "What the switches of my trainer do",
  "design": "leave_one_out",
  "seeds": [1, 2, 3],
  "limits": {"seconds_per_run": 3600},
  "engine": {
    // Started in the folder of this file. {seed} and {feature:NAME} are filled in, here and in "env".
    "command": ["python3", "train.py", "--seed", "{seed}"],
    "env": {"MOMENTUM": "{feature:momentum}"},

    // Its log: lines like "step:10/100 val_loss:3.2800 train_time:1234ms" on standard output, or in a file:
    // "log_file": "logs/*.txt",

    // What can be switched: the text that stands for each value, and which value came first.
    "features": {
      "momentum": {"values": {"off": "0", "on": "1"}, "before": "off", "after": "on"}
    }
  }
}
)json";

constexpr const char* kFeatureTemplate =
    R"json(// A feature of your own: values with the settings that each one changes. Comments like this one are allowed.
// Settings: nanobench list settings. All keys: nanobench help catalogue.
{
  "id": "NAME",
  "title": "What it is, in a few words",

  // Each value is a patch over the configuration; "before" is how it was, "after" is the idea.
  "values": {
    "0.05": {"optimizer": {"hidden_matrices": {"lr": 0.05}}},
    "0.06": {"optimizer": {"hidden_matrices": {"lr": 0.06}}}
  },
  "before": "0.05",
  "after": "0.06",

  // numerics: the losses change. systems: only the speed does, and every loss must keep its bits.
  "kind": "numerics",

  // The record to try it on. "introduced", the record that brought it, is optional.
  "base": "record17",

  // Optional: "requires": [{"when": ["0.06"], "feature": "hidden_matrix_optimizer", "values": ["muon"]}],
  "text": "Why it may help, and where the idea comes from."
}
)json";

std::string filled(std::string text, const std::string& name) {
  const std::string place = "\"NAME\"";
  text.replace(text.find(place), place.size(), core::Json(name).dump());
  return text;
}

void write_new(const fs::path& file, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(file, ignored))
    throw Error(ErrorCode::kInvalidArgument, file.string() + " exists already; name another one, or edit it");
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  core::write_file_atomically(writable_file("new", file.string()), text);
}

void say_next(const std::string& file, const std::string& command, const std::string& gain) {
  std::cout << "wrote " << file << "\n\nNext:\n  " << program_name() << " " << command << "\n      " << gain << "\n";
}

void new_suite(const std::string& name, bool has_own_trainer) {
  fs::path file = name;
  if (file.extension().empty()) file += ".json";
  write_new(file, filled(has_own_trainer ? kTrainerTemplate : kSuiteTemplate, file.stem().string()));
  say_next(file.string(), "show " + shell_words({file.string()}), "its cells, once it is as you want it");
}

void new_feature(const std::string& id, const std::string& folder) {
  const bool is_id = !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_id)
    throw Error(ErrorCode::kInvalidArgument, "new feature " + id + ": expected lower-case letters, digits and _");
  if (load_catalogue("").has_feature(id))
    throw Error(ErrorCode::kInvalidArgument, "the catalogue has a feature " + id + " already; choose another name");
  const fs::path file = fs::path(folder) / "features" / (id + ".json");
  write_new(file, filled(kFeatureTemplate, id));
  const std::string catalogue = " --catalogue " + shell_words({folder});
  say_next(file.string(),
           "ablate --base record17 --design add_one_in --features " + id + catalogue + " --scale smoke --seeds 3",
           "tries it in seconds; without --scale smoke, at scale nano in minutes");
}

}  // namespace

void add_new_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("new", "Write a commented template: of a suite, or of a feature");
  command->require_subcommand(1);
  command->footer(kNewFooter);

  CLI::App* suite = command->add_subcommand("suite", "Write a suite file to fill in");
  const auto suite_name = std::make_shared<std::string>();
  const auto has_own_trainer = std::make_shared<bool>(false);
  suite->add_option("FILE", *suite_name, "File to write, such as mine.json")->required();
  suite->add_flag("--own-trainer", *has_own_trainer, "For a training script of your own");
  suite->callback([suite_name, has_own_trainer] { new_suite(*suite_name, *has_own_trainer); });

  CLI::App* feature = command->add_subcommand("feature", "Write a feature file to fill in");
  const auto id = std::make_shared<std::string>();
  const auto folder = std::make_shared<std::string>("catalogue");
  feature->add_option("ID", *id, "Its name: lower-case letters, digits and _")->required();
  feature->add_option("--catalogue", *folder, "Folder of your own catalogue (default: catalogue)")->type_name("DIR");
  feature->callback([id, folder] { new_feature(*id, *folder); });
}

}  // namespace nanobench::tools
