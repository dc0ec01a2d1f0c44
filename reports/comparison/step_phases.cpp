#include "reports/comparison/step_phases.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/comparison/settled_clocks.h"
#include "reports/stats/change_points.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMinTimes = 20;
constexpr std::size_t kMaxBins = 100;     // the search for change points is quadratic
constexpr double kMinLevelChange = 0.02;  // less is drift, not another phase
constexpr double kChangeAlpha = 0.01;     // a table has many steps, so chance must be rare
constexpr double kFlat = 1e-9;            // of a learning-rate factor, which is about 1

/// -1 falling, 0 constant, 1 rising
int stage_of(double before, double after) {
  if (std::abs(after - before) <= kFlat) return 0;
  return after > before ? 1 : -1;
}

double mean_ms(std::span<const StepTime> times) {
  double sum = 0.0;
  for (const StepTime& time : times) sum += time.ms;
  return sum / static_cast<double>(times.size());
}

double median_ms(std::span<const StepTime> times) {
  std::vector<double> values;
  for (const StepTime& time : times) values.push_back(time.ms);
  return *median(std::move(values));
}

/// The split in [low, high) that explains the times around it best by two levels.
std::size_t best_split(std::span<const StepTime> times, std::size_t low, std::size_t high, double before,
                       double after) {
  const double middle = (before + after) / 2.0;
  double sum = 0.0, best = 0.0;
  std::size_t split = low;
  for (std::size_t i = low; i + 1 < high; ++i) {
    sum += (times[i].ms < middle) == (before < after) ? 1.0 : -1.0;
    if (sum <= best) continue;
    best = sum;
    split = i + 1;
  }
  return split;
}

/// A run and what its clock counted.
struct ClockedRun {
  const RunMeasure* run = nullptr;
  std::vector<StepTime> times;
};

/// The first stretch of a log is as long as the timed steps before its first sample.
std::int64_t first_stretch(const ClockedRun& timed) {
  const std::int64_t later = timed.times.back().step - timed.times.front().step;
  return std::max<std::int64_t>(0, timed.run->run.result->timed_steps.value_or(later) - later);
}

std::vector<ClockedRun> timed_runs(const results::Store& store, const CellMeasures& cell) {
  std::vector<ClockedRun> runs;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed() || !run.clock_ms || runs.size() == kMaxPhaseRuns) continue;
    ClockedRun timed{.run = &run, .times = clock_increments(store, run.run.id)};
    if (!timed.times.empty()) runs.push_back(std::move(timed));
  }
  return runs;
}

/// The times of a run within a phase, and how many steps they cover.
struct PhaseSlice {
  std::vector<StepTime> times;
  std::int64_t steps = 0;
};

PhaseSlice slice_of(const ClockedRun& timed, const StepPhase& phase) {
  PhaseSlice slice;
  for (std::size_t i = 0; i < timed.times.size(); ++i) {
    const std::int64_t step = timed.times[i].step;
    if (step < phase.first_step || step > phase.last_step) continue;
    slice.times.push_back(timed.times[i]);
    slice.steps += i == 0 ? first_stretch(timed) : step - timed.times[i - 1].step;
  }
  return slice;
}

/// Runs of other machines would be no yardstick: only the first run's machine counts.
BySeed phase_times_of(const std::vector<ClockedRun>& runs, const StepPhase& phase) {
  std::vector<std::vector<StepTime>> times;
  std::vector<std::int64_t> steps;
  std::vector<std::uint64_t> seeds;
  for (const ClockedRun& run : runs) {
    if (!share_machine(*run.run, *runs.front().run)) continue;
    PhaseSlice slice = slice_of(run, phase);
    if (slice.steps <= 0) continue;
    times.push_back(std::move(slice.times));
    steps.push_back(slice.steps);
    seeds.push_back(run.run->run.seed);
  }
  BySeed means;
  const std::vector<RobustClock> clocks = robust_clocks(times);
  for (std::size_t i = 0; i < clocks.size(); ++i) means[seeds[i]] = clocks[i].clock_ms / static_cast<double>(steps[i]);
  return means;
}

std::set<std::int64_t> scheduled(const results::Store& store, const std::vector<std::vector<ClockedRun>>& cells) {
  std::set<std::int64_t> all;
  for (const std::vector<ClockedRun>& runs : cells) {
    if (runs.empty()) continue;
    const std::int64_t run = runs.front().run->run.id;
    const auto some =
        scheduled_boundaries(store.samples(run, results::kWindow), store.samples(run, results::kLearningRate));
    all.insert(some.begin(), some.end());
  }
  return all;
}

/// Means over the first runs of the cells, of the steps that all of them have.
std::vector<StepTime> common_times(const std::vector<std::vector<ClockedRun>>& cells) {
  std::map<std::int64_t, std::vector<double>> by_step;
  std::size_t count = 0;
  for (const std::vector<ClockedRun>& runs : cells) {
    for (const ClockedRun& run : runs) {
      ++count;
      const std::int64_t first = first_stretch(run);
      for (std::size_t i = 0; i < run.times.size(); ++i) {
        const std::int64_t steps = i == 0 ? first : run.times[i].step - run.times[i - 1].step;
        if (steps > 0) by_step[run.times[i].step].push_back(run.times[i].ms / static_cast<double>(steps));
      }
    }
  }
  std::vector<StepTime> times;
  for (const auto& [step, values] : by_step) {
    if (values.size() == count) times.push_back({.step = step, .ms = *median(values)});
  }
  return times;
}

