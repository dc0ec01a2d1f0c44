/// The shift of a series from one group of values to the next. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/interval.h"
#include "reports/trend/series.h"

namespace nanobench::reports {

/// After relative to before: nats per token for the loss, else a fraction (0.02: 2 % more).
struct Shift {
  double value = 0.0;
  std::optional<ConfidenceInterval> interval;  ///< absent: too few values, or none of them differ
  std::optional<double> p;                     ///< p-value of "no difference"; absent if the interval is
  bool is_exact = false;                       ///< neither side has a spread: the difference is not due to chance

  /// Whether it is a rise or fall that chance does not explain.
  bool is_clear() const;
};

/// For times and bytes: the ratio, with Welch's interval of the logarithms. nullopt without a value on both sides, or
/// if a value is not above 0.
std::optional<Shift> ratio_shift(std::span<const double> before, std::span<const double> after);

/// For losses: each seed counts once on each side, with its mean. Two or more common seeds are paired; otherwise
/// Welch's interval is used. nullopt without a value on both sides.
std::optional<Shift> loss_shift(std::span<const SeriesValue> before, std::span<const SeriesValue> after,
                                double level = 0.95);

}  // namespace nanobench::reports
