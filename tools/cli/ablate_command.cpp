// `nanobench ablate`: a suite from the command line, run, and saved as a file on request.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/forecast/run_cost.h"
#include "reports/kinds/kinds.h"
#include "suites/design/data_source.h"
#include "suites/design/plan.h"
#include "suites/design/suite.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"
#include "tools/cli/trainer_suite.h"
#include "tools/cli/until_decided.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::OrderedJson;
using suites::Design;

/// The command line's request, as typed; empty: not given.
struct SuiteRequest {
  std::string base;  ///< "record:17" or "record17"
  std::string design_name;
  Design design = Design::kHistory;   ///< design with that name
  std::string features;               ///< "a,b,c" or "all"
  std::string values;                 ///< "a=x,b=y,b=z"
  std::vector<std::string> settings;  ///< "a=x"
  std::vector<std::string> axes;      ///< "a=x,y" or "/path=1,2"
  std::string records;
  std::optional<std::int64_t> runs;
  std::optional<std::int64_t> resolution;
  std::optional<std::int64_t> arms;
  std::string name;
  std::string engine;
  TrainerRequest trainer;  ///< a trainer of the user's own
};

struct AblateOptions {
  SuiteRequest request;
  SuiteSettings settings;
  SuiteRunOptions run;
  UntilDecided until;
  std::string save;
  bool is_overwriting = false;
  bool is_dry = false;
};

constexpr const char* kAblateFooter =
    "Designs:\n"
    "  leave_one_out         the base, then the base with each feature at its earlier value\n"
    "  add_one_in            the base with all features at their earlier values, then each one alone\n"
    "  pairs                 the base, each feature changed alone, and each two together\n"
    "  factorial             all combinations of the features' values\n"
    "  fractional_factorial  a fraction of them; --runs or --resolution decide how many effects stay apart\n"
    "  screening             random cells with a quarter of the features at their earlier value: which matter at all?\n"
    "  sweep                 each value of --axis; several axes form a grid\n"
    "  a_a                   the base twice, as if it were two cells: every difference is noise\n"
    "  history               the records one after the other\n"
    "\n"
    "Examples:\n"
    "  nanobench ablate --base record:17 --design leave_one_out --features rotary,attention_skip --seeds 5\n"
    "  nanobench ablate --base record:17 --design leave_one_out --features all --dry-run\n"
    "  nanobench ablate --base record:17 --design fractional_factorial --features all --resolution 4 --dry-run\n"
    "  nanobench ablate --base record:17 --design factorial --features rotary,window_warmup --save window.json\n"
    "  nanobench ablate --base record:17 --design sweep --axis /optimizer/hidden_matrices/lr=0.02,0.05,0.1\n"
    "  nanobench ablate --base record:17 --design a_a --seeds 5\n"
    "  nanobench ablate --design history --records record:16,record:17\n"
    "  nanobench ablate --trainer ../modded-nanogpt --patches patches --design leave_one_out --dry-run\n"
    "\n"
    "--dry-run prints the cells and which of them estimate which effect, and trains nothing. `nanobench run` repeats "
    "the\n"
    "suite that --save writes: its plan is the same, so that finished runs are reused.";

[[noreturn]] void fail(const std::string& option, const std::string& text, const std::string& detail) {
  throw Error(ErrorCode::kInvalidArgument, option + " " + text + ": " + detail);
}

