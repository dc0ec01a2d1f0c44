/// The adapter for an external trainer: starts its command, reads the speedrun log lines that it prints, and speaks the
/// protocol of core/protocol/FORMAT.md to the runner. The runner treats it like any other engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "results/import/speedrun_line.h"

namespace nanobench::suites {

/// The lines of a text that has lost newlines: an unbuffered Python writes them separately, so the line of one rank may
/// end where that of another begins.
std::vector<std::string_view> lines_in(std::string_view text);

/// Converts the lines of a speedrun trainer, as they arrive, to the events of core/protocol/FORMAT.md. Not thread-safe.
class SpeedrunEvents {
 public:
  /// The events of a line (without its newline); often none. Steps and validations that were already reported are
  /// skipped.
  std::vector<core::RunEvent> on_line(std::string_view line);

  /// The last event of a trainer that exited successfully: finished, or failed if its lines do not reach the end of the
  /// run. `peak_bytes`: peak of its processes, used if it printed none. `last_words` becomes part of the reason.
  core::RunEvent end(std::int64_t peak_bytes, const std::string& last_words) const;

 private:
  std::optional<core::RunEvent> on_step(const results::SpeedrunLine& line);
  std::optional<core::RunEvent> on_validation(const results::SpeedrunLine& line);
  /// Mean time of the steps since the previous interval ended, if the clock has advanced far enough to measure it.
  std::optional<double> close_stretch(std::int64_t step, const std::optional<double>& clock_ms, double least_ms);

  std::int64_t last_step_ = -1;
  std::int64_t last_validation_ = -1;
  std::int64_t told_step_ = -1;  ///< step of the last step event
  std::optional<double> last_loss_;
  std::optional<double> last_clock_ms_;
  std::optional<double> step_avg_ms_;
  std::optional<std::int64_t> planned_steps_;
  std::optional<std::int64_t> stretch_step_;
  double stretch_ms_ = 0;
  std::int64_t peak_bytes_ = 0;
};

/// Runs the command of `spec.external` to its end in our process group and forwards what it prints to our output.
/// Returns the exit code for this process, which is the trainer's. Does not return if a signal ended the trainer: the
/// same signal then ends this process.
int run_external_engine(const core::RunSpec& spec, int events_fd);

/// `--spec FILE --events-fd N`, parsed and run; errors go to stderr. For the hidden subcommand.
int external_engine_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites
