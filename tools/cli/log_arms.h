/// Speedrun logs as arms: what `audit`, `compare` and `import` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/audit/arms.h"
#include "reports/audit/audit.h"

namespace CLI {
class App;
}

namespace nanobench::tools {

/// The rule that logs are judged by; absent: as their path says.
struct LogRuleOptions {
  std::optional<double> target;
  std::optional<int> track;
  bool is_given() const { return target.has_value() || track.has_value(); }
};

/// --target and --track.
void add_log_rule_options(CLI::App& command, LogRuleOptions& options);

/// Throws Error{kInvalidArgument} for a target that is no loss or an unknown track.
reports::AuditOptions audit_options(const LogRuleOptions& options);

/// Reads and audits the logs of these files and folders. Throws Error{kNotFound} for a path that does not exist.
reports::Audit audit_logs(const std::vector<std::string>& paths, const reports::AuditOptions& options);

/// Whether a path names a folder, or a file with the name of a log (results/import/log_files.h).
bool is_log_path(const std::string& path);

/// One arm for each folder or log; one folder alone holds its arms as sub-folders. The rule is that of the control.
///   paths     is_log_path() holds for all
///   control   name or path of an arm; empty: the first path
/// Throws Error{kInvalidArgument} for fewer than two arms or an unknown control, Error{kNotFound} for an arm without a
/// run that counts. Nothing is stored.
reports::ArmComparison compare_logs(const std::vector<std::string>& paths, const std::string& control,
                                    const reports::AuditOptions& options);

}  // namespace nanobench::tools
