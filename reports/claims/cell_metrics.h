/// The number that a claim's rule judges, from the runs of the claim's cells. As thread-safe as the evidence.
#pragma once

#include <optional>

#include "ablations/claim_cells.h"
#include "reports/claims/claim_evidence.h"
#include "reports/claims/ledger_reason.h"

namespace nanobench::reports {

/// Whether the claim's number is one that only a GPU has.
bool is_of_gpu(const ablations::Claim& claim);

class CellMetrics {
 public:
  /// Keeps references. The plan has all cells of the claim.
  CellMetrics(const ClaimEvidence& evidence, const ablations::Claim& claim, const ablations::ClaimCells& cells,
              const ClaimPlan& plan);

  /// `reason` says why there is no value, or no interval, unless no run reports the metric or the seeds are too few.
  MeasuredNumber number(std::optional<LedgerReason>& reason) const;

  /// The parts of a step for which only some of the cells had kernels, so that a time measures the code rather than the
  /// claim; empty if it does not.
  core::StepParts other_code() const;

 private:
  MeasuredNumber different_losses(std::optional<LedgerReason>& reason) const;
  MeasuredNumber time_to_target(std::optional<LedgerReason>& reason) const;
  MeasuredNumber share_of_peak() const;
  MeasuredNumber share_of_saved_time(std::optional<LedgerReason>& reason) const;
  MeasuredNumber parameter_difference() const;
  MeasuredNumber stable_rate(std::optional<LedgerReason>& reason) const;

  const ClaimEvidence& evidence_;
  const ablations::Claim& claim_;
  const ablations::ClaimCells& cells_;
  const ClaimPlan& plan_;
  const CellMeasures* before_ = nullptr;
  const CellMeasures* after_ = nullptr;
  const CellMeasures* whole_ = nullptr;
  const CellMeasures* operation_ = nullptr;
  const bool compares_kernels_;
};

}  // namespace nanobench::reports