/// "a=x".
std::pair<std::string, std::string> assignment_of(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail(option, text, "expected NAME=VALUE, such as logit_softcap=30");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// "record:17" is record17.
std::string record_of(const std::string& text) {
  constexpr std::string_view kPrefix = "record:";
  return text.starts_with(kPrefix) ? "record" + text.substr(kPrefix.size()) : text;
}

/// Values of each feature that --values names, in the order given.
std::vector<std::pair<std::string, std::vector<std::string>>> values_of(const SuiteRequest& request) {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  if (request.values.empty()) return values;
  for (const std::string& part : parts_of("--values", request.values)) {
    const auto [id, value] = assignment_of("--values", part);
    const std::string& name = id;
    const auto known = std::find_if(values.begin(), values.end(), [&](const auto& item) { return item.first == name; });
    if (known == values.end()) {
      values.emplace_back(id, std::vector<std::string>{value});
    } else {
      known->second.push_back(value);
    }
  }
  return values;
}

/// "features": the ids, with the values from --values; ids that only --values names come last.
OrderedJson features_of(const SuiteRequest& request) {
  const auto values = values_of(request);
  std::vector<std::string> ids;
  if (!request.features.empty() && request.features != "all") ids = parts_of("--features", request.features);
  if (request.features == "all" && !values.empty())
    fail("--values", request.values, "--features all keeps the values of every feature; name the features instead");
  for (const auto& [id, unused] : values) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  OrderedJson list = OrderedJson::array();
  for (const std::string& id : ids) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& item) { return item.first == id; });
    if (found == values.end()) {
      list.push_back(id);
    } else if (found->second.size() == 1) {
      list.push_back({{"id", id}, {"value", found->second[0]}});
    } else {
      list.push_back({{"id", id}, {"values", found->second}});
    }
  }
  return list;
}

OrderedJson axis_of(const std::string& text) {
  const auto [name, values] = assignment_of("--axis", text);
  const bool is_path = name[0] == '/';
  OrderedJson axis = {{is_path ? "path" : "feature", name}, {"values", OrderedJson::array()}};
  for (const std::string& value : parts_of("--axis", values)) {
    const Json number = is_path ? core::json_or_null(value) : Json(value);
    const bool is_text = number.is_null() && value != "null";
    axis["values"].push_back(is_text ? OrderedJson(value) : OrderedJson(number));
  }
  return axis;
}

OrderedJson base_of(const SuiteRequest& request, const suites::SuiteOverrides& overrides) {
  OrderedJson base = OrderedJson::object();
  if (request.design != Design::kHistory) {
    if (request.trainer.is_given()) {
      if (!request.base.empty() || !request.engine.empty())
        throw Error(ErrorCode::kInvalidArgument, "--base and --engine do not apply to a --trainer of your own");
    } else if (request.base.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "--base is missing: name the record that the cells start from, such as --base record:17");
    }
    if (!request.base.empty()) base["record"] = record_of(request.base);
    for (const auto& [id, value] : parse_settings(request.settings)) base["features"][id] = value;
  }
  if (overrides.ranks) base["ranks"] = *overrides.ranks;
  if (overrides.processes) base["processes"] = *overrides.processes;
  return base;
}

Design design_of(const std::string& name) {
  if (const std::optional<Design> design = enum_value<Design>(name)) return *design;
  const std::vector<std::string> known = enum_names<Design>();
  fail("--design", name, "expected one of " + joined(known) + core::suggestion(name, known));
}

/// Refuses options of another design, which would have no effect.
void check_options(const SuiteRequest& request) {
  const auto is_one_of = [&](std::initializer_list<Design> designs) {
    return std::find(designs.begin(), designs.end(), request.design) != designs.end();
  };
  const auto refuse = [&](bool is_given, const char* option, std::initializer_list<Design> designs) {
    if (!is_given || is_one_of(designs)) return;
    throw Error(ErrorCode::kInvalidArgument, std::string(option) + " does not apply to the design \"" +
                                                 request.design_name + "\"; it belongs to \"" +
                                                 enum_name(*designs.begin()) + "\"");
  };
  const auto with_features = {Design::kLeaveOneOut,         Design::kAddOneIn, Design::kFactorial,
                              Design::kFractionalFactorial, Design::kPairs,    Design::kScreening};
  refuse(!request.features.empty(), "--features", with_features);
  refuse(!request.values.empty(), "--values", with_features);
  refuse(!request.axes.empty(), "--axis", {Design::kSweep});
  refuse(!request.records.empty(), "--records", {Design::kHistory});
  refuse(request.runs.has_value(), "--runs", {Design::kFractionalFactorial, Design::kScreening});
  refuse(request.resolution.has_value(), "--resolution", {Design::kFractionalFactorial});
  refuse(request.arms.has_value(), "--arms", {Design::kAA});
  if (request.design == Design::kHistory && (!request.base.empty() || !request.settings.empty()))
    throw Error(ErrorCode::kInvalidArgument, "--base and --set do not apply to the design \"history\"; use --records");
  if (is_one_of(with_features) && request.features.empty() && request.values.empty() && !request.trainer.is_given())
    throw Error(ErrorCode::kInvalidArgument, "--features is missing: name some, or use --features all");
}

