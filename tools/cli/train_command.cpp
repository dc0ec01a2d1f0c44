// `nanobench train CONFIG`: one run of the engine in the foreground, without storing it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/data/token_shard.h"
#include "reports/render/render.h"
#include "suites/design/plan.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

struct TrainOptions {
  std::string config;
  std::string init;
  std::string save;
  std::string resume;
  std::vector<std::string> train;
  std::vector<std::string> val;
  std::string dtype = "float32";
  std::string trace;
  std::uint64_t seed = 1;
  std::optional<core::AskedMetrics> metrics;
  std::optional<std::int64_t> health_every;
  EngineOptions engine;
  bool is_json = false;
  bool is_quiet = false;
};

constexpr const char* kTrainFooter =
    "Examples:\n"
    "  nanobench show record17 --scale nano --config >c.json && nanobench train c.json\n"
    "  nanobench train c.json --train train.bin --val val.bin --seed 2\n"
    "  nanobench train c.json --save c.safetensors                then, after a kill:\n"
    "  nanobench train c.json --save c.safetensors --resume c.safetensors\n"
    "  nanobench train case/config.json --dtype float64 --trace trace.json\n"
    "\n"
    "Without --train and --val, the data are train.bin and val.bin beside a configuration that names init.file, or "
    "the\n"
    "generated corpus if the vocabulary holds its 257 tokens. init.file is relative to the configuration's folder. A\n"
    "trace holds every loss, activation and gradient that a comparison with a reference needs, with 17 digits.";

/// --init, else the configuration's own file. Throws if the named file is missing.
std::optional<std::string> init_file(const TrainOptions& options, const core::TrainConfig& config) {
  fs::path file = options.init;
  std::string named_by = "--init";
  if (options.init.empty()) {
    if (!config.init.file) return std::nullopt;
    file = fs::path(options.config).parent_path() / *config.init.file;
    named_by = options.config + ": /init/file";
  }
  if (access(file.c_str(), R_OK) != 0) {
    throw Error(ErrorCode::kNotFound, named_by + ": cannot read " + file.string() +
                                          "; name the safetensors file by --init, or remove init.file to "
                                          "initialise from the seed");
  }
  return full_path(file);
}

std::vector<std::string> shard_paths(const std::vector<std::string>& names, std::int64_t vocab_size) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    for (const fs::path& file : core::expand_shards(name)) {
      core::TokenShard(file).check_token_range(vocab_size);
      files.push_back(full_path(file));
    }
  }
  return files;
}

void set_data(core::RunSpec& spec, const TrainOptions& options) {
  std::vector<std::string> train = options.train;
  std::vector<std::string> val = options.val;
  if (train.empty() != val.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--train and --val belong together; give both, or neither for the "
                "configuration's own or the generated data");
  }
  const fs::path folder = fs::path(options.config).parent_path();
  std::error_code ignored;
  if (train.empty() && spec.config.init.file && fs::exists(folder / "train.bin", ignored) &&
      fs::exists(folder / "val.bin", ignored)) {
    train = {(folder / "train.bin").string()};
    val = {(folder / "val.bin").string()};
  }
  if (train.empty()) {
    use_generated_data(spec, "name token shards by --train and --val");
    return;
  }
  spec.train_shards = shard_paths(train, spec.config.model.vocab_size);
  spec.val_shards = shard_paths(val, spec.config.model.vocab_size);
  const fs::path vocabulary = fs::path(spec.train_shards.front()).parent_path() / core::kVocabularyFile;
  if (!spec.config.loss.prefix.empty() && fs::exists(vocabulary, ignored)) spec.vocabulary = vocabulary.string();
}

core::RunSpec make_spec(const TrainOptions& options) {
  core::RunSpec spec;
  spec.run_id = "train";
  spec.config = core::read_train_config_file(options.config);
  spec.seed = options.seed;
  spec.dtype = enum_value<core::Dtype>(options.dtype).value();
  options.engine.apply(spec);
  spec.metrics = options.metrics.value_or(core::AskedMetrics{});
  spec.health_every = options.health_every;
  if (spec.health_every && !spec.metrics.contains(core::AskedMetric::kHealth))
    throw Error(ErrorCode::kInvalidArgument, "--health-every: add --metrics health");
  spec.init_file = init_file(options, spec.config);
  if (!options.save.empty()) spec.save_file = writable_file("--save", options.save);
  if (!options.resume.empty()) spec.resume_file = full_path(options.resume);
  if (!options.trace.empty()) spec.trace_file = writable_file("--trace", options.trace);
  set_data(spec, options);
  return spec;
}

reports::TableCell number(double value, const std::string& text) {
  return {.text = text, .detail = "", .value = std::isfinite(value) ? core::OrderedJson(value) : nullptr};
}

