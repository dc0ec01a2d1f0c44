#include "reports/comparison/settled_clocks.h"

#include <cmath>
#include <map>
#include <tuple>

#include "results/metric.h"

namespace nanobench::reports {
namespace {

void settle_machine(const results::Store& store, const std::vector<RunMeasure*>& runs) {
  std::vector<std::vector<StepTime>> times;
  for (const RunMeasure* run : runs) times.push_back(clock_increments(store, run->run.id));
  const std::vector<RobustClock> clocks = robust_clocks(times);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i]->disturbed_steps = clocks[i].disturbed_steps;
    if (clocks[i].replaced_ms > 0.0) set_clock(*runs[i], *runs[i]->raw_clock_ms - clocks[i].replaced_ms);
  }
}

}  // namespace

void set_clock(RunMeasure& measure, double clock_ms) {
  measure.clock_ms = clock_ms;
  if (!measure.run.result->mean_step_ms()) return;
  measure.step_ms = clock_ms / static_cast<double>(*measure.run.result->timed_steps);
  if (measure.step_tokens) measure.tokens_per_s = *measure.step_tokens / (*measure.step_ms / 1000.0);
}

std::vector<StepTime> clock_increments(const results::Store& store, std::int64_t run_id) {
  std::vector<StepTime> times;
  double before = 0.0;
  for (const results::Sample& sample : store.samples(run_id, results::kClockMs)) {
    if (!std::isfinite(sample.value) || sample.value < before) return {};
    times.push_back({.step = sample.step, .ms = sample.value - before});
    before = sample.value;
  }
  return times;
}

std::optional<double> sampled_step_ms(const results::Store& store, std::int64_t run_id) {
  const std::vector<results::Sample> clock = store.samples(run_id, results::kClockMs);
  if (clock.size() < 2) return std::nullopt;
  const double ms = clock.back().value - clock.front().value;
  if (!std::isfinite(ms) || !(ms > 0.0)) return std::nullopt;
  return ms / static_cast<double>(clock.back().step - clock.front().step);
}

void settle_clocks(const results::Store& store, std::vector<RunMeasure>& runs) {
  std::map<std::tuple<std::string, std::string, int>, std::vector<RunMeasure*>> machines;  // as in share_machine()
  for (RunMeasure& run : runs) {
    if (run.raw_clock_ms) machines[{run.run.hardware, run.run.place(), run.run.threads}].push_back(&run);
  }
  for (const auto& [machine, some] : machines) {
    if (some.size() > 1) settle_machine(store, some);
  }
}

std::int64_t clock_samples_of(const std::vector<CellMeasures>& cells) {
  std::int64_t samples = 0;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) samples += run.clock_samples;
  }
  return samples;
}

}  // namespace nanobench::reports
