/// The pictures of an audit. Names of folders and files are data, never part of an expression. Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/audit/audit.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// Every counted run's final loss and each group's mean, against the target; nothing without a loss.
std::optional<Chart> audit_loss_chart(const Audit& audit);

/// Mean training time of each group beside the published one; nothing when no folder is a record's.
std::optional<Chart> audit_time_chart(const Audit& audit);

}  // namespace nanobench::reports