reports::Section facts_of(const core::RunSpec& spec, const TrainView& view, const ForegroundResult& result) {
  reports::Section section;
  const auto add = [&](const char* key, const char* title, reports::TableCell cell) {
    section.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  add("outcome", "outcome", reports::text_cell(enum_name(result.classification.outcome)));
  if (!result.classification.message.empty()) add("message", "why", reports::text_cell(result.classification.message));
  const auto& finished = result.end.finished;
  if (finished && finished->final_val_loss) {
    add("final_val_loss", "final val loss",
        number(*finished->final_val_loss, format_fixed(*finished->final_val_loss, 6)));
  }
  if (finished) {
    add("steps", "steps", reports::count_cell(finished->steps));
    add("timed_steps", "timed steps", reports::count_cell(finished->timed_steps));
  }
  if (finished && finished->train_ms && finished->timed_steps > 0) {
    const double step_ms = *finished->train_ms / static_cast<double>(finished->timed_steps);
    add("step_ms", "step ms", number(step_ms, format_significant(step_ms, 4)));
  }
  if (const auto step_ms = view.median_step_ms())
    add("median_step_ms", "step ms (median)", number(*step_ms, format_significant(*step_ms, 4)));
  if (finished && finished->train_ms && finished->timed_steps > 0) {
    const core::DataConfig& data = spec.config.data;
    const std::int64_t untimed = finished->steps - finished->timed_steps;
    const auto tokens = static_cast<double>(data.tokens_until(finished->steps) - data.tokens_until(untimed));
    const double rate = tokens / (*finished->train_ms / 1000.0);
    add("train_ms", "training clock", number(*finished->train_ms, format_duration(*finished->train_ms / 1000)));
    add("tokens_per_s", "tokens/s", number(rate, format_count(static_cast<std::int64_t>(rate))));
  }
  if (finished) {
    const auto peak = static_cast<double>(finished->peak_bytes);
    add("peak_bytes", "peak memory", {.text = format_bytes(peak), .detail = "", .value = finished->peak_bytes});
  }
  if (!view.checkpoints().empty())
    add("checkpoint", "newest checkpoint", reports::text_cell(view.checkpoints().rbegin()->second));
  if (spec.trace_file && finished) add("trace", "trace", reports::text_cell(*spec.trace_file));
  return section;
}

reports::Document report_of(const core::RunSpec& spec, const TrainView& view, const ForegroundResult& result,
                            bool has_curve) {
  reports::Document document{.kind = "train", .title = spec.config.name};
  document.sections.push_back(facts_of(spec, view, result));
  document.next = {{.command = "run speedrun_history --scale smoke",
                    .gain = "a suite in seconds: trained, stored and compared, which this is not"}};
  if (!has_curve) return document;
  reports::Table curve{.id = "validations",
                       .columns = {{.key = "step", .title = "step", .is_number = true},
                                   {.key = "val_loss", .title = "val loss", .is_number = true},
                                   {.key = "train_ms", .title = "clock ms", .is_number = true}}};
  for (const core::EvalEvent& eval : view.evals()) {
    curve.rows.push_back(
        {reports::count_cell(eval.step), number(eval.loss, format_fixed(eval.loss, 4)),
         eval.train_ms ? number(*eval.train_ms, format_fixed(*eval.train_ms, 1)) : reports::missing_cell()});
  }
  document.sections.emplace_back().tables.push_back(std::move(curve));
  return document;
}

/// A run whose last checkpoint was not written has not done all that was asked for.
int end_of_saving(const core::RunSpec& spec, const TrainView& view, const ForegroundResult& result) {
  const auto& finished = result.end.finished;
  if (!spec.save_file || !finished || view.checkpoints().contains(finished->steps)) return core::kExitSuccess;
  tell_on_stderr("nanobench: the run is complete, but its last checkpoint was not written to " + *spec.save_file);
  return core::kExitIncomplete;
}

int train(const TrainOptions& options) {
  const suites::Engine engine = suites::native_engine(engine_program());
  const core::RunSpec spec = make_spec(options);
  if (!options.is_quiet) warn_of_shared_processors(spec.threads);
  TrainView view(spec.config, stderr_display(), options.is_quiet);
  const ForegroundResult result = run_with_view(engine, spec, view);
  print(report_of(spec, view, result, options.is_json), options.is_json);
  const int code = report_end(result);
  return code == core::kExitSuccess ? end_of_saving(spec, view, result) : code;
}

}  // namespace

void add_train_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("train", "Train one configuration in the foreground; nothing is stored");
  const auto options = std::make_shared<TrainOptions>();
  command->add_option("CONFIG", options->config, "Training configuration (JSON)")->required();
  CLI::Option* const init =
      command->add_option("--init", options->init, "Initial parameters (safetensors): a file of them, or a checkpoint")
          ->type_name("FILE");
  command
      ->add_option("--save", options->save,
                   "Write a checkpoint after each validation, in place of the one before; with {step} in its name, a "
                   "file for each")
      ->type_name("FILE");
  command
      ->add_option("--resume", options->resume,
                   "Continue the run that wrote this checkpoint, with the losses of a run that was never interrupted")
      ->type_name("FILE")
      ->excludes(init);
  command->add_option("--train", options->train, "Token shards to train on: files, folders or patterns")
      ->type_name("FILE");
  command->add_option("--val", options->val, "Token shards to validate on")->type_name("FILE");
  command->add_option("--dtype", options->dtype, "float32, or float64 as an exact reference")
      ->check(CLI::IsMember({"float32", "float64"}).description(""))
      ->type_name("TYPE")
      ->capture_default_str();
  command->add_option("--trace", options->trace, "Write losses, activations and gradients as JSON")->type_name("FILE");
  add_metrics_option(*command, options->metrics);
  add_health_option(*command, options->health_every);
  command->add_option("--seed", options->seed, "Seed of the initial parameters")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{INT64_MAX}).description(""))
      ->capture_default_str();
  add_engine_options(*command, options->engine);
  add_json_option(*command, options->is_json);
  command->add_flag("--quiet", options->is_quiet, "Print no progress on standard error");
  command->footer(kTrainFooter);
  command->callback([options, &session] { session.exit_code = train(*options); });
}

}  // namespace nanobench::tools
