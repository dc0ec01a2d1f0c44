/// What each contrast of a plan found, with its error, its p-value among all that were asked, and a verdict. Pure.
///
/// An effect is of having the change: after - before, of the final loss in nats per token and of the logarithm of the
/// step time. It is computed seed by seed, because cells share their random numbers with the seed; where no two seeds
/// are complete, from the cells' own spreads. Of a factorial that ran once, the error is Lenth's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/effects/effect_seconds.h"
#include "reports/effects/measured_effect.h"
#include "reports/effects/second_opinion.h"
#include "reports/stats/sequential.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

struct EffectResult {
  results::PlanContrast contrast;
  MeasuredEffect loss;
  MeasuredEffect log_time;
  EffectSeconds seconds;
  SecondOpinion second;                   ///< on the loss; decides nothing
  std::optional<double> p;                ///< of no seconds
  std::optional<double> adjusted_p;       ///< by Holm over the plan's effects; with looks: its own
  std::optional<FeatureVerdict> verdict;  ///< of single changes: main and simple effects
  std::string reason;                     ///< why no verdict could be tried; empty when one was
  std::vector<std::string> missing;       ///< cells without a completed run
  core::StepParts other_code;  ///< parts_without_kernel(): times of different code, which more seeds do not mend
  std::optional<int> decided_at_look;  ///< of a plan of looks: whose verdict it is; absent while there is none
};

struct EffectRules {
  double alpha = 0.05;
  double loss_margin = 0.001;  ///< nats per token
  double time_margin = 0.002;  ///< of the step time, and of the training clock for the verdict
  int least_n = 3;             ///< seeds, for a verdict
  /// What a p-value must be below, in place of Holm's adjustment at alpha; of a plan that is one of several looks.
  std::optional<double> nominal_p;
};

/// The rules for a plan: those given, and the boundary of its look where it has one.
EffectRules rules_of(const results::PlanRecord& plan, EffectRules rules = {});

/// The same at the last of the plan's looks, when most seeds are there.
EffectRules final_rules_of(const results::PlanRecord& plan, EffectRules rules = {});

/// The looks that a plan's number stands for.
std::vector<Look> looks_of(const results::SequentialLook& look);

/// Changes that get a verdict: main and simple effects.
int single_changes(const std::vector<results::PlanContrast>& contrasts);

/// One run of each cell is enough to judge by: main effects and interactions alone, and so many that the small ones
/// tell the error (factorial_effects.h).
bool is_judged_by_lenth(const std::vector<results::PlanContrast>& contrasts);

/// In the order of the plan's contrasts, by rules_of(plan, given). In a plan of looks a verdict is the first one that
/// the looks up to this one gave, each from the seeds that it had by its own boundary: what crossed a boundary stays
/// decided, as that is what the boundaries' alpha is spent on. Values, intervals and p-values are those of all seeds.
std::vector<EffectResult> analyse_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& given = {});

}  // namespace nanobench::reports
