/// What an audit found, as a Document: one row a group, with its flags. Pure, thread-safe.
#pragma once

#include "reports/audit/audit.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// `has_runs` adds a table with one row a run, `has_charts` pictures for forms that show them.
Document audit_report(const Audit& audit, bool has_runs = false, bool has_charts = false);

}  // namespace nanobench::reports
