/// The report of a gate: the answer in words, one row a check, what is missing, and how often it errs. Pure.
#pragma once

#include "reports/document.h"
#include "reports/gate/gate.h"

namespace nanobench::reports {

Document gate_report(const GateResult& result);

/// One row a check.
Table checks_table(const GateResult& result);

/// "pass: 12 checks of 3 cells" and so on: one line for people.
std::string gate_headline(const GateResult& result);

}  // namespace nanobench::reports
