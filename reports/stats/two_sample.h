/// The mean of one arm against another. Effects are first - second, in the unit of the values. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>

#include "reports/stats/estimate.h"
#include "reports/stats/moments.h"

namespace nanobench::reports {

/// mean(first) - mean(second) with Welch's error and Satterthwaite's degrees of freedom; never pooled. Intervals and
/// p-values: interval_of, p_of. Assumes independent runs near normal within each arm; the spreads may differ.
/// Needs n >= 2 in both arms; one arm without spread is borne, two are not.
/// nullopt otherwise, and for values that are not finite. Source: Welch 1947, Satterthwaite 1946.
std::optional<Estimate> welch(std::span<const double> first, std::span<const double> second);
std::optional<Estimate> welch(const Moments& first, const Moments& second);

/// Mean of first - second over pairs (same seed, or neighbours in an interleaved order); df = pairs - 1. Assumes
/// differences that are independent and near normal. Needs 2 pairs whose differences have a spread; nullopt otherwise.
/// Throws Error{kInvalidArgument} when the lengths differ.
std::optional<Estimate> paired_t(std::span<const double> first, std::span<const double> second);

}  // namespace nanobench::reports
