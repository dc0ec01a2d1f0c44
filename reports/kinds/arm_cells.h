/// Cells that the reports of arms of logs share. Pure.
#pragma once

#include "reports/audit/arms.h"
#include "reports/document/document.h"

namespace nanobench::reports {

inline constexpr double kMsPerSecond = 1000.0;

/// "improved", "regressed", "not enough evidence", "-"
std::string arm_verdict(Verdict verdict);
/// The verdict, with the reason for none beside it; its value is the stable name.
TableCell arm_verdict_cell(const ArmEffect& effect);
/// The difference in units of `unit`, with a sign.
TableCell arm_difference_cell(const ArmEffect& effect, double unit, int digits);
/// One end of the interval, in the same way.
TableCell arm_bound_cell(const ArmEffect& effect, double ConfidenceInterval::*end, double unit, int digits);
/// The answer about each arm; none for very many.
std::vector<Card> arm_cards(const ArmComparison& comparison);
/// A p-value; small ones as "1.2e-6".
TableCell arm_p_cell(const std::optional<double>& p);

}  // namespace nanobench::reports
