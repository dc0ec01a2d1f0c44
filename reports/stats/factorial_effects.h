/// Effects in a designed experiment: contrasts over cells, with their error from replicates, or by Lenth's method when
/// every cell ran once. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// One number per cell: above 0 where the effect's factor is on, below 0 where it is off, 0 for unused cells. They sum
/// to 0. The effect is the mean where it is on minus the mean where it is off, each cell weighted by its coefficient;
/// coefficients are divided by the sum of those above 0.
using Contrast = std::vector<double>;

/// The source of the error. Pooling is never the default, because it hides unequal spreads.
enum class CellError {
  kWithinCells,  ///< sum c^2 s^2 / n over the contrast's cells, Satterthwaite's df
  kPooled,       ///< one variance from all cells with two runs or more, df = sum(n - 1); assumes equal spreads
};

struct ContrastEffect {
  double value = 0.0;
  std::optional<Estimate> estimate;  ///< with its error; absent if the replicates give none
};

/// The effect over independent cells; `cells` holds each cell's runs.
/// nullopt if a used cell is empty or has a value that is not finite. There is no estimate with kWithinCells if a used
/// cell has one run, with kPooled if all have one run, and with either if there is no spread. Throws
/// Error{kInvalidArgument} if contrast and cells differ in length, or the contrast is empty, not finite, or does not
/// sum to 0.
std::optional<ContrastEffect> contrast_effect(std::span<const std::vector<double>> cells, const Contrast& contrast,
                                              CellError error);

struct Lenth {
  double pse = 0.0;                  ///< pseudo standard error of one effect
  double df = 0.0;                   ///< effects / 3
  double margin = 0.0;               ///< an |effect| above it is active on its own (ME)
  double simultaneous_margin = 0.0;  ///< an |effect| above it is active among all (SME)
  std::vector<bool> is_active;       ///< beyond the simultaneous margin
};

/// For the effects of an unreplicated two-level design (all of them except the mean). Assumes that most effects are
/// zero, and that all have the same error. Source: Lenth 1989.
/// Needs 3 effects, and 7 to be useful. nullopt for fewer, a value that is not finite, or a pseudo error of 0.
std::optional<Lenth> lenth(std::span<const double> effects, double level = 0.95);

}  // namespace nanobench::reports