void add_cells(OrderedJson& json, const SuiteRequest& request) {
  if (request.design == Design::kSweep) {
    json["axes"] = OrderedJson::array();
    for (const std::string& axis : request.axes) json["axes"].push_back(axis_of(axis));
  } else if (request.design == Design::kHistory) {
    json["records"] = OrderedJson::array();
    if (!request.records.empty()) {
      for (const std::string& record : parts_of("--records", request.records))
        json["records"].push_back(record_of(record));
    }
  } else if (request.design != Design::kAA) {
    const OrderedJson features = features_of(request);
    if (!features.empty()) json["features"] = features;
  }
  if (request.runs) json["runs"] = *request.runs;
  if (request.resolution) json["resolution"] = *request.resolution;
  if (request.arms) json["arms"] = *request.arms;
}

OrderedJson engine_of(const std::string& text) {
  if (!text.starts_with("{")) return text;
  const Json settings = core::parse_json(text, "--engine");
  return settings.contains("mock") && settings.size() == 1 ? OrderedJson(settings)
                                                           : OrderedJson{{"mock", OrderedJson(settings)}};
}

std::string title_of(const SuiteRequest& request) {
  if (request.trainer.is_given()) return request.design_name + " of the patches in " + request.trainer.patches;
  if (request.design == Design::kHistory) return "Records " + request.records;
  std::string title = record_of(request.base) + ", " + request.design_name;
  if (!request.features.empty()) title += " of " + request.features;
  for (const std::string& axis : request.axes) title += " " + axis;
  return title;
}

/// The suite as in a file: read_suite gives the same suite for this JSON and for a file with it. `file` is where it is
/// saved, or empty. Throws Error{kInvalidArgument} that names the option.
OrderedJson suite_json(SuiteRequest request, const suites::SuiteOverrides& overrides, const std::string& file) {
  request.design = design_of(request.design_name);
  check_options(request);
  OrderedJson json;
  json["name"] = !request.name.empty() ? request.name
                 : file.empty()        ? "ablate"
                                       : std::filesystem::path(file).stem().string();
  json["title"] = title_of(request);
  json["design"] = request.design_name;
  if (const OrderedJson base = base_of(request, overrides); !base.empty()) json["base"] = base;
  add_cells(json, request);
  json["seeds"] = overrides.seeds.value_or(suites::Suite{}.seeds);
  if (request.trainer.is_given()) {
    const auto place = file.empty() ? std::filesystem::current_path() : std::filesystem::path(file).parent_path();
    json["engine"] = trainer_engine(request.trainer, request.design, place);
    return json;
  }
  json["scale"] = overrides.scale.value_or("nano");
  // Paths in a file are relative to the file, those of a command to the working folder.
  json["data"] = text_of(relative_to(overrides.data.value_or(suites::DataRequest{}), std::filesystem::current_path()));
  if (overrides.threads) json["threads"] = *overrides.threads;
  if (overrides.device) json["device"] = to_string(*overrides.device);
  if (overrides.kernels) json["kernels"] = enum_name(*overrides.kernels);
  if (overrides.metrics) json["metrics"] = core::names_of(*overrides.metrics);
  if (overrides.health_every) json["health_every"] = *overrides.health_every;
  if (!request.engine.empty()) json["engine"] = engine_of(request.engine);
  return json;
}

/// Called before an hour of training, not after it.
void check_save(const AblateOptions& options) {
  if (options.save.empty()) return;
  const std::filesystem::path file = writable_file("--save", options.save);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) || options.is_overwriting) return;
  throw Error(ErrorCode::kInvalidArgument,
              "--save " + options.save + ": the file exists already; name another one, or add --overwrite");
}

