/// Which of many factors matter, from few runs in which several differ from the base at once: forward selection in a
/// model of main effects. It finds suspects; a verdict takes runs of its own, since the data that chose a suspect
/// flatter it. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// A factor is suspected, and enters the model, from this |t| on.
inline constexpr double kSuspectT = 2.5;

struct ScreenedFactor {
  std::optional<Estimate> effect;  ///< of the factor, given all suspects; absent if these runs cannot separate it
  bool is_suspect = false;

  /// |effect| in standard errors; 0 without an effect.
  double t() const;
};

/// Adds the factor with the largest |t| to the model, as long as that is kSuspectT or more and a third of the runs has
/// not been spent on factors.
///   factors    factors[j][i]: whether factor j differs from the base in run i
///   responses  of the runs, finite
/// The first of factors that never differ alone stands for all. Returns nullopt for fewer than four runs, or
/// responses without a spread. O(suspects * factors * runs).
///
/// Simulated (tests/reports/stats/screening_test.cpp): 40 factors, 8 of which change the response by one to three
/// standard deviations of a run, six pairs of these with an interaction. 61 runs, then fresh runs of each suspect alone
/// with Holm's correction, 123 runs in all: finds 5 to 6 of the 8. One change at a time with three seeds, 123 runs too,
/// finds 2. Neither reports more false ones than its 5 % allow.
std::optional<std::vector<ScreenedFactor>> screen_factors(const std::vector<std::vector<bool>>& factors,
                                                          std::span<const double> responses);

}  // namespace nanobench::reports
