#include "reports/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "reports/audit/audit_flags.h"

namespace nanobench::reports {
namespace {

using results::LoggedValidation;
using results::SpeedrunRun;

constexpr std::size_t kLeastCurve = 3;  // fewer validations to four digits may agree by chance

AuditedRun audited_run(const results::LogFile& file, const results::SpeedrunLog& log, std::size_t index) {
  const SpeedrunRun& run = log.runs[index];
  AuditedRun item{.file = file, .index = index, .planned_steps = run.planned_steps};
  item.gpu = log.gpu;
  item.gpu_count = log.gpu_count;
  item.hardware = log.hardware();
  item.script_digest = log.script_digest;
  item.problems = run.problems;
  item.problems.insert(item.problems.end(), log.problems.begin(), log.problems.end());
  item.content = log.digest + "/" + std::to_string(index);
  if (!item.planned_steps && !run.validations.empty()) item.planned_steps = run.last_step();
  if (const std::optional<LoggedValidation> last = run.final_validation(); last && std::isfinite(last->loss)) {
    item.loss = last->loss;
    item.train_ms = last->clock_ms;
  }
  if (run.validations.size() >= kLeastCurve) {
    core::Digest numbers;
    core::Digest curve;
    for (const LoggedValidation& point : run.validations) {
      const double clock = point.clock_ms.value_or(-1);
      for (core::Digest* digest : {&numbers, &curve}) {
        digest->update(&point.step, sizeof point.step);
        digest->update(&point.loss, sizeof point.loss);
      }
      numbers.update(&clock, sizeof clock);
    }
    item.numbers = numbers.hex();
    item.curve = curve.hex();
  }
  return item;
}

/// A log that has a script and no step: it belongs to its folder, and says nothing.
AuditedRun empty_run(const results::LogFile& file, const results::SpeedrunLog& log) {
  AuditedRun item{.file = file};
  item.gpu = log.gpu;
  item.gpu_count = log.gpu_count;
  item.hardware = log.hardware();
  item.script_digest = log.script_digest;
  item.problems = log.problems;
  item.content = log.digest + "/0";
  return item;
}

auto place_of(const AuditedRun& run) {
  return std::tie(run.file.folder, run.file.subdir, run.planned_steps, run.gpu, run.gpu_count);
}

/// Runs of the group that repeat an earlier one are evidence once.
void mark_repeats(std::vector<AuditedRun>& runs) {
  std::map<std::string, std::string> known;
  for (AuditedRun& run : runs) {
    const auto repeats = [&](const std::string& key, const char* how) {
      if (key.empty() || !run.repeats.empty()) return;
      const auto [place, is_new] = known.emplace(key, run.file.name);
      if (!is_new) run.repeats = std::string(how) + place->second;
    };
    repeats(run.content, "is byte for byte ");
    repeats(run.numbers.empty() ? "" : "numbers " + run.numbers, "holds the same losses and times as ");
    repeats(run.curve.empty() ? "" : "curve " + run.curve, "holds the same loss at every validation as ");
  }
}

void decide_by_t(AuditGroup& group, const AuditOptions& options) {
  if (!group.t) {
    group.reason = group.n == 1 ? "one run: no spread, so nothing can be tested"
                                : "the " + std::to_string(group.n) + " losses are equal: no spread to test against";
    return;
  }
  const bool is_below = *group.loss.mean <= options.target;
  group.verdict = is_below && group.t->p < options.p_limit ? AuditVerdict::kMeets : AuditVerdict::kDoesNotMeet;
  const std::string limit = format_significant(options.p_limit, 1);
  group.reason = !is_below                               ? "the mean is above the target"
                 : group.verdict == AuditVerdict::kMeets ? "p < " + limit
                                                         : "the mean is below the target, but p is not below " + limit;
}

void decide_by_z(AuditGroup& group) {
  group.verdict = group.z->passes ? AuditVerdict::kMeets : AuditVerdict::kDoesNotMeet;
  group.reason = std::string("(target - mean) * sqrt(n) is ") + (group.z->passes ? "at least " : "below ") +
                 format_significant(group.z->threshold, 1);
}

void compare_times(AuditGroup& group) {
  group.record = results::find_published_record(group.folder);
  if (group.record == nullptr) return;
  group.before = results::record_before(*group.record);
  if (group.before == nullptr || !group.train_ms.mean) return;
  group.time_over_before = *group.train_ms.mean / (group.before->minutes * 60e3);
}

void evaluate(AuditGroup& group, const AuditOptions& options) {
  std::vector<double> losses;
  std::vector<double> times;
  for (const AuditedRun& run : group.runs) {
    if (!run.is_counted()) continue;
    losses.push_back(*run.loss);
    if (run.train_ms) times.push_back(*run.train_ms);
  }
  group.n = static_cast<int>(losses.size());
  group.loss = summarise(losses);
  group.train_ms = summarise(times);
  if (group.train_ms.sd && *group.train_ms.mean > 0) group.train_cv = *group.train_ms.sd / *group.train_ms.mean;
  group.t = one_sample_t(losses, options.target);
  group.z = known_sigma_rule(losses, options.target, {.threshold = options.z_threshold});
  compare_times(group);
  if (!group.z) {
    group.reason = "no final loss";
  } else if (options.rule == AuditRule::kZ) {
    decide_by_z(group);
  } else {
    decide_by_t(group, options);
  }
}

AuditGroup group_of(std::vector<AuditedRun> runs, const AuditOptions& options) {
  AuditGroup group;
  const AuditedRun& first = runs.front();
  group.folder = first.file.folder;
  group.subdir = first.file.subdir;
  group.planned_steps = first.planned_steps;
  group.hardware = first.hardware;
  std::set<std::string> scripts;
  for (const AuditedRun& run : runs) scripts.insert(run.script_digest);
  group.scripts = scripts.size();
  if (scripts.size() == 1) group.script_digest = first.script_digest;
  mark_repeats(runs);
  group.runs = std::move(runs);
  evaluate(group, options);
  return group;
}

}  // namespace

std::string to_string(AuditVerdict verdict) {
  switch (verdict) {
    case AuditVerdict::kMeets: return "meets the rule";
    case AuditVerdict::kDoesNotMeet: return "does not meet the rule";
    case AuditVerdict::kInconclusive: break;
  }
  return "inconclusive";
}

AuditVerdict Audit::verdict() const {
  const auto has = [&](AuditVerdict verdict) {
    return std::any_of(groups.begin(), groups.end(), [&](const AuditGroup& group) { return group.verdict == verdict; });
  };
  if (has(AuditVerdict::kDoesNotMeet)) return AuditVerdict::kDoesNotMeet;
  return groups.empty() || has(AuditVerdict::kInconclusive) ? AuditVerdict::kInconclusive : AuditVerdict::kMeets;
}

void Auditor::add(const results::LogFile& file, const results::SpeedrunLog& log) {
  ++audit_.files;
  audit_.bytes += log.bytes;
  if (!log.is_log()) {
    ++audit_.other_files;
    if (file.is_named) audit_.problems.push_back(file.path.string() + " holds no line of a speedrun trainer");
    return;
  }
  for (std::size_t i = 0; i < log.runs.size(); ++i) runs_.push_back(audited_run(file, log, i));
  if (log.runs.empty()) runs_.push_back(empty_run(file, log));
}

Audit Auditor::finish() {
  std::map<std::tuple<std::string, std::string, std::optional<std::int64_t>, std::string, std::optional<int>>,
           std::map<std::string, std::vector<AuditedRun>>>
      places;
  for (const AuditedRun& run : runs_) places[place_of(run)][run.script_digest].push_back(run);
  for (const auto& [place, scripts] : places) {
    std::vector<AuditedRun> together;
    for (const auto& [script, runs] : scripts) {
      audit_.groups.push_back(group_of(runs, options_));
      together.insert(together.end(), runs.begin(), runs.end());
    }
    if (scripts.size() > 1) audit_.pooled.push_back(group_of(std::move(together), options_));
  }
  audit_.options = options_;
  add_flags(audit_);
  return std::move(audit_);
}

}  // namespace nanobench::reports
