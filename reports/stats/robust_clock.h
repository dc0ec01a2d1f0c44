/// The training clock of runs that share configuration and machine, without what a busy machine added to single steps.
/// Pure, thread-safe.
///
/// A step has no time of its own to be judged by: windows, batches and stages change what it costs. Each is therefore
/// compared with the same step of the other runs. What every run pays at a step is its cost, and is never taken away:
/// compilation, a larger window, a slower phase.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nanobench::reports {

/// What the clock counted since the sample before: one step, or a stretch of several.
struct StepTime {
  std::int64_t step = 0;  ///< the last step of the stretch
  double ms = 0.0;
};

struct RobustClock {
  double clock_ms = 0.0;     ///< sum of the times, less `replaced_ms`
  double replaced_ms = 0.0;  ///< what disturbed steps took more than in the other runs
  int disturbed_steps = 0;   ///< steps, or stretches, that were judged disturbed
};

/// A step is disturbed above this multiple of what it should take, less one, whatever the noise is. Simulated at noise
/// of 10 % a step: 0.25 took 0.2 % from the clocks of three quiet runs, 0.5 took 0.01 %, and 1 missed bursts of 1.8.
inline constexpr double kMinDisturbance = 0.5;
/// ... and above this number of the run's robust standard deviations (of the logarithms). Simulated with two runs: 4
/// took 0.03 % from quiet clocks at noise of 10 %, 8 missed bursts of twice the time at noise of 5 %.
inline constexpr double kDisturbanceSds = 6.0;
/// With fewer steps in common, nothing shows how fast a run is as a whole.
inline constexpr int kMinSharedSteps = 5;

/// The clocks of the runs, in their order.
///   runs   ascending steps each; stretches are compared if they begin and end at the same steps
/// A step should take the median over the runs, each divided by its own level first: the median ratio of its steps to
/// those of the other runs. Of two runs, the other one is the yardstick. A run without another one keeps its clock, as
/// do steps that no other run has, and times that are not finite or not above 0.
/// Disturbed steps count as what they should take. The share of the clock that every run loses to steps of its own
/// stays in all clocks: stalls at random steps are a property of the program.
/// Simulated (tests/reports/stats/robust_clock_test.cpp): noise of 10 % a step moves a clock of 300 steps by less than
/// 0.1 %, and so does a burst of three times the time in a tenth of one run's steps at noise of 2 %.
std::vector<RobustClock> robust_clocks(std::span<const std::vector<StepTime>> runs);

}  // namespace nanobench::reports
