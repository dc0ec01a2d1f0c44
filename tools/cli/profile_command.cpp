// `nanobench profile`: a few steps in the foreground, and where their time went.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "ablations/resolve.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/step_profile.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "core/protocol/run_event.h"
#include "reports/kinds/kinds.h"
#include "suites/design/pilot_plan.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr std::int64_t kWarmUpSteps = 2;  // caches are cold and memory is new

struct ProfileOptions {
  std::string name;
  std::string scale;
  std::string trace;
  std::string catalogue;
  std::vector<std::string> settings;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> processes;
  std::int64_t steps = 10;
  EngineOptions engine;
  bool is_json = false;
  bool is_quiet = false;
};

constexpr const char* kProfileFooter =
    "Examples:\n"
    "  nanobench profile record17                                   at scale nano\n"
    "  nanobench profile record17 --set value_embeddings=off --scale mini\n"
    "  nanobench profile c.json --steps 20 --threads 1 --json\n"
    "  nanobench profile record17 --trace trace.json                open it in ui.perfetto.dev or chrome://tracing\n"
    "\n"
    "Trains two steps without measuring them and then N steps on generated data, and stores nothing. The schedule is\n"
    "compressed into these steps, so that the attention window grows over them as over a whole run.";

/// Refuses options of a record, which do not apply to a file.
void refuse_record_options(const ProfileOptions& options) {
  if (options.scale.empty() && options.settings.empty() && !options.ranks && !options.processes) return;
  throw Error(ErrorCode::kInvalidArgument,
              options.name + " is a configuration file; --scale, --set, --ranks and --processes need a record's name");
}

core::TrainConfig named_config(const ProfileOptions& options) {
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue);
  if (catalogue.has_record(options.name)) {
    ablations::ResolveRequest request;
    request.record = options.name;
    request.settings = parse_settings(options.settings);
    request.scale = options.scale.empty() ? "nano" : options.scale;
    request.ranks = options.ranks;
    request.processes = options.processes;
    request.device = options.engine.device.value_or(core::kCpuDevice);
    if (options.engine.threads > 0) request.threads = options.engine.threads;
    const ablations::Resolved resolved = ablations::resolve(catalogue, request);
    if (!options.is_quiet) {
      for (const core::Message& message : resolved.messages) tell_on_stderr(message.text);
    }
    return resolved.config;
  }
  std::error_code ignored;
  if (!fs::exists(options.name, ignored)) {
    std::vector<std::string> known;
    for (const ablations::Record* record : catalogue.records()) known.push_back(record->id);
    throw Error(ErrorCode::kNotFound, "there is no record or file named " + options.name +
                                          core::suggestion(options.name, known) +
                                          "; `nanobench list records` shows the records");
  }
  refuse_record_options(options);
  return core::read_train_config_file(options.name);
}

core::RunSpec make_spec(const ProfileOptions& options, const fs::path& file) {
  core::RunSpec spec;
  spec.run_id = "profile";
  spec.config = named_config(options);
  suites::compress_schedule(spec.config, kWarmUpSteps, options.steps, options.name);
  options.engine.apply(spec);
  spec.profile_file = file.string();
  use_generated_data(spec, "profile a configuration with a larger vocabulary");
  return spec;
}

/// What the engine wrote, as text.
std::string read_trace(const fs::path& file) {
  std::string text;
  const auto problem = core::read_input(file, core::kJsonExchange, text);
  if (problem && problem->trouble == core::InputTrouble::kMissing)
    throw Error(ErrorCode::kDataLoss,
                "the engine wrote no profile; use nanobench and nanobench-train of the same build");
  if (problem) core::fail_to_read("the engine's profile", *problem);
  return text;
}

core::StepProfile profile_in(const std::string& trace) {
  const core::Json json = core::parse_json(trace, "the profile");
  const auto found = json.find("nanobench");
  if (found == json.end())
    throw Error(ErrorCode::kDataLoss,
                "the engine's profile has no summary; use nanobench and nanobench-train of the same build");
  return core::read_step_profile(*found, "the profile");
}

int profile(const ProfileOptions& options) {
  const suites::Engine engine = suites::native_engine(engine_program());
  reports::ProfiledRun run;
  if (!options.trace.empty()) run.trace_file = writable_file("--trace", options.trace);
  const core::TemporaryFolder folder("profile");
  const fs::path file = folder.path() / "profile.json";
  const core::RunSpec spec = make_spec(options, file);
  run.name = printable(spec.config.name);
  if (!options.is_quiet) warn_of_shared_processors(spec.threads);
  TrainView view(spec.config, stderr_display(), options.is_quiet);
  const ForegroundResult result = run_with_view(engine, spec, view, [&](const core::RunEvent& event) {
    if (const auto* hello = std::get_if<core::HelloEvent>(&event)) run.hello = *hello;
    if (const auto* counter = std::get_if<core::CounterEvent>(&event)) run.counters[counter->name] = counter->value;
  });
  if (const int code = report_end(result); code != core::kExitSuccess) return code;
  const std::string trace = read_trace(file);
  const core::StepProfile profile = profile_in(trace);
  if (run.trace_file) {
    core::write_file_atomically(*run.trace_file, trace);
  }
  reports::Document document = reports::profile_report(profile, run);
  if (!run.trace_file) {
    std::vector<std::string> again = core::without_options(typed_words(), {}, {"--json"});
    again.erase(again.begin());
    again.insert(again.end(), {"--trace", "trace.json"});
    document.next = {
        {.command = shell_words(again), .gain = "every span of these steps, for Perfetto (ui.perfetto.dev)"}};
  }
  print(document, options.is_json);
  return core::kExitSuccess;
}

}  // namespace

void add_profile_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("profile", "Train a few steps and print where their time goes, by phase and op");
  const auto options = std::make_shared<ProfileOptions>();
  command->add_option("RECORD|CONFIG", options->name, "Record, or training configuration (JSON)")->required();
  command->add_option("--scale", options->scale, "Scale of a record (default: nano)")->type_name("NAME");
  command->add_option("--set", options->settings, "Set a feature of a record; may be repeated")
      ->type_name("FEATURE=VALUE")
      ->allow_extra_args(false);
  add_participant_options(*command, options->ranks, options->processes);
  command->add_option("--steps", options->steps, "Steps to profile")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, core::kMaxProfiledSteps).description(""))
      ->capture_default_str();
  add_engine_options(*command, options->engine);
  command->add_option("--trace", options->trace, "Keep every span as a Chrome trace (JSON), for Perfetto")
      ->type_name("FILE");
  add_catalogue_option(*command, options->catalogue);
  add_json_option(*command, options->is_json);
  command->add_flag("--quiet", options->is_quiet, "Print no progress on standard error");
  command->footer(kProfileFooter);
  command->callback([options, &session] { session.exit_code = profile(*options); });
}

}  // namespace nanobench::tools
