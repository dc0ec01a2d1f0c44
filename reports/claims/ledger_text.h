/// The wording of what a claim's number rests on, and of why it gives no verdict. Pure, thread-safe.
#pragma once

#include <string>

#include "reports/claims/ledger_reason.h"

namespace nanobench::reports {

/// "4 repetitions in 1 run"; empty for kNone.
std::string text_of(const LedgerBasis& basis);

/// "record17 crashed: signal 11"
std::string text_of(const LedgerReason& reason);

}  // namespace nanobench::reports
