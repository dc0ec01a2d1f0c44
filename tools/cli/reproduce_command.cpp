// `nanobench reproduce RUN`: a stored run once more, and whether its losses are the same to the last bit.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "core/base/error.h"
#include "reports/comparison/reproduction.h"
#include "reports/kinds/kinds.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/store.h"
#include "suites/design/run_data.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using results::RunRecord;

struct ReproduceOptions {
  std::int64_t run = 0;
  std::string data;
  std::string database;
  bool is_json = false;
  bool is_quiet = false;
};

constexpr const char* kReproduceFooter =
    "Examples:\n"
    "  nanobench reproduce 12                      trains run 12 once more; stores nothing\n"
    "  nanobench reproduce 12 --json | jq '.facts.is_same'\n"
    "\n"
    "Configuration, seed, threads and device are those of the stored run; the data is found by its digest. Exit "
    "codes:\n"
    "0 the losses are the same to the last bit, 1 they are not, 2 usage, 4 the run failed. What differs besides, such\n"
    "as the engine or the machine, is printed.";

std::string name_of(const RunRecord& run) {
  return "run " + std::to_string(run.id) + " (" + run.cell + ", seed " + std::to_string(run.seed) + ")";
}

[[noreturn]] void refuse(const RunRecord& run, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, name_of(run) + " " + why);
}

/// Only training runs of our own engines that came to an end have losses to repeat.
void check_kind(const RunRecord& run, const core::Json& config) {
  if (!run.mock && run.engine != results::kNativeEngine)
    refuse(run, "is not of nanobench's own engine, but of " + run.engine + ", which must be started by its own suite");
  if (config.is_object() && config.contains("operation"))
    refuse(run, "measured a single operation, whose times do not repeat to the bit");
  if (!run.is_evidence())
    refuse(run, run.result ? "ended as " + enum_name(run.result->outcome) + " and has no losses to repeat"
                           : "is still running; wait for its end");
}

suites::Engine engine_of(const RunRecord& run) {
  if (run.mock) return suites::mock_engine({own_program().string(), "mock-engine"});
  return suites::native_engine(engine_program(), {.device = run.device.value_or(core::kCpuDevice)});
}

bool has_digest(const fs::path& folder, const std::string& digest) {
  const std::optional<std::string> text = core::read_beginning(folder / "meta.json");
  const core::Json meta = text ? core::json_or_null(*text) : core::Json();
  return meta.is_object() && core::string_in(meta, "digest") == digest;
}

/// A data set of the cache with these contents.
std::optional<core::DataSet> cached_data(const std::string& digest) {
  std::error_code error;
  for (fs::directory_iterator entry(cache_folder(), error), end; !error && entry != end; entry.increment(error)) {
    if (has_digest(entry->path(), digest)) return core::load_data_set(entry->path());
  }
  return std::nullopt;
}

core::DataSet open_data_of(const core::TrainConfig& config, const std::string& text) {
  return suites::open_data(suites::parse_data_request(text, "--data"), suites::need_of(config), cache_folder());
}

/// The data that the run was trained on. Throws Error{kNotFound} if they are not here.
core::DataSet data_of(const RunRecord& run, const core::TrainConfig& config, const std::string& named) {
  std::optional<core::DataSet> data;
  if (!named.empty()) {
    data = open_data_of(config, named);
  } else {
    data = cached_data(run.data_digest);
    if (!data && run.data_name == "synthetic") data = open_data_of(config, "synthetic");
  }
  if (data && data->digest == run.data_digest) return *data;
  throw Error(
      ErrorCode::kNotFound,
      (named.empty() ? "the data of " + name_of(run) + ", " + run.data_name + ", are not in the cache"
                     : "--data " + named + ": these are not the data of " + name_of(run) + ", " + run.data_name) +
          " (digest " + run.data_digest + "); name them with --data text:FILE or --data shards:DIR");
}

core::RunSpec spec_of(const RunRecord& run, const core::Json& config, const std::string& data_text) {
  core::RunSpec spec;
  spec.run_id = "reproduce";
  spec.config = core::read_train_config(config, "the configuration of " + name_of(run));
  spec.seed = run.seed;
  const std::optional<core::Dtype> dtype = enum_value<core::Dtype>(run.dtype);
  if (!dtype) refuse(run, "has the unknown number type " + run.dtype);
  spec.dtype = *dtype;
  spec.threads = run.threads;
  spec.device = run.device.value_or(core::kCpuDevice);
  spec.kernels = run.kernels;
  if (run.mock) spec.mock = core::parse_json(*run.mock, "settings of the mock engine");
  suites::use_data(spec, data_of(run, spec.config, data_text));
  return spec;
}

