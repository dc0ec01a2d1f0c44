/// A share of cases with its interval. Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// The exact interval of Clopper and Pearson (1934) for the probability behind `hits` of `trials` independent cases: it
/// holds at least at `level`, for any probability. 10 of 10 still leave room down to 0.69.
/// nullopt for no trials. Throws Error{kInvalidArgument} unless 0 <= hits <= trials, or for a level outside (0, 1).
std::optional<ConfidenceInterval> clopper_pearson(int hits, int trials, double level = 0.95);

}  // namespace nanobench::reports
