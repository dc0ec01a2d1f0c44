// `nanobench export`: stored runs for other programs.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "core/base/atomic_write.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "results/export.h"
#include "results/output_file.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

enum class ExportFormat { kCsv, kJson, kGoogleBenchmark, kTensorboard };
NB_ENUM_NAMES(ExportFormat, {ExportFormat::kCsv, "csv"}, {ExportFormat::kJson, "json"},
              {ExportFormat::kGoogleBenchmark, "google-benchmark"}, {ExportFormat::kTensorboard, "tensorboard"});

struct ExportOptions {
  std::string format = "csv";
  bool is_samples = false;
  std::string suite;
  std::optional<std::int64_t> plan;
  std::vector<std::int64_t> runs;
  std::string out;
  std::string database;
};

constexpr const char* kExportFooter =
    "Examples:\n"
    "  nanobench export >runs.csv                                     every stored run, one row each\n"
    "  nanobench export --samples --run 12 13 --out steps.csv         every step of two runs\n"
    "  nanobench export --format json --suite speedrun_history | jq '.runs[0].samples[\"val/loss\"]'\n"
    "  nanobench export --format google-benchmark --plan 3 --out new.json   for benchmark's compare.py\n"
    "  nanobench export --format tensorboard --out events && tensorboard --logdir events\n"
    "\n"
    "csv: RFC 4180; text that a spreadsheet would run as a formula gets a leading apostrophe, control characters "
    "become\n"
    "spaces, NaN is an empty field. json: everything stored, with schema_version; NaN is null. "
    "google-benchmark:\n"
    "one benchmark a cell, one repetition a run; real_time is the mean timed step, cpu_time the CPU time of the "
    "process "
    "a\n"
    "step (real_time where it was not recorded), completed runs only. tensorboard: one folder a run with all its "
    "samples,\n"
    "rounded to 32 bits. Files and folders appear complete or not at all.";

std::vector<std::int64_t> ids_of(const std::vector<results::RunRecord>& runs) {
  std::vector<std::int64_t> ids;
  for (const results::RunRecord& run : runs) ids.push_back(run.id);
  return ids;
}

std::vector<std::int64_t> selected(const results::Store& store, const ExportOptions& options) {
  if (!options.runs.empty()) {
    for (const std::int64_t id : options.runs) store.run(id);  // throws for an unknown run
    return options.runs;
  }
  if (options.plan) {
    std::vector<std::int64_t> ids;
    for (const results::PlanLine& line : store.plan(*options.plan).lines) {
      if (line.run_id) ids.push_back(*line.run_id);
    }
    return ids;
  }
  results::RunFilter filter;
  if (!options.suite.empty()) filter.suite = options.suite;
  std::vector<std::int64_t> ids = ids_of(store.runs(filter));
  if (ids.empty() && filter.suite) {
    throw Error(ErrorCode::kNotFound, store.file().string() + " holds no runs of the suite " + options.suite +
                                          "; `nanobench list runs" + typed_database() + "` lists its runs");
  }
  return ids;
}

ExportFormat checked_format(const ExportOptions& options) {
  const std::optional<ExportFormat> format = enum_value<ExportFormat>(options.format);
  if (!format) {
    throw Error(ErrorCode::kInvalidArgument, "--format " + options.format +
                                                 ": expected csv, json, google-benchmark or tensorboard" +
                                                 core::suggestion(options.format, enum_names<ExportFormat>()));
  }
  if (options.is_samples && format != ExportFormat::kCsv)
    throw Error(ErrorCode::kInvalidArgument, "--samples needs --format csv");
  if (format == ExportFormat::kTensorboard && options.out.empty())
    throw Error(ErrorCode::kInvalidArgument, "--format tensorboard writes a folder; name it with --out DIR");
  return *format;
}

void write(const results::Store& store, const std::vector<std::int64_t>& runs, ExportFormat format, bool is_samples,
           std::ostream& out) {
  if (format == ExportFormat::kJson) return results::export_json(store, runs, out);
  if (is_samples) return results::export_samples_csv(store, runs, out);
  if (format == ExportFormat::kCsv) return results::export_csv(store, runs, out);
  const std::int64_t left_out = results::export_google_benchmark(store, runs, out);
  if (left_out > 0) std::cerr << left_out << " of " << runs.size() << " runs have no timed steps and were left out\n";
}

void write_folder(const results::Store& store, const std::vector<std::int64_t>& runs, const std::string& out) {
  core::StagedFolder folder(out);
  results::export_tensorboard(store, runs, folder.path());
  if (!folder.commit())
    throw Error(ErrorCode::kConflict, "the folder " + out + " exists and is not empty; name another one with --out");
}

void export_runs(const ExportOptions& options) {
  const ExportFormat format = checked_format(options);
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  const std::vector<std::int64_t> runs = selected(store, options);
  if (format == ExportFormat::kTensorboard) return write_folder(store, runs, options.out);
  if (options.out.empty()) return write(store, runs, format, options.is_samples, std::cout);
  results::OutputFile file(options.out);
  write(store, runs, format, options.is_samples, file.stream());
  file.commit();
}

}  // namespace

void add_export_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("export", "Write stored runs for other programs: CSV, JSON, TensorBoard, ...");
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("--format", options->format, "csv, json, google-benchmark, tensorboard")
      ->type_name("FORMAT")
      ->capture_default_str();
  command->add_flag("--samples", options->is_samples, "csv: one row a sample instead of one a run");
  CLI::Option* suite = command->add_option("--suite", options->suite, "Only runs of this suite")->type_name("NAME");
  CLI::Option* plan = command->add_option("--plan", options->plan, "Only runs of this stored plan")->type_name("N");
  CLI::Option* run = command->add_option("--run", options->runs, "Only these runs")->type_name("N");
  suite->excludes(plan)->excludes(run);
  plan->excludes(run);
  command->add_option("--out", options->out, "File, or folder for tensorboard (default: standard output)")
      ->type_name("PATH");
  add_database_option(*command, options->database);
  command->footer(kExportFooter);
  command->callback([options] { export_runs(*options); });
}

}  // namespace nanobench::tools