/// Steps that the phases lie between.
struct StepRange {
  std::int64_t first = 0, last = -1;
};

StepRange range_of(const std::vector<std::vector<ClockedRun>>& cells) {
  StepRange range;
  for (const std::vector<ClockedRun>& runs : cells) {
    for (const ClockedRun& run : runs) {
      if (range.last < range.first) range.first = run.times.front().step;
      range.first = std::min(range.first, run.times.front().step);
      range.last = std::max(range.last, run.times.back().step);
    }
  }
  return range;
}

/// The phases between the boundaries; the shortest of too many join the one before.
std::vector<StepPhase> phases_between(const std::set<std::int64_t>& boundaries, const StepRange& range) {
  std::vector<StepPhase> phases{{.first_step = range.first, .last_step = range.last, .cells = {}}};
  for (const std::int64_t step : boundaries) {
    if (step <= phases.back().first_step || step > range.last) continue;
    phases.back().last_step = step - 1;
    phases.push_back({.first_step = step, .last_step = range.last, .cells = {}});
  }
  while (phases.size() > kMaxPhases) {
    const auto shortest = std::min_element(phases.begin() + 1, phases.end(), [](const auto& a, const auto& b) {
      return a.last_step - a.first_step < b.last_step - b.first_step;
    });
    std::prev(shortest)->last_step = shortest->last_step;
    phases.erase(shortest);
  }
  return phases;
}

void add_cells(StepPhase& phase, const std::vector<CellMeasures>& cells,
               const std::vector<std::vector<ClockedRun>>& runs, const ComparisonTable& table) {
  std::map<std::string, std::pair<std::size_t, BySeed>> known;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    BySeed times = phase_times_of(runs[i], phase);
    if (times.empty()) continue;
    PhaseTime& row = phase.cells.emplace_back();
    row.cell = cells[i].cell.label;
    const auto base =
        i < table.rows.size() && table.rows[i].reference ? known.find(*table.rows[i].reference) : known.end();
    if (base != known.end()) row.ratio = time_ratio(cells[i], cells[base->second.first], times, base->second.second);
    row.step_ms = times;
    known[row.cell] = {i, std::move(times)};
  }
}

}  // namespace

std::vector<std::int64_t> scheduled_boundaries(const std::vector<results::Sample>& window,
                                               const std::vector<results::Sample>& rate) {
  std::set<std::int64_t> found;
  for (std::size_t i = 1; i < window.size(); ++i) {
    if (window[i].value != window[i - 1].value) found.insert(window[i].step);
  }
  for (std::size_t i = 2; i < rate.size(); ++i) {
    const int before = stage_of(rate[i - 2].value, rate[i - 1].value);
    if (stage_of(rate[i - 1].value, rate[i].value) != before) found.insert(rate[i].step);
  }
  return {found.begin(), found.end()};
}

std::vector<std::int64_t> measured_boundaries(std::span<const StepTime> times) {
  if (times.size() < kMinTimes) return {};
  const std::size_t width = (times.size() + kMaxBins - 1) / kMaxBins;
  std::vector<double> bins;
  for (std::size_t at = 0; at + width <= times.size(); at += width)
    bins.push_back(std::log(median_ms(times.subspan(at, width))));
  const auto changes = change_points(bins, {.alpha = kChangeAlpha});
  if (!changes) return {};
  std::vector<std::int64_t> steps;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < changes->size(); ++i) {
    const std::size_t at = (*changes)[i].index * width;
    const std::size_t end = i + 1 < changes->size() ? (*changes)[i + 1].index * width : times.size();
    const double before = mean_ms(times.subspan(begin, at - begin)), after = mean_ms(times.subspan(at, end - at));
    if (std::abs(after / before - 1.0) < kMinLevelChange) continue;
    const std::size_t low = std::max(begin + 1, at > width ? at - width : 1), high = std::min(end, at + width + 1);
    begin = best_split(times, low, high, before, after);
    steps.push_back(times[begin].step);
  }
  return steps;
}

std::vector<StepPhase> step_phases(const results::Store& store, const std::vector<CellMeasures>& cells,
                                   const ComparisonTable& table) {
  if (clock_samples_of(cells) > kMaxClockSamples) return {};
  std::vector<std::vector<ClockedRun>> runs;
  for (const CellMeasures& cell : cells) runs.push_back(timed_runs(store, cell));
  std::set<std::int64_t> boundaries = scheduled(store, runs);
  if (boundaries.empty()) {
    const std::vector<std::int64_t> measured = measured_boundaries(common_times(runs));
    boundaries.insert(measured.begin(), measured.end());
  }
  std::vector<StepPhase> phases = phases_between(boundaries, range_of(runs));
  if (phases.size() < 2) return {};
  for (StepPhase& phase : phases) add_cells(phase, cells, runs, table);
  return phases;
}

}  // namespace nanobench::reports
