#include "reports/gate/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/gate/arm.h"
#include "reports/gate/cell_checks.h"
#include "reports/stats/loss_curve.h"
#include "reports/stats/plan_model.h"
#include "reports/stats/summary.h"
#include "results/provenance.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr int kMinPairs = 3;

struct Pair {
  const NoiseRun *first, *second;
};

/// Each later arm's run with the first arm's run of the same seed.
std::vector<Pair> pairs_of(const std::vector<NoiseRun>& runs) {
  std::map<std::uint64_t, const NoiseRun*> first;
  for (const NoiseRun& run : runs) {
    if (run.arm == 0) first[run.seed] = &run;
  }
  std::vector<Pair> pairs;
  for (const NoiseRun& run : runs) {
    const auto found = first.find(run.seed);
    if (run.arm != 0 && found != first.end()) pairs.push_back({found->second, &run});
  }
  return pairs;
}

std::optional<Moments> moments_of_pairs(const std::vector<Pair>& pairs, double NoiseRun::*value, bool takes_log) {
  std::vector<double> first, second;
  for (const Pair& pair : pairs) {
    first.push_back(takes_log ? std::log(pair.first->*value) : pair.first->*value);
    second.push_back(takes_log ? std::log(pair.second->*value) : pair.second->*value);
  }
  if (first.size() < 2) return std::nullopt;
  const std::optional<PairedMoments> moments = paired_moments(second, first);
  return moments ? std::optional<Moments>(moments->moments) : std::nullopt;
}

std::optional<double> sd_of(const std::optional<Moments>& moments) {
  return moments ? std::optional<double>(moments->sd) : std::nullopt;
}

/// Uses only the first arm, because other arms' runs of the same seeds may give the same numbers.
std::vector<double> values_of_first_arm(const std::vector<NoiseRun>& runs, double NoiseRun::*value, bool takes_log) {
  std::vector<double> values;
  for (const NoiseRun& run : runs) {
    if (run.arm == 0) values.push_back(takes_log ? std::log(run.*value) : run.*value);
  }
  return values;
}

/// By arm, then seed.
ResponseTable log_clocks_of(const std::vector<NoiseRun>& runs) {
  std::map<std::uint64_t, std::size_t> seeds;
  std::size_t arms = 0;
  for (const NoiseRun& run : runs) {
    seeds.emplace(run.seed, seeds.size());
    arms = std::max(arms, static_cast<std::size_t>(run.arm) + 1);
  }
  ResponseTable table(arms, std::vector<std::optional<double>>(seeds.size()));
  for (const NoiseRun& run : runs)
    table[static_cast<std::size_t>(run.arm)][seeds.at(run.seed)] = std::log(run.clock_ms);
  return table;
}

double session_hours_of(const std::vector<NoiseRun>& runs) {
  double hours = 0.0;
  for (const NoiseRun& run : runs) hours = std::max(hours, run.hours);
  return hours;
}

/// The slope of a line over all runs.
std::optional<Estimate> drift_of(const std::vector<NoiseRun>& runs) {
  std::vector<SlopePoint> points;
  for (const NoiseRun& run : runs) points.push_back({.x = run.hours, .loss = std::log(run.clock_ms)});
  const std::optional<LineFit> line = fit_line(points);
  if (!line) return std::nullopt;
  const double hours = session_hours_of(runs);
  return Estimate{.value = line->slope.value * hours, .se = line->slope.se * hours, .df = line->slope.df};
}

OrderedJson json_of(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}
OrderedJson json_of(const std::optional<Estimate>& estimate) {
  if (!estimate) return {};
  return {{"value", estimate->value}, {"se", estimate->se}, {"df", estimate->df}};
}

}  // namespace

std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan) {
  std::vector<NoiseRun> runs;
  std::optional<double> first;
  const Arm arm = read_arm(store, plan, "");
  for (std::size_t cell = 0; cell < arm.cells.size(); ++cell) {
    for (const results::PlanLine& line : plan.lines) {
      if (line.cell != arm.cells[cell].label || !line.run_id) continue;
      const std::optional<double> began = results::seconds_since_epoch(store.run(*line.run_id).started_at);
      for (const ArmRun& run : arm.cells[cell].runs) {
        if (run.seed != line.seed || !run.val_loss || !run.clock_ms || !run.peak_bytes || !began) continue;
        if (!first || *began < *first) first = began;
        runs.push_back({.arm = static_cast<int>(cell),
                        .seed = run.seed,
                        .val_loss = *run.val_loss,
                        .clock_ms = *run.clock_ms,
                        .peak_bytes = *run.peak_bytes,
                        .hours = *began / 3600.0,
                        .loss_digest = run.loss_digest});
      }
    }
  }
  for (NoiseRun& run : runs) run.hours -= *first / 3600.0;
  return runs;
}

