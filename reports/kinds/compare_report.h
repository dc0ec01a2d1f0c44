/// Two sets of runs beside each other. Pure.
#pragma once

#include "reports/document/document.h"
#include "reports/gate/gate.h"

namespace nanobench::reports {

/// The baseline is the first one; the verdicts are a gate's, with nothing that gates.
Document compare_report(const GateResult& result);

}  // namespace nanobench::reports
