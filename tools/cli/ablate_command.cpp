// `nanobench ablate`: a suite said on the command line, run, and kept as a file when asked.
#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string_view>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "core/data/atomic_write.h"
#include "reports/kinds/kinds.h"
#include "suites/design/plan.h"
#include "suites/design/suite.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/session.h"
#include "tools/cli/suite_json.h"
#include "tools/cli/suite_run.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct AblateOptions {
  SuiteRequest request;
  SuiteSettings settings;
  SuiteRunOptions run;
  UntilDecided until;
  std::string save;
  bool is_overwriting = false;
  bool is_dry = false;
};

constexpr const char* kFooter =
    "Designs:\n"
    "  leave_one_out         the base, then the base with each feature at its earlier value\n"
    "  add_one_in            the base with all features at their earlier values, then each one alone\n"
    "  pairs                 the base, each feature changed alone, each two together: who needs whom\n"
    "  factorial             all combinations of the features' values\n"
    "  fractional_factorial  a fraction of them, as many effects apart as --runs or --resolution allow\n"
    "  sweep                 each value of --axis; several axes are a grid\n"
    "  a_a                   the base twice, as if it were two cells: what differs is noise\n"
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
    "\n"
    "--dry-run prints the cells and which of them estimate which effect, and trains nothing. What --save writes,\n"
    "`nanobench run` repeats: the same plan, so that finished runs are reused.";

/// Before an hour of training, not after it.
void check_save(const AblateOptions& options) {
  if (options.save.empty()) return;
  const std::filesystem::path file = writable_file("--save", options.save);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) || options.is_overwriting) return;
  throw Error(ErrorCode::kInvalidArgument,
              "--save " + options.save + ": there is such a file already; name another one, or add --overwrite");
}

void save_suite(const core::OrderedJson& json, const std::string& file) {
  const std::string text = json.dump(2) + "\n";
  const std::array<std::string_view, 1> pieces = {text};
  core::write_file_atomically(file, pieces);
}

int ablate(const AblateOptions& options, const Session& session) {
  check_save(options);
  const std::string file = options.save.empty() ? "" : full_path(options.save);
  const core::OrderedJson json = suite_json(options.request, overrides_of(options.settings), file);
  const suites::Suite suite = suites::read_suite(core::Json(json), file.empty() ? "ablate" : file);
  const ablations::Catalogue catalogue = load_catalogue(options.run.catalogue);
  const suites::Matrix matrix = suites::make_matrix(suite, catalogue);  // what cannot be run is not saved either
  if (!file.empty()) {
    save_suite(json, file);
    if (!options.run.is_quiet) write_to_stderr("saved as " + file + "\n");
  }
  if (!options.is_dry) {
    return options.until.is_asked ? run_until_decided(suite, options.until, options.run, session)
                                  : run_suite(suite, options.run, session);
  }
  print(reports::suite_report(suite, matrix), options.run.is_json, notes_of(options.run.has_notes));
  return 0;
}

void add_request_options(CLI::App& command, SuiteRequest& request) {
  command.add_option("--base", request.base, "Record that the cells are based on: record:17 or record17")
      ->type_name("RECORD");
  command.add_option("--design", request.design, "Which cells there are; see below")->type_name("NAME")->required();
  command.add_option("--features", request.features, "A,B,C, or all that the base has at their later values")
      ->type_name("IDS");
  command
      .add_option("--values", request.values,
                  "FEATURE=VALUE,...: other values than the earlier and the later one; in factorials a feature may "
                  "stand several times")
      ->type_name("LIST");
  command.add_option("--set", request.settings, "The base with this feature at that value; may stand several times")
      ->type_name("FEATURE=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--axis", request.axes,
                  "Of a sweep: a feature, or the path of one setting, and its values; may stand "
                  "several times")
      ->type_name("NAME=A,B,C")
      ->allow_extra_args(false);
  command.add_option("--records", request.records, "Of the design history, in order")->type_name("A,B,C");
  command.add_option("--runs", request.runs, "Of a fractional_factorial: how many cells, a power of two")
      ->type_name("N");
  command
      .add_option("--resolution", request.resolution,
                  "Of a fractional_factorial: 3, 4 (default) or 5, and as few cells as that takes")
      ->type_name("R");
  command.add_option("--arms", request.arms, "Of an a_a: how many (default: 2)")->type_name("N");
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
  add_suite_settings(*command, options->settings);
  command->get_option("--scale")->description("smoke, nano (default), mini, official_short, official");
  command->get_option("--threads")->description("Threads of a run (default: all cores)");
  command->add_flag("--dry-run", options->is_dry, "Print the cells and what estimates what; train nothing");
  command->add_option("--save", options->save, "Write the suite to a file (complete or not at all)")->type_name("FILE");
  command->add_flag("--overwrite", options->is_overwriting, "Let --save replace a file");
  add_until_decided_options(*command, options->until);
  add_suite_run_options(*command, options->run);
  command->footer(kFooter);
  command->callback([options, &session] { session.exit_code = ablate(*options, session); });
}

}  // namespace nanobench::tools
