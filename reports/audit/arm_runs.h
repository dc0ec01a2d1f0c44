/// Which runs of audited logs an arm consists of. Pure, thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/audit/audit.h"

namespace nanobench::reports {

/// Adds the values of the counted runs of a group, except copies of an earlier group's.
void add_runs(LogArm& arm, const AuditGroup& group);

/// All logs of one arm.
struct NamedAudit {
  std::string name;
  Audit audit;
};

/// One arm for each audit, in order; each left-out run is among the flags of its arm:
///   - An arm has one length: runs with another number of steps than most are left out. Of equally common numbers the
///     largest counts.
///   - A run counts in the first arm that holds it: a file of the same bytes, or a run with the same losses and times
///     at every validation. The same losses with other times are another run.
///   - Runs that repeat another one of the arm, or have no loss at the step that counts.
std::vector<LogArm> arms_of_audits(std::span<const NamedAudit> audits);

}  // namespace nanobench::reports