int ablate(const AblateOptions& options, const Session& session) {
  check_save(options);
  const std::string file = options.save.empty() ? "" : full_path(options.save);
  const OrderedJson json = suite_json(options.request, overrides_of(options.settings), file);
  const suites::SuiteOverrides overrides = overrides_of(options.settings);
  suites::Suite suite = suites::read_suite(core::Json(json), file.empty() ? "ablate" : file);
  if (suite.external) suite = suites::with_overrides(suite, overrides);  // which are none of an external trainer
  const ablations::Catalogue catalogue = load_catalogue(options.run.catalogue);
  const suites::Matrix matrix = suites::make_asked_matrix(suite, catalogue);  // what cannot be run is not saved
  if (!file.empty()) {
    core::write_file_atomically(file, json.dump(2) + "\n");
    if (!options.run.is_quiet) write_to_stderr("saved as " + file + "\n");
  }
  if (!options.is_dry) {
    return options.until.is_sequential() ? run_until_decided(suite, options.until, options.run, session)
                                         : run_suite(suite, options.run, session);
  }
  reports::Document document = reports::suite_report(suite, matrix);
  std::vector<std::string> again(session.argv.begin() + 1, session.argv.end());
  std::erase(again, "--dry-run");
  const auto runs = static_cast<std::int64_t>(matrix.cells.size() * suite.seeds.size());
  const bool is_one_by_one = options.run.jobs.value_or(1) == 1 && !options.run.slurm;
  const std::string price =
      is_one_by_one ? reports::suite_price(stored_prices(options.run.database).get(), suite, matrix) : "";
  document.next = {{.command = shell_words(again), .gain = price + "makes these " + counted(runs, "run")}};
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  return 0;
}

void add_request_options(CLI::App& command, SuiteRequest& request) {
  command.add_option("--base", request.base, "Record that the cells start from: record:17 or record17")
      ->type_name("RECORD");
  command.add_option("--design", request.design_name, "Rule that makes the cells; see below")
      ->type_name("NAME")
      ->required();
  command
      .add_option("--features", request.features, "A,B,C, or all: every feature that the base has at its later value")
      ->type_name("IDS");
  command
      .add_option(
          "--values", request.values,
          "FEATURE=VALUE,...: other values than the earlier and the later one; in factorials a feature may be repeated")
      ->type_name("LIST");
  command.add_option("--set", request.settings, "Set a feature of the base; may be repeated")
      ->type_name("FEATURE=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--axis", request.axes,
                  "Axis of a sweep: a feature, or the path of one setting, and its values; may be repeated")
      ->type_name("NAME=A,B,C")
      ->allow_extra_args(false);
  command.add_option("--records", request.records, "Records of the design history, in order")->type_name("A,B,C");
  command
      .add_option("--runs", request.runs, "Number of cells of a fractional_factorial (a power of two) or a screening")
      ->type_name("N");
  command
      .add_option("--resolution", request.resolution,
                  "Resolution of a fractional_factorial: 3, 4 (default) or 5, with as few cells as that takes")
      ->type_name("R");
  command.add_option("--arms", request.arms, "Number of arms of an a_a (default: 2)")->type_name("N");
  command.add_option("--name", request.name, "Name of the suite (default: the saved file's, else \"ablate\")")
      ->type_name("NAME");
  command.add_option("--engine", request.engine, "native, mock, or settings of the mock engine as JSON")
      ->type_name("ENGINE");
}

}  // namespace

void add_ablate_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("ablate", "Run an ablation without writing a suite file");
  const auto options = std::make_shared<AblateOptions>();
  add_request_options(*command, options->request);
  add_trainer_options(*command, options->request.trainer);
  add_suite_settings(*command, options->settings);
  command->get_option("--scale")->description("smoke, nano (default), mini, official_brief, official_short, official");
  command->get_option("--threads")->description("Threads of a run (default: all cores)");
  command->add_flag("--dry-run", options->is_dry, "Print the cells and their contrasts; train nothing");
  command->add_option("--save", options->save, "Write the suite to a file (complete or not at all)")->type_name("FILE");
  command->add_flag("--overwrite", options->is_overwriting, "Let --save replace a file");
  add_until_decided_options(*command, options->until);
  add_suite_run_options(*command, options->run);
  add_jobs_option(*command, options->run);
  add_keep_weights_option(*command, options->run);
  command->footer(kAblateFooter);
  command->callback([options, &session] { session.exit_code = ablate(*options, session); });
}

}  // namespace nanobench::tools
