/// What makes the evidence of an audit doubtful, in sentences. Private to reports. Pure.
#pragma once

#include "reports/audit/audit.h"

namespace nanobench::reports {

/// Adds the flags of each group, which depend on the other groups of its folder and on repetitions anywhere.
void add_flags(Audit& audit);

}  // namespace nanobench::reports
