#include "reports/kinds/bench_data.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

using core::Json;

BenchSettings settings_of(const std::vector<CellMeasures>& cells) {
  BenchSettings settings;
  for (const CellMeasures& cell : cells) {
    if (cell.runs.empty()) continue;
    const Json config = core::json_or_null(cell.runs.front().run.config);
    if (!config.is_object()) continue;
    if (config.contains("margin") && config.at("margin").is_number())
      settings.margin = config.at("margin").get<double>();
    if (config.contains("turn_ms") && config.at("turn_ms").is_number())
      settings.turn_ms = config.at("turn_ms").get<double>();
    const Json metrics = config.value("metrics", Json::array());
    for (const Json& metric : metrics)
      settings.metrics.emplace_back(core::string_in(metric, "name"), core::string_in(metric, "unit"));
    return settings;
  }
  return settings;
}

/// The cell that every contrast subtracts; without a contrast, the only one.
std::string reference_label(const results::PlanRecord& plan) {
  for (const results::PlanContrast& contrast : plan.contrasts) {
    for (const auto& [label, coefficient] : contrast.coefficients) {
      if (coefficient < 0.0) return label;
    }
  }
  return plan.cells.empty() ? "" : plan.cells.front().label;
}

/// What would decide an open effect with kVerdictPower.
struct RoundsNeeded {
  std::optional<int> rounds;   ///< absent: more than kMaxRoundsNamed
  bool is_if_nothing = false;  ///< to prove that there is no difference, if there is none; else as it was measured
};

RoundsNeeded rounds_to_decide(const MeasuredEffect& effect, const EffectRules& rules, std::size_t effects) {
  if (!effect.estimate || !effect.forecast) return {};
  const Margins margins = Margins::symmetric(std::log1p(rules.time_margin));
  const double alpha = rules.alpha / static_cast<double>(effects);
  const auto error = [&](int n) { return effect.forecast->at(n); };
  // A number for an effect as measured would be small by luck alone where it may as well be nothing.
  const ConfidenceInterval range = interval_of(*effect.estimate, 1.0 - rules.alpha);
  RoundsNeeded needed{.rounds = {}, .is_if_nothing = range.contains(0.0)};
  needed.rounds =
      needed.is_if_nothing
          ? required_runs_for_equivalence(0.0, error, margins, kVerdictPower, alpha, kMaxRoundsNamed)
          : required_runs_for_verdict(effect.estimate->value, error,
                                      {.margins = margins, .alpha_difference = alpha, .alpha_equivalence = alpha},
                                      kVerdictPower, kMaxRoundsNamed);
  if (needed.rounds) needed.rounds = std::max({*needed.rounds, rules.min_n, effect.n + 1});
  return needed;
}

/// All runs of a command that failed in the same way.
void add_failures(const CellMeasures& cell, std::vector<BenchWarning>& warnings) {
  std::vector<BenchWarning> failures;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.result || run.run.is_completed()) continue;
    const std::string& reason = run.run.result->message;
    auto same = std::find_if(failures.begin(), failures.end(),
                             [&](const BenchWarning& known) { return known.reason == reason; });
    if (same == failures.end())
      same = failures.insert(failures.end(),
                             {.kind = BenchWarning::Kind::kFailed, .commands = {cell.cell.label}, .reason = reason});
    ++same->count;
  }
  warnings.insert(warnings.end(), failures.begin(), failures.end());
}

/// Outliers, and first runs that are some: caches were cold.
void add_outlier_warnings(const BenchData& data, std::vector<BenchWarning>& warnings) {
  BenchWarning cold{.kind = BenchWarning::Kind::kColdStart}, others{.kind = BenchWarning::Kind::kOutliers};
  for (const Comparison& row : data.table.rows) {
    if (!row.outliers.step_ms) continue;
    const std::vector<OutlyingRun>& runs = *row.outliers.step_ms;
    const bool is_cold =
        std::any_of(runs.begin(), runs.end(), [](const OutlyingRun& run) { return run.seed == 1 && run.score > 0.0; });
    const auto rest = static_cast<std::int64_t>(runs.size()) - (is_cold ? 1 : 0);
    if (is_cold) cold.commands.push_back(row.label);
    if (rest == 0) continue;
    others.commands.push_back(row.label);
    others.counts.push_back(rest);
  }
  for (const BenchWarning& warning : {cold, others}) {
    if (!warning.commands.empty()) warnings.push_back(warning);
  }
}

