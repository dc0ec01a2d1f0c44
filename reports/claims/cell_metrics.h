/// The number of a claim about training runs (internal to reports/claims). As thread-safe as the evidence.
#pragma once

#include <string>

#include "ablations/claim_cells.h"
#include "reports/claims/claim_evidence.h"

namespace nanobench::reports {

class CellMetrics {
 public:
  /// Keeps references. The plan has all cells of the claim.
  CellMetrics(const ClaimEvidence& evidence, const ablations::Claim& claim, const ablations::ClaimCells& cells,
              const ClaimPlan& plan);

  /// Without a value `reason` says why, where there is more to say than that no run tells it.
  MeasuredNumber number(std::string& reason) const;

  /// Why a number that is a time is of the code, not of the claim; empty: it is not.
  std::string doubt() const;

 private:
  MeasuredNumber different_losses(std::string& reason) const;
  MeasuredNumber time_to_target(std::string& reason) const;
  MeasuredNumber share_of_peak() const;
  MeasuredNumber parameter_difference() const;

  const ClaimEvidence& evidence_;
  const ablations::Claim& claim_;
  const CellMeasures* before_ = nullptr;
  const CellMeasures* after_ = nullptr;
  const CellMeasures* operation_ = nullptr;
};

}  // namespace nanobench::reports
