/// Shared by commands that run the engine in the foreground: data, files, progress, the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "suites/design/plan.h"
#include "suites/run/engine_process.h"
#include "tools/terminal/run_meter.h"
#include "tools/terminal/suite_progress.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {

/// The user's choices of how the engine computes.
struct EngineOptions {
  int threads = 0;
  bool pins_threads = false;
  std::optional<core::KernelChoice> kernels;
  std::optional<core::DeviceChoice> device;

  void apply(core::RunSpec& spec) const;
};

/// --threads, --pin, --kernels and --device. `options` must outlive the parsing.
void add_engine_options(CLI::App& command, EngineOptions& options);

std::string full_path(const std::filesystem::path& file);

/// The full path of `name`, the value of `option`. Throws Error{kIo} if nothing can be written there: before an hour of
/// training, not after it.
std::string writable_file(const std::string& option, const std::string& name);

/// Adds shards of the generated corpus, with as many tokens as the run reads, and names the token that begins its
/// documents: a configuration names that of the text it was made for. Throws Error{kInvalidArgument} with
/// `remedy` if the vocabulary is too small.
void use_generated_data(core::RunSpec& spec, const std::string& remedy);

struct ForegroundCallbacks {
  std::function<void(const core::RunEvent&)> on_event;
  std::function<void()> on_tick;                      ///< a few times a second
  std::function<void(const std::string&)> on_output;  ///< gets a line that the engine printed
};

struct ForegroundResult {
  suites::RunEnd end;
  suites::Classification classification;
};

/// Runs one engine process: passes its events and output lines to the callbacks. Owns SIGINT, SIGTERM and SIGHUP while
/// it runs; one call at a time per process. The first Ctrl-C asks the engine to finish its step, the second kills it.
/// Throws Error{kUnavailable} if the engine cannot be started.
ForegroundResult run_in_foreground(const std::vector<std::string>& command, const core::RunSpec& spec,
                                   const ForegroundCallbacks& callbacks);

/// Shows progress and keeps the data for the final report.
class TrainView {
 public:
  TrainView(const core::TrainConfig& config, DisplayHost host, bool is_quiet);

  void on_event(const core::RunEvent& event);
  void on_tick();
  void say(const std::string& line) {
    if (!is_quiet_) lines_.print(line);
  }
  void finish() { lines_.clear(); }

  const std::vector<core::EvalEvent>& evals() const { return evals_; }
  /// Files of checkpoints that were written, by step: the newest, or all if they have names of their own.
  const std::map<std::int64_t, std::string>& checkpoints() const { return checkpoints_; }
  std::optional<double> median_step_ms() const;

 private:
  DisplayHost host_;
  bool is_quiet_;
  StatusLines lines_;
  RunMeter progress_;
  std::string name_;
  std::vector<core::EvalEvent> evals_;
  std::map<std::int64_t, std::string> checkpoints_;
  std::vector<double> timed_step_ms_;
  double last_plain_s_;
};

/// Runs the engine to its end and shows its events in the view; `on_event` gets them too.
ForegroundResult run_with_view(const suites::Engine& engine, const core::RunSpec& spec, TrainView& view,
                               const std::function<void(const core::RunEvent&)>& on_event = {});

/// Returns the exit code for the run's end; prints the reason on standard error if it is not 0.
int report_end(const ForegroundResult& result);

}  // namespace nanobench::tools
