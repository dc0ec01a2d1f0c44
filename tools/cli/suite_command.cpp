// `nanobench suite init`: a suite file from a trainer and its patches.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "suites/design/external_suite.h"
#include "suites/design/plan.h"
#include "suites/design/suite.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/program.h"
#include "tools/cli/trainer_suite.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using core::OrderedJson;

constexpr const char* kSuiteFooter =
    "Example:\n"
    "  nanobench suite init --trainer ../modded-nanogpt --patches patches --out suite.json\n"
    "\n"
    "Checks that each patch applies and that what it makes still compiles. The file is complete: add, for example, the "
    "data\n"
    "folder as \"link\" of the source, limits and seeds (docs/external.md), then `nanobench plan suite.json`.";

struct SuiteInitOptions {
  TrainerRequest trainer;
  std::string design = "leave_one_out";
  std::string file = "suite.json";
  bool is_overwriting = false;
};

void init_suite(const SuiteInitOptions& options) {
  const std::filesystem::path file = writable_file("--out", options.file);
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && !options.is_overwriting)
    throw Error(ErrorCode::kInvalidArgument,
                "--out " + options.file + ": the file exists already; name another one, or add --overwrite");
  const auto design = enum_value<suites::Design>(options.design);
  if (!design) {
    const std::vector<std::string> known = enum_names<suites::Design>();
    throw Error(ErrorCode::kInvalidArgument, "--design " + options.design + ": expected one of " + joined(known) +
                                                 core::suggestion(options.design, known));
  }
  const std::filesystem::path full = full_path(options.file);
  const OrderedJson json = {{"name", full.stem().string()},
                            {"title", options.design + " of the patches in " + options.trainer.patches},
                            {"design", options.design},
                            {"seeds", {1, 2, 3}},
                            {"engine", trainer_engine(options.trainer, *design, full.parent_path())}};
  suites::make_external_matrix(
      suites::read_suite(core::Json(json), full.string()));  // what cannot be run is not written
  core::write_file_atomically(full, json.dump(2) + "\n");
  std::cout << "wrote " << options.file << "\n\nNext:\n  " << program_name() << " plan " << shell_words({options.file})
            << "\n      what it will take and can show; runs nothing\n";
}

}  // namespace

void add_suite_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("suite", "Write a suite file");
  command->require_subcommand(1);
  command->footer("Example:\n  nanobench suite init --trainer ../modded-nanogpt --patches patches --out suite.json");
  CLI::App* init = command->add_subcommand("init", "Write a suite for a trainer of your own and a folder of patches");
  const auto options = std::make_shared<SuiteInitOptions>();
  add_trainer_options(*init, options->trainer);
  init->add_option("--design", options->design, "Rule that makes the cells (default: leave_one_out)")
      ->type_name("NAME");
  init->add_option("--out", options->file, "File to write (default: suite.json)")->type_name("FILE");
  init->add_flag("--overwrite", options->is_overwriting, "Let --out replace a file");
  init->footer(kSuiteFooter);
  init->callback([options] { init_suite(*options); });
}

}  // namespace nanobench::tools
