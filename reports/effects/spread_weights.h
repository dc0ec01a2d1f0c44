/// How much the spread of a whole plan says about one of its contrasts, by what the store shows. As thread-safe as the
/// Store.
#pragma once

#include "reports/effects/plan_effects.h"
#include "results/store.h"

namespace nanobench::reports {

/// The weights for `plan`: the usual ones, lowered to the degrees of freedom that the variances of contrasts show
/// (prior_df_of), but not below 1. Looks at the plan and at the newest earlier ones of its scale, device and number
/// type with kMinSeedsForSpread seeds or more. Their losses lower the weight of losses, their times that of times.
SpreadWeights spread_weights(const results::Store& store, const results::PlanRecord& plan);

inline constexpr int kMinSeedsForSpread = 3;

/// The spread of losses in the newest earlier plans of the same suite, scale and conditions, after cell and seed. Runs
/// that `plan` has too do not count. nullopt if there are none.
std::optional<EarlierSpread> earlier_loss_spread(const results::Store& store, const results::PlanRecord& plan);

}  // namespace nanobench::reports
