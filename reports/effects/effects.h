/// The effect of each contrast of a plan, with its error, its p-value adjusted over the plan, and a verdict. Pure.
///
/// An effect is after - before, of the final loss in nats per token and of the logarithm of the training clock. It is
/// computed seed by seed, because the cells of a seed share their random numbers. All cells of the plan inform its
/// error (reports/stats/plan_model.h); if no seed is complete, the error comes from the cells' own spreads. A factorial
/// that ran once uses Lenth's error. Loss, time, memory, and time at equal loss each have their own verdict and family:
/// Holm adjusts the p-values of differences and of equivalence over all effects of the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/effects/plan_effects.h"
#include "reports/effects/second_opinion.h"
#include "reports/stats/sequential.h"
#include "reports/stats/verdict.h"
#include "results/records.h"

namespace nanobench::reports {

/// Why a single change has no verdict.
enum class NoVerdict {
  kNone,            ///< it has one, or it is no single change
  kMissingCell,     ///< not every cell has a completed run
  kOtherPlaces,     ///< no seed has all its cells on one machine and seat
  kNoTimes,         ///< not every cell has runs with a step time
  kOtherCode,       ///< EffectResult::other_code
  kFewValidations,  ///< too few to convert loss into time
  kUncertainSlope,  ///< the end of the loss curve is too flat or too noisy for that
  kOneSeed,         ///< it gives no error
  kNoError,         ///< the runs give none
  kFewSeeds,        ///< fewer than EffectResult::min_n
};

struct EffectResult {
  results::PlanContrast contrast;
  MeasuredEffect loss;
  MeasuredEffect log_time;
  MeasuredEffect at_long_positions;  ///< the loss there (range_effects.h), a family of its own; missing: unmeasured
  MeasuredEffect log_memory;         ///< without a value if no run reports what its training takes
  EffectSeconds seconds;
  SecondOpinion second;                   ///< about the loss; decides nothing
  std::optional<double> p;                ///< p-value of no change in seconds
  std::optional<double> adjusted_p;       ///< by Holm over the plan's effects; with looks: its own
  std::optional<double> equivalence_p;    ///< of seconds beyond the margins; by Holm, as above
  bool is_indicated = false;              ///< adjusted_p is below alpha, but the seeds are too few for a verdict
  std::optional<FeatureVerdict> verdict;  ///< for single changes: main and simple effects
  NoVerdict no_verdict = NoVerdict::kNone;
  int min_n = 0;                       ///< seeds that a verdict needs
  std::vector<std::string> missing;    ///< cells without a completed run
  core::StepParts other_code;          ///< parts_without_kernel(): times of different code, which more seeds do not fix
  std::optional<int> decided_at_look;  ///< in a plan of looks: the look that decided; absent while undecided
};

struct EffectRules {
  SpreadWeights weights;
  /// The spread of losses in earlier plans. It informs the number of seeds that is needed, and no verdict unless asked.
  std::optional<EarlierSpread> earlier_loss;
  bool judges_by_earlier = false;  ///< it counts as residuals of this plan
  double alpha = 0.05;
  double loss_margin = 0.001;   ///< nats per token
  double time_margin = 0.002;   ///< fraction of the step time, and of the training clock for the verdict
  double memory_margin = 0.02;  ///< fraction of the memory that the training takes
  int min_n = 3;                ///< seeds required for a verdict
  /// The limit of unadjusted p-values in a plan of looks, instead of Holm's adjustment at alpha.
  std::optional<double> nominal_p;
};

/// The rules for a plan: the given ones, with the boundary of its look if it has one.
EffectRules rules_of(const results::PlanRecord& plan, EffectRules rules = {});

/// The same at the last of the plan's looks, which has the most seeds.
EffectRules final_rules_of(const results::PlanRecord& plan, EffectRules rules = {});

/// The planned looks that `look` describes.
std::vector<Look> looks_of(const results::SequentialLook& look);

/// Changes that get a verdict: main and simple effects.
int single_changes(const std::vector<results::PlanContrast>& contrasts);

/// Whether one run of each cell is enough to judge by: there are only main effects and interactions, and enough of them
/// that the small ones give the error (factorial_effects.h).
bool is_judged_by_lenth(const std::vector<results::PlanContrast>& contrasts);

/// Results are in the order of the plan's contrasts, judged by rules_of(plan, given). In a plan of looks, the first
/// verdict stands: each look judges the seeds that it had by its own boundary. What crossed a boundary stays decided,
/// because the boundaries spend their alpha on that. Values, intervals and p-values are those of all seeds.
std::vector<EffectResult> analyse_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& given = {});

