// `nanobench import`: speedrun logs into the database, as runs beside our own.
#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "results/import/log_import.h"
#include "results/import/named_steps.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

struct ImportOptions {
  std::vector<std::string> paths;
  std::string suite = "speedrun_logs";
  std::string control;
  std::string database;
  bool is_json = false;
};

constexpr const char* kImportFooter =
    "Folders are searched for *.txt, *.log, *.out and *.stdout. Each run of a log becomes a run of the engine\n"
    "\"speedrun-log\"; its cell is its folder, with the number of steps, GPU and script where a folder has several.\n"
    "With --control the cells are the folders alone, arms of one plan, and reports show the effect of each arm.\n"
    "A file is known by its bytes and never added twice. results/SCHEMA.md describes what is stored.\n"
    "\n"
    "Examples:\n"
    "  nanobench import records/track_1_short\n"
    "  nanobench import logs/ --suite my_logs && nanobench report --suite my_logs\n"
    "  nanobench import ablation/ --control base --suite mine && nanobench report --suite mine\n"
    "  nanobench import a.txt b.txt --db logs.db --json";

reports::Document import_report(const results::LogImportResult& result, const std::string& suite,
                                const results::Store& store) {
  reports::Document document{.kind = "import", .title = "Imported speedrun logs"};
  reports::Section& section = document.sections.emplace_back();
  const auto add = [&](const char* key, const char* title, reports::TableCell cell) {
    section.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  const auto count = [](std::size_t value) { return reports::count_cell(static_cast<std::int64_t>(value)); };
  add("database", "database", reports::text_cell(store.file().string()));
  add("suite", "suite", reports::text_cell(suite));
  add("plan", "plan", result.plan_id == 0 ? reports::missing_cell() : reports::count_cell(result.plan_id));
  add("files", "files read", count(result.files));
  add("other_files", "of which without any run", count(result.other_files));
  add("bytes", "size", {.text = format_bytes(static_cast<double>(result.bytes)), .detail = "", .value = result.bytes});
  add("added", "runs added", count(result.added));
  add("known", "runs already stored", count(result.known));
  add("cells", "cells", count(result.cells));
  document.warnings = result.problems;
  if (result.plan_id != 0)
    document.next = {{.command = "report --plan " + std::to_string(result.plan_id), .gain = "compares the cells"}};
  return document;
}

/// The step that a README names for a log. One log does not show what the others of its folder plan.
std::optional<std::int64_t> named_step(const results::LogFile& file, const std::vector<results::NamedStep>& named) {
  const auto step = results::named_step_of({file}, named, [](const std::filesystem::path&) { return false; });
  return step ? std::optional(step->step) : std::nullopt;
}

void import_logs(const ImportOptions& options, const std::vector<std::string>& argv) {
  if (options.suite.empty()) throw core::Error(core::ErrorCode::kInvalidArgument, "--suite: expected a name");
  const results::LogFiles found =
      results::find_log_files(std::vector<std::filesystem::path>(options.paths.begin(), options.paths.end()));
  results::Store store(database_file(options.database));
  results::LogImport import(store, options.suite, options.control);
  const std::vector<results::NamedStep> named = results::find_named_steps(found.files);
  for (const std::string& problem : found.problems) import.add_problem(problem);
  for (const results::LogFile& file : found.files) {
    const results::LogReading reading = results::read_log_file(file.path);
    if (reading.problem) {
      import.add_problem(file.path.string() + " " + *reading.problem);
    } else {
      import.add(file, reading.log, named_step(file, named));
    }
  }
  print(import_report(import.finish(argv), options.suite, store), options.is_json);
}

}  // namespace

void add_import_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("import", "Store speedrun logs as runs, to report and compare");
  const auto options = std::make_shared<ImportOptions>();
  command->add_option("PATH", options->paths, "Log files and folders of logs")->type_name("FILE|DIR")->required();
  command->add_option("--suite", options->suite, "Suite to store the runs under (default: speedrun_logs)")
      ->type_name("NAME");
  command->add_option("--control", options->control, "Folder that the other folders are compared with, as arms")
      ->type_name("ARM");
  add_database_option(*command, options->database);
  add_json_option(*command, options->is_json);
  command->footer(kImportFooter);
  command->callback([options, &session] { import_logs(*options, session.argv); });
}

}  // namespace nanobench::tools
