#include "reports/audit/arm_runs.h"

#include <algorithm>
#include <map>
#include <set>

#include "reports/audit/audit_text.h"

namespace nanobench::reports {
namespace {

constexpr double kMsPerSecond = 1000.0;

bool is_in_arm(const AuditedRun& run) {
  return run.is_counted() && !run.is_copy;
}

/// The step at which a group's losses are read.
std::int64_t length_of(const AuditGroup& group) {
  return group.judged_step ? *group.judged_step : group.planned_steps.value_or(0);
}

/// That of most counted runs.
std::int64_t usual_length(const Audit& audit) {
  std::map<std::int64_t, std::int64_t> runs;
  for (const AuditGroup& group : audit.groups)
    runs[length_of(group)] += std::count_if(group.runs.begin(), group.runs.end(), is_in_arm);
  const auto most = std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  });
  return most == runs.end() ? 0 : most->first;
}

LogCurve curve_of(const AuditedRun& run, std::int64_t length) {
  LogCurve curve{.name = run.file.name};
  for (const results::LoggedValidation& point : run.validations) {
    if (point.step > length) break;
    const std::optional<double> clock_s = point.clock_ms ? std::optional(*point.clock_ms / kMsPerSecond) : std::nullopt;
    curve.points.push_back({.clock_s = clock_s, .loss = point.ema_loss.value_or(point.loss), .step = point.step});
  }
  return curve;
}

void add_run(LogArm& arm, const AuditedRun& run, std::int64_t length) {
  arm.losses.push_back(*run.loss);
  if (run.train_ms) arm.train_ms.push_back(*run.train_ms);
  if (run.step_ms) arm.step_ms.push_back(*run.step_ms);
  arm.curves.push_back(curve_of(run, length));
}

/// The first arm that holds each run.
using Holders = std::map<std::string, const NamedAudit*>;

/// The arm before this one that holds the run; nullptr if there is none.
const NamedAudit* earlier_arm(const Holders& holders, const AuditedRun& run, const NamedAudit& arm) {
  for (const std::string& key : {run.content, run.numbers}) {
    const auto found = key.empty() ? holders.end() : holders.find(key);
    if (found != holders.end() && found->second != &arm) return found->second;
  }
  return nullptr;
}

/// Builds one arm.
class ArmBuilder {
 public:
  ArmBuilder(const NamedAudit& source, Holders& holders)
      : source_(source), holders_(holders), length_(usual_length(source.audit)) {
    arm_.name = source.name;
  }

  LogArm build() {
    for (const AuditGroup& group : source_.audit.groups) {
      arm_.logs += group.runs.size();
      if (group.n > 0 && length_of(group) != length_) {
        leave_out(group);
        continue;
      }
      arm_.flags.insert(arm_.flags.end(), group.run_flags.begin(), group.run_flags.end());
      for (const AuditedRun& run : group.runs) {
        if (is_in_arm(run)) add(group, run);
      }
    }
    add_flags();
    return std::move(arm_);
  }

 private:
  void add(const AuditGroup& group, const AuditedRun& run) {
    if (const NamedAudit* other = earlier_arm(holders_, run, source_)) {
      held_elsewhere_[other->name].push_back(run.file.name);
      return;
    }
    for (const std::string& key : {run.content, run.numbers}) {
      if (!key.empty()) holders_.emplace(key, &source_);
    }
    add_run(arm_, run, length_);
    hardware_.insert(group.hardware);
    scripts_.insert(run.script.code);
    if (!run.software.empty()) software_.insert(run.software);
  }

  void leave_out(const AuditGroup& group) {
    for (const AuditedRun& run : group.runs) other_lengths_[length_of(group)].push_back(run.file.name);
  }

  void add_flags() {
    if (!arm_.losses.empty()) arm_.steps = {length_};
    if (hardware_.size() == 1) arm_.hardware = *hardware_.begin();
    arm_.software.assign(software_.begin(), software_.end());
    for (const auto& [steps, files] : other_lengths_) {
      arm_.flags.push_back({.kind = FlagKind::kOtherLength,
                            .files = files,
                            .step = steps,
                            .usual_step = length_,
                            .count = static_cast<std::int64_t>(arm_.losses.size())});
    }
    if (source_.audit.other_files > 0)
      arm_.flags.push_back(
          {.kind = FlagKind::kOtherFiles, .count = static_cast<std::int64_t>(source_.audit.other_files)});
    for (const auto& [other, files] : held_elsewhere_)
      arm_.flags.push_back({.kind = FlagKind::kHeldElsewhere, .files = files, .what = other});
    if (hardware_.size() > 1)
      arm_.flags.push_back({.kind = FlagKind::kArmHardware, .names = {hardware_.begin(), hardware_.end()}});
    if (scripts_.size() > 1)
      arm_.flags.push_back({.kind = FlagKind::kArmScripts, .count = static_cast<std::int64_t>(scripts_.size())});
    std::sort(arm_.flags.begin(), arm_.flags.end(), reads_before);
    arm_.flags.erase(std::unique(arm_.flags.begin(), arm_.flags.end()), arm_.flags.end());
  }

  const NamedAudit& source_;
  Holders& holders_;
  std::int64_t length_;
  LogArm arm_;
  std::set<std::string> hardware_, scripts_, software_;
  std::map<std::int64_t, std::vector<std::string>> other_lengths_;  // files by their number of steps
  std::map<std::string, std::vector<std::string>> held_elsewhere_;  // files by the arm that holds them too
};

}  // namespace

void add_runs(LogArm& arm, const AuditGroup& group) {
  for (const AuditedRun& run : group.runs) {
    if (is_in_arm(run)) add_run(arm, run, length_of(group));
  }
}

std::vector<LogArm> arms_of_audits(std::span<const NamedAudit> audits) {
  std::vector<LogArm> arms;
  Holders holders;
  for (const NamedAudit& source : audits) arms.push_back(ArmBuilder(source, holders).build());
  return arms;
}

}  // namespace nanobench::reports
