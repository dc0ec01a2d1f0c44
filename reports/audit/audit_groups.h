/// How the runs of one configuration become a group with its numbers. Private to reports/audit. Pure.
#pragma once

#include <map>
#include <vector>

#include "reports/audit/audit.h"

namespace nanobench::reports {

/// The run `index` of a log; its loss is not read yet. A log with a script and without a step gives a run too: it
/// belongs to its folder, but holds no evidence.
AuditedRun audited_run(const results::LogFile& file, const results::SpeedrunLog& log, std::size_t index);

/// Files of the audit by their absolute paths: the planned steps of the last run of each.
using PlannedSteps = std::map<std::filesystem::path, std::optional<std::int64_t>>;

/// Evaluates runs of one place, with one planned number of steps.
///   named   from READMEs
///   known   all files of the audit
AuditGroup group_of(std::vector<AuditedRun> runs, const AuditOptions& options,
                    const std::vector<results::NamedStep>& named, const PlannedSteps& known);

}  // namespace nanobench::reports
