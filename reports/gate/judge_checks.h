/// The tests of a gate, over all its checks at once. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/gate/cell_checks.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// A check whose verdict is still open.
struct OpenCheck {
  std::size_t check = 0;           ///< index into the checks
  Estimate estimate;               ///< as in CellCheck::open
  std::vector<double> pairs = {};  ///< as in CellCheck::pairs
};

/// Differences of one metric scatter alike in all cells of a gate, so that few seeds suffice: each estimate of pairs
/// gets the spread of its metric over all cells, beside its own (moderated_means()). Peak memory keeps its own: it
/// jumps.
void share_spreads(std::vector<GateCheck>& checks, std::vector<OpenCheck>& open);

/// Sets p-values, spread, verdict, bound, pass_power and reason of each open check. There are three families: the tests
/// of equality, of a difference and of harm. Holm adjusts each over the gating checks; a check that does not gate is
/// adjusted over all open checks, and has no influence on the others. Returns the number of gating open checks.
int judge_checks(std::vector<GateCheck>& checks, const std::vector<OpenCheck>& open, double alpha);

}  // namespace nanobench::reports
