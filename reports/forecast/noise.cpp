#include "reports/forecast/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "reports/comparison/conditions.h"

namespace nanobench::reports {
namespace {

/// 0 if the sum of squares is mere rounding.
Spread spread_of(double squares, double df, double magnitude) {
  const double sd = std::sqrt(squares / df);
  const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * magnitude;
  return {.sd = sd <= rounding ? 0.0 : sd, .df = df};
}

double magnitude_of(std::span<const BySeed> cells) {
  double magnitude = 0.0;
  for (const BySeed& cell : cells) {
    for (const auto& [seed, value] : cell) magnitude = std::max(magnitude, std::abs(value));
  }
  return magnitude;
}

std::vector<std::uint64_t> common_seeds(std::span<const BySeed> cells) {
  std::vector<std::uint64_t> seeds;
  if (cells.empty()) return seeds;
  for (const auto& [seed, value] : cells.front()) {
    const auto has_seed = [seed = seed](const BySeed& cell) { return cell.contains(seed); };
    if (std::all_of(cells.begin(), cells.end(), has_seed)) seeds.push_back(seed);
  }
  return seeds;
}

/// The values of one stored plan; times are grouped by host, because times from two machines are never subtracted.
struct StoredPlanValues {
  std::vector<BySeed> losses;                            ///< by cell
  std::map<std::string, std::vector<BySeed>> log_times;  ///< by host, then cell
};

class NoiseReader {
 public:
  NoiseReader(const results::Store& store, const suites::Plan& plan)
      : store_(store), suite_(plan.suite.name), conditions_(conditions_of(plan)) {
    for (results::PlanRecord& stored : store.plans()) {
      if (conditions_.apply_to(stored)) plans_.push_back(std::move(stored));
    }
    std::stable_sort(plans_.begin(), plans_.end(),
                     [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
  }

  Noise read() {
    Noise noise;
    noise.loss = loss_within_suite();
    for (const results::PlanRecord& stored : plans_) {
      if (noise.loss.spread && noise.log_time.spread) return noise;
      if (stored.design == results::Design::kAA) read_a_a(stored, noise);
    }
    if (!noise.loss.spread) noise.loss = pooled_loss();
    if (!noise.log_time.spread) noise.log_time = pooled_log_time();
    return noise;
  }

 private:
  /// Uses only runs that are not yet in `seen`, and adds them to it.
  StoredPlanValues values_of(const results::PlanRecord& stored, std::set<std::int64_t>& seen) const {
    StoredPlanValues values;
    std::map<std::string, std::size_t> index;
    for (const results::PlanCell& cell : stored.cells) index.emplace(cell.label, index.size());
    values.losses.resize(index.size());
    for (const results::PlanLine& line : stored.lines) {
      const auto cell = index.find(line.cell);
      if (!line.run_id || cell == index.end() || !seen.insert(*line.run_id).second) continue;
      const results::RunRecord run = store_.run(*line.run_id);
      if (conditions_.hold_for(run)) add(values, cell->second, run);
    }
    return values;
  }

  void add(StoredPlanValues& values, std::size_t cell, const results::RunRecord& run) const {
    const std::optional<double> loss = run.result->final_val_loss;
    if (loss && std::isfinite(*loss)) values.losses[cell][run.seed] = *loss;
    const std::optional<double> step_ms = run.result->mean_step_ms();
    if (!step_ms || !std::isfinite(*step_ms)) return;
    std::vector<BySeed>& times = values.log_times[run.place()];
    times.resize(values.losses.size());
    times[cell][run.seed] = std::log(*step_ms);
  }

  static bool is_complete(const results::PlanRecord& stored, const StoredPlanValues& values) {
    std::size_t losses = 0;
    for (const BySeed& cell : values.losses) losses += cell.size();
    return losses == stored.lines.size();
  }

  NoiseFigure loss_within_suite() const {
    std::vector<Spread> spreads;
    std::set<std::int64_t> seen;
    for (const results::PlanRecord& stored : plans_) {
      if (stored.suite != suite_) continue;
      if (const auto spread = spread_within_seeds(values_of(stored, seen).losses)) spreads.push_back(*spread);
    }
    return {.spread = pooled(spreads), .is_bound = false, .source = NoiseSource::kSuite};
  }

  void read_a_a(const results::PlanRecord& stored, Noise& noise) const {
    std::set<std::int64_t> seen;
    const StoredPlanValues values = values_of(stored, seen);
    if (values.losses.empty() || !is_complete(stored, values)) return;
    // Only the first arm: other arms' runs of the same seeds may give the same numbers.
    if (!noise.loss.spread) {
      noise.loss = {.spread = spread_over_seeds(std::span(values.losses).first(1)),
                    .is_bound = true,
                    .source = NoiseSource::kSelfComparison,
                    .plan_id = stored.id};
    }
    if (!noise.log_time.spread && values.log_times.size() == 1)
      noise.log_time = {.spread = spread_within_seeds(values.log_times.begin()->second),
                        .source = NoiseSource::kSelfComparison,
                        .plan_id = stored.id};
  }

  NoiseFigure pooled_loss() const {
    std::vector<Spread> spreads;
    std::set<std::int64_t> seen;
    for (const results::PlanRecord& stored : plans_) {
      if (const auto spread = spread_over_seeds(values_of(stored, seen).losses)) spreads.push_back(*spread);
    }
    if (spreads.empty()) return {};
    return {.spread = pooled(spreads), .is_bound = true, .source = NoiseSource::kAllRuns};
  }

  NoiseFigure pooled_log_time() const {
    std::vector<Spread> spreads;
    std::set<std::int64_t> seen;
    for (const results::PlanRecord& stored : plans_) {
      for (const auto& [host, times] : values_of(stored, seen).log_times) {
        if (const auto spread = spread_within_seeds(times)) spreads.push_back(*spread);
      }
    }
    if (spreads.empty()) return {};
    return {.spread = pooled(spreads), .is_bound = false, .source = NoiseSource::kAllPlans};
  }

  const results::Store& store_;
  std::string suite_;
  Conditions conditions_;
  std::vector<results::PlanRecord> plans_;  ///< plans of the scale, newest first
};

}  // namespace

std::optional<Spread> spread_over_seeds(std::span<const BySeed> cells) {
  double squares = 0.0, df = 0.0;
  for (const BySeed& cell : cells) {
    const Summary summary = summarise(cell);
    if (!summary.sd) continue;
    squares += *summary.sd * *summary.sd * (summary.n - 1.0);
    df += summary.n - 1.0;
  }
  if (df == 0.0) return std::nullopt;
  return spread_of(squares, df, magnitude_of(cells));
}

std::optional<Spread> spread_within_seeds(std::span<const BySeed> cells) {
  std::vector<BySeed> used;
  for (const BySeed& cell : cells) {
    if (!cell.empty()) used.push_back(cell);
  }
  const std::vector<std::uint64_t> seeds = common_seeds(used);
  if (used.size() < 2 || seeds.size() < 2) return std::nullopt;
  const auto cell_count = static_cast<double>(used.size());
  const auto seed_count = static_cast<double>(seeds.size());
  BySeed rest;  // mean over the cells of a seed's values minus each cell's mean
  std::vector<double> means;
  for (const BySeed& cell : used) {
    double& mean = means.emplace_back(0.0);
    for (const std::uint64_t seed : seeds) mean += cell.at(seed) / seed_count;
    for (const std::uint64_t seed : seeds) rest[seed] += (cell.at(seed) - mean) / cell_count;
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    for (const std::uint64_t seed : seeds) squares += std::pow(used[i].at(seed) - means[i] - rest.at(seed), 2.0);
  }
  return spread_of(squares, (cell_count - 1.0) * (seed_count - 1.0), magnitude_of(used));
}

std::optional<Spread> pooled(std::span<const Spread> spreads) {
  double squares = 0.0, df = 0.0;
  for (const Spread& spread : spreads) {
    squares += spread.sd * spread.sd * spread.df;
    df += spread.df;
  }
  if (df == 0.0) return std::nullopt;
  return Spread{.sd = std::sqrt(squares / df), .df = df};
}

Noise read_noise(const results::Store* store, const suites::Plan& plan) {
  if (store == nullptr) return {};
  return NoiseReader(*store, plan).read();
}

}  // namespace nanobench::reports
