/// The noise of a machine and the margins that follow from it. Pure.
#pragma once

#include "reports/document/document.h"
#include "reports/gate/calibration.h"

namespace nanobench::reports {

/// `plan` is the A/A plan that was measured; margins are given for several numbers of runs at this power.
Document calibration_report(const results::PlanRecord& plan, const std::string& machine, const Calibration& calibration,
                            double power);

}  // namespace nanobench::reports