/// The losses of the run that is being made.
struct Losses {
  std::vector<results::Sample> train, val;

  void take(const core::RunEvent& event) {
    if (const auto* step = std::get_if<core::StepEvent>(&event); step != nullptr && step->has_loss)
      train.push_back({step->step, step->loss});
    if (const auto* eval = std::get_if<core::EvalEvent>(&event)) val.push_back({eval->step, eval->loss});
  }
};

void add_condition(std::vector<reports::ChangedCondition>& conditions, const char* key, const char* title,
                   const std::string& then, const std::string& now) {
  if (then != now) conditions.push_back({.key = key, .title = title, .stored = then, .now = now});
}

std::int64_t last_step(const std::vector<results::Sample>& samples) {
  return samples.empty() ? -1 : samples.back().step;
}

std::vector<results::Sample> until(std::int64_t step, std::vector<results::Sample> samples) {
  std::erase_if(samples, [&](const results::Sample& sample) { return sample.step > step; });
  return samples;
}

reports::Reproduction compare(const results::Store& store, const RunRecord& run, const Losses& losses,
                              const suites::Engine& engine) {
  reports::Reproduction result{.run = run, .stored_step_ms = store.summary(run.id).median_step_ms};
  // How many steps an engine takes after it diverged, until it is stopped, is chance.
  const bool has_diverged = run.result->outcome == core::RunOutcome::kDiverged;
  const Losses stored{store.samples(run.id, results::kTrainLoss), store.samples(run.id, results::kValLoss)};
  const std::int64_t end = has_diverged ? std::min(last_step(stored.train), last_step(losses.train))
                                        : std::numeric_limits<std::int64_t>::max();
  const auto add = [&](const char* metric, const std::vector<results::Sample>& before,
                       const std::vector<results::Sample>& now) {
    if (!before.empty() || !now.empty())
      result.series.push_back(reports::compare_series(metric, until(end, before), until(end, now)));
  };
  add(results::kTrainLoss, stored.train, losses.train);
  add(results::kValLoss, stored.val, losses.val);
  add_condition(result.conditions, "engine_version", "engine", run.engine_version, engine.version);
  add_condition(result.conditions, "hardware", "machine", run.hardware,
                results::hardware_class(results::machine_info()));
  return result;
}

int reproduce(const ReproduceOptions& options) {
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  const RunRecord run = store.run(options.run);
  const core::Json config = core::parse_json(run.config, "the configuration of " + name_of(run));
  check_kind(run, config);
  const suites::Engine engine = engine_of(run);
  const core::RunSpec spec = spec_of(run, config, options.data);
  if (!options.is_quiet) warn_of_shared_processors(spec.threads);
  TrainView view(spec.config, stderr_display(), options.is_quiet);
  Losses losses;
  const ForegroundResult end =
      run_with_view(engine, spec, view, [&](const core::RunEvent& event) { losses.take(event); });
  const bool ends_alike = end.classification.outcome == run.result->outcome;
  if (const int code = ends_alike ? core::kExitSuccess : report_end(end); code != core::kExitSuccess) return code;
  reports::Reproduction result = compare(store, run, losses, engine);
  result.step_ms = view.median_step_ms();
  reports::Document document = reproduction_report(result);
  document.next = {{.command = "show " + std::to_string(run.id), .gain = "where the stored run comes from"}};
  print(document, options.is_json);
  return result.is_same() ? core::kExitSuccess : core::kExitRegression;
}

}  // namespace

void add_reproduce_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("reproduce", "Train a stored run again, and tell whether its losses are the same to the bit");
  const auto options = std::make_shared<ReproduceOptions>();
  command->add_option("RUN", options->run, "Number of a stored training run (nanobench list runs)")
      ->type_name("N")
      ->required();
  command
      ->add_option("--data", options->data,
                   "The run's data, where the cache no longer has them: text:FILE[,FILE...] or shards:DIR")
      ->type_name("SPEC");
  add_database_option(*command, options->database);
  add_json_option(*command, options->is_json);
  command->add_flag("--quiet", options->is_quiet, "Print no progress on standard error");
  command->footer(kReproduceFooter);
  command->callback([options, &session] { session.exit_code = reproduce(*options); });
}

}  // namespace nanobench::tools