inline constexpr double kVerdictPower = 0.8;  ///< chance of a verdict with the reported number of seeds
inline constexpr int kMaxSeedsNamed = 500;    ///< larger numbers are not reported
inline constexpr int kMinSeedsAdvised = 3;    ///< used if no number is known yet

struct SeedsForVerdict {
  enum class Status {
    kKnown,        ///< `seeds` is set
    kTooMany,      ///< more than kMaxSeedsNamed
    kOneSeed,      ///< one seed has no spread
    kWithinNoise,  ///< the effect may be nothing: no number can be promised
    kUnknown,      ///< no run, no error, or a loss that cannot be converted to seconds
  };
  Status status = Status::kUnknown;
  int have = 0;              ///< complete seeds
  std::optional<int> seeds;  ///< total per cell if the effect is as measured; above `have`
  /// The same at the ends of the effect's own interval (1 - alpha, of this effect alone). No `max_seeds`: more than
  /// kMaxSeedsNamed.
  std::optional<int> min_seeds, max_seeds;

  int more() const { return seeds ? *seeds - have : 0; }
};

/// "4 to 30", "4 or more", "4": the range over the effect's interval. REQUIRES `seeds` or `min_seeds`.
std::string seeds_range(const SeedsForVerdict& needed);

NB_ENUM_NAMES(SeedsForVerdict::Status, {SeedsForVerdict::Status::kKnown, "told"},
              {SeedsForVerdict::Status::kTooMany, "too_many"}, {SeedsForVerdict::Status::kOneSeed, "one_seed"},
              {SeedsForVerdict::Status::kWithinNoise, "within_noise"}, {SeedsForVerdict::Status::kUnknown, "unknown"});

/// In the order of `effects`, by the rules that will judge the coming seeds (final_rules_of). nullopt for effects with
/// a verdict and for those that never get one. If several are undecided, each is computed as if none of the others will
/// ever be decided, which is the strictest case of Holm.
std::vector<std::optional<SeedsForVerdict>> seeds_needed(const std::vector<EffectResult>& effects,
                                                         const EffectRules& rules);

/// Whether `most` seeds will hardly bring a verdict on an effect that has none: given the seeds so far, the chance is
/// below kFutile if the effect is as measured, and one standard error to either side. Stopping for it costs power, and
/// raises no false alarm.
///   rules   those of the last look
bool is_futile(const EffectResult& effect, const EffectRules& rules, int most);
inline constexpr double kFutile = 0.1;

/// Whether more seeds can still bring an answer about a change without a verdict.
enum class Prospect {
  kOpen,     ///< they can
  kFutile,   ///< `most` seeds will hardly bring one: is_futile()
  kByParts,  ///< there is no time at equal loss, but the loss has its verdict, and so has the time where it is known
  kUndecidable,  ///< they cannot: the times come from different code
};

/// REQUIRES that the effect is undecided. Where nothing can be converted to a time at equal loss, the loss and the time
/// are what can be decided.
///   rules, most   as for is_futile()
Prospect prospect_of(const EffectResult& effect, const EffectRules& rules, int most);

/// Seeds at each look, the plan's own last. A look is an earlier plan of the same suite, scale, data and cells whose
/// runs are part of this plan's, and which had p-values: two complete seeds, or one of a factorial with enough effects.
/// A repeated look at the same seeds does not count, nor does a look at repeated runs. Empty for a plan that is not
/// judged by plain p-values: one without contrasts, or with planned looks (PlanRecord::sequential).
///   plans   those of the store, in any order; plans of other suites are ignored
std::vector<int> looks_taken(const results::PlanRecord& plan, const std::vector<results::PlanRecord>& plans);

}  // namespace nanobench::reports
