/// What a screening (design `screening`) shows: which features are suspected of changing the loss or the time. Verdicts
/// take a plan of their own. Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/screening.h"

namespace nanobench::reports {

struct ScreenedEffect {
  std::string feature;
  std::string value;                ///< the other value, which the effect is of
  std::vector<std::string> always;  ///< features that have their other values in exactly the same cells
  int cells = 0;                    ///< measured cells with the other value
  ScreenedFactor loss;              ///< nats
  ScreenedFactor time;              ///< logarithm of the training clock

  bool is_suspect() const { return loss.is_suspect || time.is_suspect; }
  /// The larger |t| of those that make it a suspect.
  double t() const;
};

struct Screening {
  std::vector<ScreenedEffect> effects;  ///< suspects first, by |t|, then the others, by the larger |t|
  int cells = 0;                        ///< with a loss, the base included
  int diverged = 0;                     ///< of them, those that count with the worst loss of the others

  std::size_t suspects() const;
};

/// `cells` are those of a plan of this design, the base first. A cell counts by the mean of its runs. Cells whose runs
/// all diverged count with the worst loss of the others; cells without a run are left out, and so are the times of
/// cells without them.
Screening screened_effects(const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
