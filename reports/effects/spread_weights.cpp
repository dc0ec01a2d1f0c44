#include "reports/effects/spread_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reports/comparison/conditions.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxPlans = 12;  // read for the spreads
constexpr double kMinWeight = 1.0;

bool has_enough_seeds(const results::PlanRecord& plan) {
  std::set<std::uint64_t> seeds;
  for (const results::PlanLine& line : plan.lines) {
    seeds.insert(line.seed);
    if (seeds.size() >= static_cast<std::size_t>(kMinSeedsForSpread)) return true;
  }
  return false;
}

/// The runs of a plan with their final loss and clock, without their samples.
///   left_out   ids of runs
std::vector<CellMeasures> cells_without_samples(const results::Store& store, const results::PlanRecord& plan,
                                                const Conditions& conditions, const std::set<std::int64_t>& left_out) {
  std::vector<CellMeasures> cells;
  std::map<std::string, std::size_t> index;
  for (const results::PlanCell& cell : plan.cells) {
    index.emplace(cell.label, cells.size());
    cells.emplace_back().cell = cell;
  }
  for (const results::PlanLine& line : plan.lines) {
    const auto cell = index.find(line.cell);
    if (!line.run_id || cell == index.end() || left_out.contains(*line.run_id)) continue;
    RunMeasure measure;
    measure.run = store.run(*line.run_id);
    if (!conditions.hold_for(measure.run)) continue;
    measure.val_loss = measure.run.result->final_val_loss;
    measure.clock_ms = measure.run.result->train_ms;
    cells[cell->second].runs.push_back(std::move(measure));
  }
  return cells;
}

void add_ratio(std::vector<SpreadRatio>& ratios, const MeasuredEffect& effect) {
  if (effect.n < kMinSeedsForSpread || !effect.own_sd || !effect.plan_sd || !(*effect.plan_sd > 0.0)) return;
  const double ratio = *effect.own_sd / *effect.plan_sd;
  ratios.push_back({.ratio = ratio * ratio, .df = effect.n - 1.0});
}

double lowered(double usual, const std::vector<SpreadRatio>& ratios) {
  return std::clamp(prior_df_of(ratios).value_or(usual), kMinWeight, usual);
}

/// The plans before `plan` and itself that its spreads may be compared with, newest first.
std::vector<results::PlanRecord> comparable_plans(const results::Store& store, const results::PlanRecord& plan,
                                                  const Conditions& conditions) {
  const auto order = [](const results::PlanRecord& one) { return std::tie(one.created_at, one.id); };
  std::vector<results::PlanRecord> plans = store.plans();
  std::erase_if(plans, [&](const results::PlanRecord& other) {
    return !conditions.apply_to(other) || other.contrasts.empty() || order(plan) < order(other);
  });
  std::sort(plans.begin(), plans.end(), [&](const auto& a, const auto& b) { return order(b) < order(a); });
  return plans;
}

}  // namespace

SpreadWeights spread_weights(const results::Store& store, const results::PlanRecord& plan) {
  const std::optional<Conditions> conditions = conditions_of(store, plan);
  if (!conditions) return {};
  std::vector<results::PlanRecord> plans = comparable_plans(store, plan, *conditions);
  std::erase_if(plans, [](const results::PlanRecord& other) { return !has_enough_seeds(other); });
  if (plans.size() > kMaxPlans) plans.resize(kMaxPlans);
  std::vector<SpreadRatio> losses, times;
  for (const results::PlanRecord& stored : plans) {
    const std::vector<CellMeasures> cells = cells_without_samples(store, stored, *conditions, {});
    const PlanEffects effects(cells, static_cast<int>(stored.contrasts.size()), {});
    for (const results::PlanContrast& contrast : stored.contrasts) {
      add_ratio(losses, effects.loss(contrast));
      add_ratio(times, effects.log_time(contrast));
    }
  }
  const SpreadWeights usual;
  return {.loss = lowered(usual.loss, losses), .time = lowered(usual.time, times)};
}

std::optional<EarlierSpread> earlier_loss_spread(const results::Store& store, const results::PlanRecord& plan) {
  const std::optional<Conditions> conditions = conditions_of(store, plan);
  if (!conditions) return std::nullopt;
  std::set<std::int64_t> seen;  // each run counts once
  for (const results::PlanLine& line : plan.lines) {
    if (line.run_id) seen.insert(*line.run_id);
  }
  std::vector<results::PlanRecord> plans = comparable_plans(store, plan, *conditions);
  std::erase_if(plans,
                [&](const results::PlanRecord& other) { return other.id == plan.id || other.suite != plan.suite; });
  if (plans.size() > kMaxPlans) plans.resize(kMaxPlans);
  double squares = 0.0, df = 0.0;
  for (const results::PlanRecord& earlier : plans) {
    const std::vector<CellMeasures> cells = cells_without_samples(store, earlier, *conditions, seen);
    const PlanEffects effects(cells, 1, {});
    const std::optional<double> sd = effects.loss_sd();
    for (const results::PlanLine& line : earlier.lines) {
      if (line.run_id) seen.insert(*line.run_id);
    }
    if (!sd || !(*sd > 0.0)) continue;
    squares += *sd * *sd * effects.loss_df();
    df += effects.loss_df();
  }
  if (df <= 0.0) return std::nullopt;
  return EarlierSpread{.sd = std::sqrt(squares / df), .df = df};
}

}  // namespace nanobench::reports
