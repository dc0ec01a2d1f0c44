#include "reports/comparison/settled_clocks.h"

#include <cmath>
#include <map>
#include <tuple>

#include "reports/stats/turn_times.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

/// Completed runs of one machine, with their steps; beside each other in both lists.
struct MachineRuns {
  std::vector<RunMeasure*> runs;
  std::vector<TurnTimes> times;
};

using Machine = std::tuple<std::string, std::string, int>;  // as in share_machine()

void add_run(const results::Store& store, std::size_t cell, RunMeasure& run, MachineRuns& machine) {
  TurnTimes times{.cell = cell, .times = clock_increments(store, run.run.id)};
  for (const results::Sample& sample : store.samples(run.run.id, results::kTurn)) {
    const double number = static_cast<double>(times.turns.size() + 1);
    times.turns.push_back({.first_step = sample.step, .place = std::isfinite(sample.value) ? sample.value : number});
  }
  run.turns = static_cast<int>(times.turns.size());
  if (run.turns > 0) {
    const auto facts = store.run_facts(run.run.id);
    const auto block = facts.find(results::kTurnBlock);
    times.block = block == facts.end() ? std::to_string(run.run.id) : block->second;
    run.block = times.block;
    run.cold_ms = warm_first_steps(times);
  }
  machine.runs.push_back(&run);
  machine.times.push_back(std::move(times));
}

/// The runs of a cell lie beside each other.
void settle_machine(MachineRuns& machine) {
  remove_drift(machine.times);
  for (std::size_t begin = 0, end = 0; begin < machine.runs.size(); begin = end) {
    std::vector<std::vector<StepTime>> times;
    for (end = begin; end < machine.runs.size() && machine.times[end].cell == machine.times[begin].cell; ++end)
      times.push_back(std::move(machine.times[end].times));
    const std::vector<RobustClock> clocks = robust_clocks(times);
    for (std::size_t i = begin; i < end; ++i) {
      const RobustClock& clock = clocks[i - begin];
      RunMeasure& run = *machine.runs[i];
      run.disturbed_steps = clock.disturbed_steps;
      run.replaced_ms = clock.replaced_ms;
      if (run.turns > 0 ? clock.clock_ms > 0.0 : clock.replaced_ms > 0.0)
        set_clock(run, run.turns > 0 ? clock.clock_ms : *run.raw_clock_ms - clock.replaced_ms);
    }
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

void settle_clocks(const results::Store& store, const std::vector<std::vector<RunMeasure>*>& cells) {
  std::map<Machine, MachineRuns> machines;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    for (RunMeasure& run : *cells[cell]) {
      if (run.raw_clock_ms) add_run(store, cell, run, machines[{run.run.hardware, run.run.place(), run.run.threads}]);
    }
  }
  for (auto& [machine, runs] : machines) settle_machine(runs);
}

std::int64_t clock_samples_of(const std::vector<CellMeasures>& cells) {
  std::int64_t samples = 0;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) samples += run.clock_samples;
  }
  return samples;
}

}  // namespace nanobench::reports
