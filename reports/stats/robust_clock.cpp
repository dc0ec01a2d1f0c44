#include "reports/stats/robust_clock.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

constexpr double kMadPerRobustSd = 0.6744897501960817;  // the normal distribution's 0.75 quantile

/// Where a stretch begins and ends.
using Stretch = std::pair<std::int64_t, std::int64_t>;

std::vector<Stretch> stretches_of(const std::vector<StepTime>& run) {
  std::vector<Stretch> stretches;
  stretches.reserve(run.size());
  std::int64_t begin = std::numeric_limits<std::int64_t>::min();
  for (const StepTime& time : run) {
    stretches.emplace_back(begin, time.step);
    begin = time.step;
  }
  return stretches;
}

/// A run's logarithms of times, one for each stretch of any run; NaN where it has none.
using LogTimes = std::vector<double>;

std::vector<LogTimes> log_times(std::span<const std::vector<StepTime>> runs) {
  std::vector<Stretch> all;
  for (const std::vector<StepTime>& run : runs) {
    const std::vector<Stretch> some = stretches_of(run);
    std::vector<Stretch> both;
    std::set_union(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(both));
    all = std::move(both);
  }
  std::vector<LogTimes> times;
  for (const std::vector<StepTime>& run : runs) {
    LogTimes& logs = times.emplace_back(all.size(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<Stretch> own = stretches_of(run);
    std::size_t at = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      while (all[at] < own[i]) ++at;
      if (run[i].ms > 0.0 && std::isfinite(run[i].ms)) logs[at] = std::log(run[i].ms);
    }
  }
  return times;
}

/// The clocks of the runs of a cell.
class ClockJudge {
 public:
  explicit ClockJudge(std::span<const std::vector<StepTime>> runs)
      : times_(log_times(runs)), levels_(runs.size(), 0.0) {}

  /// Milliseconds that each disturbed step of the run took too long.
  std::vector<double> excesses(std::size_t run) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times_[run].size(); ++i) {
      if (const double ratio = ratio_of(run, i); std::isfinite(ratio)) ratios.push_back(ratio);
    }
    std::vector<double> found;
    if (ratios.size() < kMinSharedSteps) return found;
    const double limit = limit_of(std::move(ratios));
    for (std::size_t i = 0; i < times_[run].size(); ++i) {
      const double ratio = ratio_of(run, i);
      if (std::isfinite(ratio) && ratio > limit)
        found.push_back(std::exp(times_[run][i]) - std::exp(times_[run][i] - ratio));
    }
    return found;
  }

  /// First the runs' levels, then what each step should take at level 0.
  void judge() {
    find_yardsticks();
    for (std::size_t run = 0; run < times_.size(); ++run) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < times_[run].size(); ++i) {
        const double ratio = times_[run][i] - middles_[i];
        if (std::isfinite(ratio)) ratios.push_back(ratio);
      }
      if (!ratios.empty()) levels_[run] = *median(std::move(ratios));
    }
    find_yardsticks();
  }

 private:
  void find_yardsticks() {
    const std::size_t count = times_.empty() ? 0 : times_.front().size();
    middles_.assign(count, std::numeric_limits<double>::quiet_NaN());
    is_pair_.assign(count, false);
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.clear();
      for (std::size_t run = 0; run < times_.size(); ++run) {
        if (std::isfinite(times_[run][i])) values.push_back(times_[run][i] - levels_[run]);
      }
      if (values.size() < 2) continue;
      is_pair_[i] = values.size() == 2;
      middles_[i] = *median(values);
    }
  }

  /// Logarithm of the step's time over what it should take. Twice the distance from the middle of two runs is that
  /// from the other one.
  double ratio_of(std::size_t run, std::size_t at) const {
    const double distance = times_[run][at] - levels_[run] - middles_[at];
    return is_pair_[at] ? 2.0 * distance : distance;
  }

  static double limit_of(std::vector<double> ratios) {
    const double middle = *median(ratios);
    for (double& ratio : ratios) ratio = std::abs(ratio - middle);
    const double sd = *median(std::move(ratios)) / kMadPerRobustSd;
    return std::log1p(std::max(kMinDisturbance, kDisturbanceSds * sd));
  }

  std::vector<LogTimes> times_;
  std::vector<double> levels_;   ///< of the runs, logarithms
  std::vector<double> middles_;  ///< of the steps, logarithms less the levels; NaN: fewer than two runs have it
  std::vector<bool> is_pair_;    ///< steps that two runs have
};

/// Puts back the share that every run lost.
void keep_common_share(std::vector<RobustClock>& clocks) {
  double share = std::numeric_limits<double>::infinity();
  for (const RobustClock& clock : clocks) {
    if (!(clock.clock_ms > 0.0)) return;
    share = std::min(share, clock.replaced_ms / clock.clock_ms);
  }
  for (RobustClock& clock : clocks) {
    const double kept = share * clock.clock_ms;
    clock.clock_ms += kept;
    clock.replaced_ms -= kept;
  }
}

}  // namespace

std::vector<RobustClock> robust_clocks(std::span<const std::vector<StepTime>> runs) {
  std::vector<RobustClock> clocks;
  ClockJudge judge(runs);
  if (runs.size() > 1) judge.judge();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    RobustClock& clock = clocks.emplace_back();
    std::vector<double> times;
    for (const StepTime& time : runs[run]) times.push_back(time.ms);
    const std::vector<double> excesses = runs.size() > 1 ? judge.excesses(run) : std::vector<double>();
    clock.replaced_ms = compensated_sum(excesses);
    clock.clock_ms = compensated_sum(times) - clock.replaced_ms;
    clock.disturbed_steps = static_cast<int>(excesses.size());
  }
  if (runs.size() > 1) keep_common_share(clocks);
  return clocks;
}

}  // namespace nanobench::reports
