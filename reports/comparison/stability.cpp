#include "reports/comparison/stability.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/stats/proportion.h"
#include "reports/stats/t_tests.h"

namespace nanobench::reports {
namespace {

constexpr double kLevel = 0.95;
constexpr const char* kSchedule = "schedule";
constexpr const char* kRateFactor = "rate_factor";

/// What is the same in all cells of an arm: the configuration without its factor and its name.
std::string arm_key(const CellMeasures& cell) {
  if (cell.runs.empty()) return "";
  core::Json config = core::json_or_null(cell.runs.front().run.config);
  if (!config.is_object()) return "";
  if (const auto schedule = config.find(kSchedule); schedule != config.end() && schedule->is_object())
    schedule->erase(kRateFactor);
  config.erase("name");
  return config.dump();
}

/// "qk_norm=off": the settings of the features in which the arms differ.
std::string differing_settings(const results::PlanCell& one, const std::vector<const results::PlanCell*>& arms) {
  std::vector<std::string> words;
  for (const auto& [feature, setting] : one.features) {
    const auto has_other = [&, &name = feature, &value = setting](const results::PlanCell* arm) {
      const auto found = arm->features.find(name);
      return found == arm->features.end() || found->second != value;
    };
    if (std::any_of(arms.begin(), arms.end(), has_other)) words.push_back(feature + "=" + setting);
  }
  return words.empty() ? "the base" : joined(words);
}

/// Arms that have the same features are named by their first cells.
void name_arms(std::vector<StabilityArm>& arms, const std::vector<const results::PlanCell*>& cells) {
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto has_same = [&](const results::PlanCell* cell) { return cell->features == cells[i]->features; };
    const bool is_unique = std::count_if(cells.begin(), cells.end(), has_same) == 1;
    arms[i].label = is_unique ? differing_settings(*cells[i], cells) : cells[i]->label;
  }
}

StabilityPoint& point_at(StabilityArm& arm, double factor) {
  const auto found = std::find_if(arm.points.begin(), arm.points.end(),
                                  [&](const StabilityPoint& point) { return point.factor == factor; });
  return found != arm.points.end() ? *found : arm.points.emplace_back(StabilityPoint{.factor = factor});
}

void read_cell(StabilityArm& arm, const CellMeasures& cell, const std::optional<double>& threshold) {
  for (const RunMeasure& run : cell.runs) {
    const std::optional<bool> diverged = has_diverged(run, threshold);
    if (diverged) point_at(arm, rate_factor_of(run.run.config)).diverged[run.run.seed] = *diverged;
  }
}

/// Largest factor up to which `is_stable` holds, from the smallest on.
template <class IsStable>
std::optional<double> largest_stable(const std::vector<StabilityPoint>& points, IsStable is_stable) {
  std::optional<double> largest;
  for (const StabilityPoint& point : points) {
    if (!is_stable(point)) break;
    largest = point.factor;
  }
  return largest;
}

/// Seeds that have a run at every factor.
std::vector<std::uint64_t> complete_seeds(const StabilityArm& arm) {
  std::vector<std::uint64_t> seeds;
  for (const auto& [seed, unused] : arm.points.front().diverged) {
    const auto has_seed = [seed = seed](const StabilityPoint& point) { return point.diverged.contains(seed); };
    if (std::all_of(arm.points.begin(), arm.points.end(), has_seed)) seeds.push_back(seed);
  }
  return seeds;
}

void finish(StabilityArm& arm) {
  std::erase_if(arm.points, [](const StabilityPoint& point) { return point.diverged.empty(); });
  std::sort(arm.points.begin(), arm.points.end(),
            [](const StabilityPoint& a, const StabilityPoint& b) { return a.factor < b.factor; });
  for (StabilityPoint& point : arm.points) {
    point.interval = wilson(point.count(), point.runs(), kLevel);
    arm.runs += point.runs();
    arm.diverged += point.count();
  }
  if (arm.points.empty()) return;
  arm.share_interval = wilson(arm.diverged, arm.runs, kLevel);
  arm.stable_rate = largest_stable(arm.points, [](const StabilityPoint& point) { return point.count() == 0; });
  arm.is_open = arm.stable_rate == arm.points.back().factor;
  for (const std::uint64_t seed : complete_seeds(arm)) {
    const std::optional<double> stable =
        largest_stable(arm.points, [seed](const StabilityPoint& point) { return !point.diverged.at(seed); });
    arm.stable_by_seed[seed] = stable.value_or(arm.points.front().factor / 2.0);
    const auto count = std::count_if(arm.points.begin(), arm.points.end(),
                                     [seed](const StabilityPoint& point) { return point.diverged.at(seed); });
    arm.share_by_seed[seed] = static_cast<double>(count) / static_cast<double>(arm.points.size());
  }
}

bool have_same_factors(const StabilityArm& a, const StabilityArm& b) {
  return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const StabilityPoint& p, const StabilityPoint& q) { return p.factor == q.factor; });
}