Calibration calibrate(const std::vector<NoiseRun>& runs) {
  const std::vector<Pair> pairs = pairs_of(runs);
  Calibration calibration{.runs = static_cast<int>(runs.size()), .pairs = static_cast<int>(pairs.size())};
  const std::vector<double> losses = values_of_first_arm(runs, &NoiseRun::val_loss, false);
  calibration.seeds = static_cast<int>(losses.size());
  calibration.loss_sd = sd_of(moments_of(losses));
  calibration.loss_pair_sd = sd_of(moments_of_pairs(pairs, &NoiseRun::val_loss, false));
  calibration.is_reproducible = !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return !pair.first->loss_digest.empty() && pair.first->loss_digest == pair.second->loss_digest;
  });
  const std::optional<Moments> times = moments_of_pairs(pairs, &NoiseRun::clock_ms, true);
  const PlanModel model(log_clocks_of(runs));
  if (const std::optional<double> sd = model.plan_sd()) {
    calibration.time_cv = *sd;
    calibration.time_pair_sd = *sd * std::sqrt(2.0);
    calibration.time_pair_df = model.plan_df();
  } else if (times) {  // arms that are equal to the last bit
    calibration.time_cv = calibration.time_pair_sd = 0.0;
  }
  calibration.time_sd = sd_of(moments_of(values_of_first_arm(runs, &NoiseRun::clock_ms, true)));
  if (times && times->has_spread()) calibration.time_difference = estimate_of(*times);
  calibration.memory_pair_sd = sd_of(moments_of_pairs(pairs, &NoiseRun::peak_bytes, true));
  calibration.session_hours = session_hours_of(runs);
  calibration.drift = drift_of(runs);
  return calibration;
}

OrderedJson to_json(const Calibration& calibration) {
  return {{"runs", calibration.runs},
          {"pairs", calibration.pairs},
          {"seeds", calibration.seeds},
          {"loss_sd", json_of(calibration.loss_sd)},
          {"loss_pair_sd", json_of(calibration.loss_pair_sd)},
          {"is_reproducible", calibration.is_reproducible},
          {"time_pair_sd", json_of(calibration.time_pair_sd)},
          {"time_pair_df", json_of(calibration.time_pair_df)},
          {"time_sd", json_of(calibration.time_sd)},
          {"time_cv", json_of(calibration.time_cv)},
          {"memory_pair_sd", json_of(calibration.memory_pair_sd)},
          {"session_hours", calibration.session_hours},
          {"drift", json_of(calibration.drift)},
          {"time_difference", json_of(calibration.time_difference)}};
}

GateNoise noise_of_gate(const Calibration& calibration, bool is_interleaved, bool draws_loss_anew) {
  if (calibration.pairs < kMinPairs || calibration.seeds < kMinPairs) return {};
  const double pair_df = calibration.pairs - 1.0, seed_df = calibration.seeds - 1.0;
  const auto known = [](const std::optional<double>& sd, double df) {
    return sd ? std::optional(CheckNoise{.sd = *sd, .df = df}) : std::nullopt;
  };
  GateNoise noise;
  noise.loss = known(calibration.loss_pair_sd, pair_df);
  if (draws_loss_anew && calibration.loss_sd) noise.loss = known(std::sqrt(2.0) * *calibration.loss_sd, seed_df);
  noise.time = known(calibration.time_pair_sd, calibration.time_pair_df.value_or(pair_df));
  if (!is_interleaved) {
    noise.time = known(calibration.time_sd, seed_df);
    if (noise.time) noise.time->is_paired = false;
  }
  noise.memory = known(calibration.memory_pair_sd, pair_df);
  return noise;
}

std::optional<GatePolicy> derived_policy(const Calibration& calibration, const PlannedGate& gate,
                                         const GatePolicy& usual) {
  if (calibration.pairs < kMinPairs || calibration.seeds < kMinPairs || gate.n < 2) return std::nullopt;
  const GateNoise noise = noise_of_gate(calibration, gate.is_interleaved, gate.draws_loss_anew);
  GatePolicy policy = usual;
  for (const GateMetric metric : {GateMetric::kLoss, GateMetric::kTime, GateMetric::kMemory}) {
    const std::optional<CheckNoise>& known = noise.of(metric);
    if (!known || known->sd <= 0.0) continue;
    const double margin =
        margin_with_power(metric, *known, {.n = gate.n, .cells = gate.cells}, policy.alpha, gate.power);
    policy.of(metric).margin = std::max(policy.of(metric).margin, from_scale(margin, metric != GateMetric::kLoss));
  }
  return policy;
}

}  // namespace nanobench::reports