/// Turns that no command needed, and numbers that they distort.
void add_turn_warnings(const results::Store& store, const BenchData& data, std::vector<BenchWarning>& warnings) {
  if (!data.settings.turn_ms) return;
  double most = 0.0;
  for (const CellMeasures& cell : data.cells) {
    for (const auto& [round, turns] : samples_of(store, cell, results::kTurns)) most = std::max(most, turns);
  }
  if (most == 1.0) warnings.push_back({.kind = BenchWarning::Kind::kIdleTurns, .turn_ms = *data.settings.turn_ms});
  if (most > 1.0 && !data.settings.metrics.empty()) warnings.push_back({.kind = BenchWarning::Kind::kClocksInTurns});
}

}  // namespace

/// One number of each completed run, by round.
BySeed samples_of(const results::Store& store, const CellMeasures& cell, const std::string& metric) {
  BySeed values;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed()) continue;
    const std::vector<results::Sample> samples = store.samples(run.run.id, metric);
    if (!samples.empty()) values[run.run.seed] = samples.back().value;
  }
  return values;
}

std::vector<EffectResult> judged_commands(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& rules) {
  std::vector<EffectResult> effects = analyse_effects(plan, cells, rules);
  for (EffectResult& effect : effects) {
    for (MeasuredEffect* measured : {&effect.loss, &effect.log_time}) {
      if (measured->n >= rules.min_n) continue;
      measured->interval.reset();
      measured->p = measured->adjusted_p = measured->equivalence_p = std::nullopt;
    }
  }
  return effects;
}

BenchData bench_data(const results::Store& store, const results::PlanRecord& plan) {
  BenchData data{.plan = plan, .cells = read_cells(store, plan, {}), .reference = reference_label(plan)};
  data.table = compare(plan, data.cells, {});
  data.settings = settings_of(data.cells);
  data.rules.time_margin = data.settings.margin;
  data.effects = judged_commands(plan, data.cells, data.rules);
  return data;
}

BenchRemedy remedy_of(const BenchData& data, const EffectResult& effect) {
  using Kind = BenchRemedy::Kind;
  const MeasuredEffect& time = effect.log_time;
  if (!effect.missing.empty()) return {.kind = Kind::kMissing, .commands = effect.missing};
  if (time.verdict == Verdict::kMissing) return {.kind = Kind::kSharedRound};
  if (time.verdict != Verdict::kInconclusive) return {};
  if (time.n < data.rules.min_n) return {.kind = Kind::kFirstRounds, .rounds = data.rules.min_n, .have = time.n};
  const RoundsNeeded needed = rounds_to_decide(time, data.rules, data.effects.size());
  if (!needed.rounds) return {.kind = Kind::kQuietMachine, .rounds = kMaxRoundsNamed};
  return {.kind = needed.is_if_nothing ? Kind::kEqualRounds : Kind::kRounds, .rounds = *needed.rounds};
}

std::vector<BenchWarning> bench_warnings(const results::Store& store, const BenchData& data) {
  std::vector<BenchWarning> warnings;
  for (const CellMeasures& cell : data.cells) add_failures(cell, warnings);
  BenchWarning brief{.kind = BenchWarning::Kind::kBrief}, unfinished{.kind = BenchWarning::Kind::kUnfinished};
  for (const Comparison& row : data.table.rows) {
    unfinished.count += row.unfinished;
    if (row.clock_ms.mean && *row.clock_ms.mean < kStartUpMs) brief.commands.push_back(row.label);
  }
  if (!brief.commands.empty()) warnings.push_back(brief);
  if (unfinished.count > 0) warnings.push_back(unfinished);
  add_outlier_warnings(data, warnings);
  if (!data.table.has_one_yardstick) warnings.push_back({.kind = BenchWarning::Kind::kOtherMachines});
  add_turn_warnings(store, data, warnings);
  return warnings;
}

}  // namespace nanobench::reports
