/// Effects in a designed experiment: contrasts over cells, with their error from replicates, or by Lenth's method when
/// every cell ran once. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// One number per cell: above 0 where the effect's factor is on, below 0 where it is off, 0 for cells that do not
/// count. They sum to 0. The effect is the mean where it is on less the mean where it is off, each cell weighted by its
/// coefficient: coefficients are divided by the sum of those above 0.
using Contrast = std::vector<double>;

/// The source of the error. Pooling is never the default, because it hides unequal spreads.
enum class CellError {
  kWithinCells,  ///< sum c^2 s^2 / n over the contrast's cells, Satterthwaite's df
  kPooled,       ///< one variance from all cells with two runs or more, df = sum(n - 1); assumes equal spreads
};

struct ContrastEffect {
  double value = 0.0;
  std::optional<Estimate> estimate;  ///< with its error; absent where the replicates give none
};

/// The effect over independent cells; `cells` holds each cell's runs.
/// nullopt when a cell that counts is empty or has a value that is not finite. No estimate with kWithinCells when a
/// cell that counts has one run, with kPooled when all have, and when there is no spread. Throws
/// Error{kInvalidArgument} when contrast and cells differ in length, or the contrast is empty, not finite, or does not
/// sum to 0.
std::optional<ContrastEffect> contrast_effect(std::span<const std::vector<double>> cells, const Contrast& contrast,
                                              CellError error);

/// The effect where cells share their seeds: the contrast seed by seed, then its mean; df = seeds - 1. What the cells
/// of one seed have in common cancels. `seeds` holds one complete row of cells per seed.
/// nullopt for no row or a value that is not finite; no estimate for one seed or no spread. Throws as above.
std::optional<ContrastEffect> contrast_by_seed(std::span<const std::vector<double>> seeds, const Contrast& contrast);

struct Lenth {
  double pse = 0.0;                  ///< pseudo standard error of one effect
  double df = 0.0;                   ///< effects / 3
  double margin = 0.0;               ///< |effect| above it: active, by itself (ME)
  double simultaneous_margin = 0.0;  ///< above it: active among all (SME)
  std::vector<bool> is_active;       ///< beyond the simultaneous margin
};

/// For the effects of an unreplicated two-level design (all of them, the mean excepted). Assumes that most effects are
/// nothing, and that all have the same error. Source: Lenth 1989.
/// Needs 3 effects, and 7 to be of use. nullopt for fewer, a value that is not finite, or a pseudo error of 0.
std::optional<Lenth> lenth(std::span<const double> effects, double level = 0.95);

}  // namespace nanobench::reports
