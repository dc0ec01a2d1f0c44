/// What the runs of one cell say, metric by metric, before Holm's adjustment over all cells. Pure, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "reports/gate/comparability.h"
#include "reports/gate/gate_check.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// A check and, where its verdict is still to come, what it is to be judged by: the difference of losses, or of the
/// logarithms where the check is of a ratio.
struct CellCheck {
  GateCheck check;
  std::optional<Estimate> open;  ///< absent: the verdict stands
  bool is_mismatch = false;      ///< the sides cannot be compared
};

struct CellComparison {
  const ArmCell* baseline = nullptr;  ///< null: it has no such cell
  const ArmCell& candidate;
  const Comparability& comparability;
  const GatePolicy& policy;
  bool is_interleaved = false;  ///< times are compared pair by pair only if so
};

/// Loss, time and memory, then the counts by name, then instructions where any side was counted.
std::vector<CellCheck> cell_checks(const CellComparison& comparison);

}  // namespace nanobench::reports
