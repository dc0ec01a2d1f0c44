/// The report of a gate: the answer in words, one row a check, what is missing, and how often it errs. Pure.
#pragma once

#include "reports/document/document.h"
#include "reports/gate/gate.h"

namespace nanobench::reports {

Document gate_report(const GateResult& result);

/// One row a check.
Table checks_table(const GateResult& result);

/// "Pass: no harm in any of 12 checks beyond 0.0010 nats of loss, 0.5 % of step time." and so on, for people.
std::string gate_headline(const GateResult& result);

}  // namespace nanobench::reports