StabilityChange change_of(const StabilityArm& arm, const StabilityArm& reference) {
  StabilityChange change{.label = arm.label};
  if (!have_same_factors(arm, reference)) return change;  // shares of different sweeps say nothing of each other
  std::vector<double> ours, theirs;
  double log_ratio = 0.0;
  for (const auto& [seed, share] : arm.share_by_seed) {
    const auto other = reference.share_by_seed.find(seed);
    if (other == reference.share_by_seed.end()) continue;
    ours.push_back(share);
    theirs.push_back(other->second);
    log_ratio += std::log(arm.stable_by_seed.at(seed) / reference.stable_by_seed.at(seed));
  }
  change.n = static_cast<int>(ours.size());
  if (ours.empty()) return change;
  double sum = 0.0;
  for (std::size_t i = 0; i < ours.size(); ++i) sum += ours[i] - theirs[i];
  change.share = sum / change.n;
  change.rate_ratio = std::exp(log_ratio / change.n);
  if (const std::optional<Estimate> estimate = paired_t(ours, theirs)) {
    change.interval = interval_of(*estimate, kLevel);
  } else {
    change.is_exact = change.n >= 2;  // every seed changes alike
  }
  return change;
}

}  // namespace

std::optional<bool> has_diverged(const RunMeasure& run, const std::optional<double>& threshold) {
  if (!run.run.result) return std::nullopt;
  if (run.run.result->outcome == core::RunOutcome::kDiverged) return true;
  if (!run.run.is_completed() || !run.val_loss) return std::nullopt;
  if (threshold) return !(*run.val_loss < *threshold);
  if (run.curve.size() < 2) return std::nullopt;
  return !(*run.val_loss < run.curve.front().loss);
}

double rate_factor_of(const std::string& config) {
  const core::Json json = core::json_or_null(config);
  if (!json.is_object()) return 1.0;
  const auto schedule = json.find(kSchedule);
  if (schedule == json.end() || !schedule->is_object()) return 1.0;
  const auto factor = schedule->find(kRateFactor);
  return factor != schedule->end() && factor->is_number() ? factor->get<double>() : 1.0;
}

int StabilityPoint::count() const {
  return static_cast<int>(
      std::count_if(diverged.begin(), diverged.end(), [](const auto& seed) { return seed.second; }));
}

std::optional<Stability> stability_of(const std::vector<CellMeasures>& cells, const std::optional<double>& threshold) {
  Stability stability{.threshold = threshold, .arms = {}, .changes = {}};
  std::map<std::string, std::size_t> arms;
  std::vector<const results::PlanCell*> first_cells;
  for (const CellMeasures& cell : cells) {
    const std::string key = arm_key(cell);
    if (key.empty()) continue;
    const auto [at, is_new] = arms.try_emplace(key, stability.arms.size());
    if (is_new) {
      stability.arms.emplace_back();
      first_cells.push_back(&cell.cell);
    }
    read_cell(stability.arms[at->second], cell, threshold);
  }
  name_arms(stability.arms, first_cells);
  for (StabilityArm& arm : stability.arms) finish(arm);
  std::erase_if(stability.arms, [](const StabilityArm& arm) { return arm.points.size() < 2; });
  if (stability.arms.empty()) return std::nullopt;
  for (std::size_t i = 1; i < stability.arms.size(); ++i)
    stability.changes.push_back(change_of(stability.arms[i], stability.arms.front()));
  return stability;
}

}  // namespace nanobench::reports
