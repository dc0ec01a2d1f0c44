/// A share of cases with its interval. Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// The exact interval of Clopper and Pearson (1934) for the probability behind `hits` of `trials` independent cases: it
/// holds at least at `level`, for any probability. 10 of 10 still leave room down to 0.69.
/// nullopt for no trials. Throws Error{kInvalidArgument} unless 0 <= hits <= trials, or for a level outside (0, 1).
std::optional<ConfidenceInterval> clopper_pearson(int hits, int trials, double level = 0.95);

/// The score interval of Wilson (1927) for the probability behind `hits` of `trials` independent cases, near its level
/// on average and never outside [0, 1]. `hits` need not be whole: the mean of several models on the same cases. nullopt
/// for no trials. Throws as clopper_pearson.
std::optional<ConfidenceInterval> wilson(double hits, int trials, double level = 0.95);

/// McNemar's test of two answers to the same cases, exact: the two-sided p of a fair coin for the cases that only one
/// of them has right. nullopt if there are none. Throws Error{kInvalidArgument} for a count below 0.
std::optional<double> mcnemar(int only_first, int only_second);

}  // namespace nanobench::reports
