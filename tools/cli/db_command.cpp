// `nanobench db merge|check|vacuum`: maintenance of the database of stored runs.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "reports/kinds/kinds.h"
#include "results/check.h"
#include "results/merge.h"
#include "results/store.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kExitProblems = 1;  ///< exit code of check

struct MergeOptions {
  std::string into;
  std::vector<std::string> from;
  bool is_json = false;
};

struct FileOptions {
  std::string file;
  std::string database;
  bool is_json = false;
};

constexpr const char* kDbFooter =
    "Examples:\n"
    "  nanobench db merge all.db laptop.db server.db     runs of several machines in one file\n"
    "  nanobench db check                                is the database intact?\n"
    "  nanobench db vacuum results/nanobench.db          free unused space";
constexpr const char* kMergeFooter =
    "Examples:\n"
    "  nanobench db merge all.db laptop.db server.db\n"
    "  nanobench db merge results/nanobench.db /mnt/box/nanobench.db --json\n"
    "\n"
    "INTO is created when absent; the others are only read. Runs with the same digest, start and owner are the same "
    "run,\n"
    "so merging again adds nothing. Runs without an outcome are not copied. A baseline whose name belongs to another\n"
    "plan in INTO is kept as NAME@HOST. INTO stays intact when the merge is killed, and the same command continues.";
constexpr const char* kCheckFooter =
    "Examples:\n"
    "  nanobench db check\n"
    "  nanobench db check old.db --json | jq '.tables.problems'\n"
    "\n"
    "Reads every page and writes nothing. Checks SQLite's integrity, foreign keys, and the rules of the store: a "
    "completed\n"
    "run has its final loss and all its steps, the run of a plan's line has the line's digest, stored JSON can be "
    "read.\n"
    "Exit codes: 0 no problem, 1 problems were found, 2 the file cannot be read or is not a nanobench database.";
constexpr const char* kVacuumFooter =
    "Examples:\n"
    "  nanobench db vacuum\n"
    "  nanobench db vacuum results/nanobench.db --json\n"
    "\n"
    "Updates the schema, writes the write-ahead log back and rebuilds the file without unused pages; no row is lost.\n"
    "Refused while a runner is at work. Needs free disk space of the size of the file.";

fs::path file_of(const FileOptions& options) {
  return options.file.empty() ? database_file(options.database) : fs::path(options.file);
}

void merge(const MergeOptions& options) {
  if (const std::optional<std::string> place = results::changed_place(options.into)) {
    std::cerr << "warning: database " << options.into << " was changed after it was written (" << *place
              << "); that stays as it is, and `nanobench db check " << options.into << "` lists it\n";
  }
  std::vector<reports::MergedFile> merged;
  for (const std::string& from : options.from) {
    if (!options.is_json) std::cerr << "merging " << from << "\n";
    merged.push_back({from, results::merge_store(options.into, from)});
  }
  print(reports::merge_report(options.into, merged), options.is_json);
}

void check(const FileOptions& options, Session& session) {
  const fs::path file = file_of(options);
  const results::StoreCheck found = results::check_store(file);
  print(reports::check_report(file, found), options.is_json);
  if (!found.is_fine()) session.exit_code = kExitProblems;
}

void vacuum(const FileOptions& options) {
  const fs::path file = file_of(options);
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw core::Error(core::ErrorCode::kNotFound, "database " + file.string() + " does not exist; check the path");
  results::Store store(file);
  print(reports::vacuum_report(file, store.vacuum()), options.is_json);
}

void add_file_options(CLI::App& command, FileOptions& options) {
  command.add_option("FILE", options.file, "Database (default: that of --db)");
  add_database_option(command, options.database);
  add_json_option(command, options.is_json);
}

void add_merge(CLI::App& command) {
  CLI::App* merge_command = command.add_subcommand("merge", "Copy the runs of other databases into one");
  const auto options = std::make_shared<MergeOptions>();
  merge_command->add_option("INTO", options->into, "Database to copy into")->required();
  merge_command->add_option("FROM", options->from, "Databases to copy from")->required();
  add_json_option(*merge_command, options->is_json);
  merge_command->footer(kMergeFooter);
  merge_command->callback([options] { merge(*options); });
}

}  // namespace

void add_db_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("db", "Merge, check or compact databases of stored runs");
  command->require_subcommand(1);
  command->footer(kDbFooter);
  add_merge(*command);

  CLI::App* check_command = command->add_subcommand("check", "Check that a database is intact");
  const auto check_options = std::make_shared<FileOptions>();
  add_file_options(*check_command, *check_options);
  check_command->footer(kCheckFooter);
  check_command->callback([check_options, &session] { check(*check_options, session); });

  CLI::App* vacuum_command = command->add_subcommand("vacuum", "Update the schema of a database and free unused space");
  const auto vacuum_options = std::make_shared<FileOptions>();
  add_file_options(*vacuum_command, *vacuum_options);
  vacuum_command->footer(kVacuumFooter);
  vacuum_command->callback([vacuum_options] { vacuum(*vacuum_options); });
}

}  // namespace nanobench::tools
