#include "tools/cli/trainer_suite.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "core/base/error.h"
#include "tools/cli/engine_run.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::OrderedJson;
using suites::Design;

[[noreturn]] void fail_option(const std::string& option, const std::string& text) {
  throw Error(ErrorCode::kInvalidArgument, option + " " + text);
}

fs::path existing_folder(const char* option, const std::string& text) {
  std::error_code ignored;
  if (fs::is_directory(text, ignored)) return full_path(text);
  throw Error(ErrorCode::kNotFound, std::string(option) + " " + text + " is no folder");
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> command_of(const TrainerRequest& request) {
  if (const std::vector<std::string> words = words_of(request.command); !words.empty()) return words;
  std::vector<std::string> scripts;
  std::error_code ignored;
  for (const char* name : {"train_gpt.py", "train.py"}) {
    if (fs::is_regular_file(fs::path(request.folder) / name, ignored)) scripts.push_back(name);
  }
  if (scripts.size() == 1) return {"python3", scripts.front()};
  fail_option("--command", "is missing: say how the trainer is started in " + request.folder +
                               ", such as --command \"torchrun --standalone --nproc_per_node=8 train_gpt.py\"");
}

/// By name, so that the suite does not depend on the order of a folder.
std::vector<fs::path> patches_of(const std::string& folder) {
  std::vector<fs::path> patches;
  for (const auto& entry : fs::directory_iterator(existing_folder("--patches", folder))) {
    const std::string ending = entry.path().extension().string();
    if (entry.is_regular_file() && (ending == ".patch" || ending == ".diff")) patches.push_back(entry.path());
  }
  if (patches.empty()) fail_option("--patches", folder + " holds no file NAME.patch or NAME.diff");
  std::sort(patches.begin(), patches.end());
  return patches;
}

bool takes_away(Design design) {
  return design == Design::kLeaveOneOut || design == Design::kPairs || design == Design::kScreening;
}

OrderedJson feature_of(const fs::path& patch, Design design, const fs::path& place) {
  const OrderedJson change = {{"patch", patch.lexically_proximate(place).generic_string()}};
  const OrderedJson none = OrderedJson::object();
  const bool is_off = takes_away(design);
  return {{"values", {{"off", is_off ? change : none}, {"on", is_off ? none : change}}},
          {"before", "off"},
          {"after", "on"}};
}

}  // namespace

void add_trainer_options(CLI::App& command, TrainerRequest& request) {
  command.add_option("--trainer", request.folder, "Folder or repository of a trainer of your own (docs/external.md)")
      ->type_name("DIR");
  command
      .add_option("--revision", request.revision, "Revision of the trainer's repository (default: the folder as it is)")
      ->type_name("REV");
  command.add_option("--patches", request.patches, "Folder of NAME.patch files, each a feature of the trainer")
      ->type_name("DIR");
  command
      .add_option("--command", request.command,
                  "Command that starts the trainer in its folder; {seed} is replaced (default: python3 train_gpt.py or "
                  "train.py)")
      ->type_name("COMMAND");
}

OrderedJson trainer_engine(const TrainerRequest& request, Design design, const fs::path& place) {
  if (request.folder.empty()) fail_option("--trainer", "is missing: name the folder of the trainer");
  if (request.patches.empty()) fail_option("--patches", "is missing: name the folder of its patches");
  const fs::path folder = existing_folder("--trainer", request.folder);
  OrderedJson source = {{"folder", folder.lexically_proximate(place).generic_string()}};
  if (!request.revision.empty()) source["revision"] = request.revision;
  OrderedJson features = OrderedJson::object();
  for (const fs::path& patch : patches_of(request.patches)) {
    const std::string id = patch.stem().string();
    if (features.contains(id)) fail_option("--patches", request.patches + " holds two patches of the name " + id);
    features[id] = feature_of(patch, design, place);
  }
  return {{"command", command_of(request)}, {"source", std::move(source)}, {"features", std::move(features)}};
}

}  // namespace nanobench::tools
