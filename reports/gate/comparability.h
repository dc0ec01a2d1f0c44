/// Which metrics of two arms may be compared at all. Pure, thread-safe.
#pragma once

#include <string>

#include "reports/gate/arm.h"
#include "reports/gate/gate_policy.h"

namespace nanobench::reports {

/// How the arms were measured.
struct GateSetting {
  bool is_interleaved = false;        ///< they ran in turn on one machine, seed by seed; otherwise times need one host
  bool allows_other_configs = false;  ///< the configurations are what is compared
};

/// Losses and costs need the same scale, data and configuration; memory also needs the same machine, and times the same
/// host.
class Comparability {
 public:
  Comparability(const Arm& baseline, const Arm& candidate, const GateSetting& setting);

  /// Why this metric of the cell cannot be compared; empty if it can. `baseline` is null if the baseline lacks the
  /// cell.
  std::string mismatch_of(GateMetric metric, const ArmCell* baseline, const ArmCell& candidate) const;

 private:
  bool allows_other_configs_;
  std::string all_mismatch_;      ///< nothing can be compared
  std::string machine_mismatch_;  ///< time and memory cannot
  std::string host_mismatch_;     ///< time cannot
};

}  // namespace nanobench::reports
