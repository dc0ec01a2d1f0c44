#include "reports/kinds/audit_review.h"

#include <algorithm>

#include "core/base/text.h"
#include "reports/audit/audit_text.h"
#include "reports/audit/review.h"
#include "reports/kinds/arm_cells.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

constexpr double kMsPerMinute = 60'000.0;

/// A line of a group's review, for people and for machines.
struct ReviewLine {
  const char* key;
  const char* question;
  std::string answer;
  core::OrderedJson value;
};

std::string runs_text(int runs) {
  return counted(runs, "run", "runs");
}

/// ", 95 % interval 3.2772 to 3.2793", in units of `unit`.
std::string interval_clause(const std::optional<ConfidenceInterval>& interval, int n, double unit, int digits) {
  if (!interval) return n < 2 ? "; one run has no interval" : "; equal runs have no interval";
  return ", 95 % interval " + format_fixed(interval->low / unit, digits) + " to " +
         format_fixed(interval->high / unit, digits);
}

std::string mean_text(const Summary& summary, double unit, int digits) {
  return format_fixed(*summary.mean / unit, digits) +
         (summary.sd ? " ±" + format_fixed(*summary.sd / unit, digits) : "");
}

ReviewLine evidence_line(const AuditGroup& group, const GroupReview& review) {
  ReviewLine line{.key = "evidence", .question = "How good is the loss?"};
  line.value = {
      {"n", group.n}, {"logs", group.runs.size()}, {"mean", json_of(group.loss.mean)}, {"sd", json_of(group.loss.sd)}};
  add_bounds(line.value, review.loss_interval);
  line.answer = (group.n == static_cast<int>(group.runs.size())
                     ? std::to_string(group.n)
                     : std::to_string(group.n) + " of " + std::to_string(group.runs.size())) +
                (group.runs.size() == 1 ? " log counts" : " logs count");
  if (const auto step = group.judged_step ? group.judged_step : group.planned_steps)
    line.answer += ", at step " + std::to_string(*step);
  line.answer += ", on " + group.hardware;
  if (group.loss.mean)
    line.answer +=
        "; mean val loss " + mean_text(group.loss, 1, 5) + interval_clause(review.loss_interval, group.n, 1, 5);
  return line;
}

ReviewLine rule_line(const AuditGroup& group, const AuditOptions& options) {
  ReviewLine line{.key = "rule", .question = "Does it reach the target?"};
  const bool is_z = group.rule.rule == AuditRule::kZ;
  line.value = {{"target", group.rule.target},
                {"p", group.t ? json_of(group.t->p) : core::OrderedJson(nullptr)},
                {"z", group.z ? json_of(group.z->statistic) : core::OrderedJson(nullptr)},
                {"verdict", enum_name(group.verdict)}};
  line.answer =
      enum_name(group.verdict) + ", target " + format_fixed(group.rule.target, 4) + ": " + verdict_text(group, options);
  if (!is_z && group.t) line.answer += " (p = " + arm_p_cell(group.t->p).text + ")";
  if (is_z && group.z) line.answer += " (" + format_fixed(group.z->statistic, 4) + ")";
  return line;
}

ReviewLine time_line(const AuditGroup& group, const GroupReview& review) {
  ReviewLine line{.key = "time", .question = "How long does it take?"};
  const auto seconds = [](const std::optional<double>& ms) {
    return json_of(ms ? std::optional(*ms / kMsPerSecond) : std::nullopt);
  };
  line.value = {{"mean_s", seconds(group.train_ms.mean)},
                {"sd_s", seconds(group.train_ms.sd)},
                {"cv", json_of(group.train_cv)},
                {"published_s", group.record != nullptr ? json_of(group.record->minutes * 60) : nullptr}};
  if (!group.train_ms.mean) {
    line.answer = "the logs print no training time";
    return line;
  }
  line.answer = mean_text(group.train_ms, kMsPerSecond, 3) + " s";
  if (group.train_cv) line.answer += " (CV " + format_significant(*group.train_cv * 100, 2) + " %)";
  line.answer += interval_clause(review.time_interval, group.train_ms.n, kMsPerSecond, 3);
  if (group.record != nullptr)
    line.answer += "; published for #" + group.record->id + ": " + format_fixed(group.record->minutes * 60, 2) +
                   " s, of which this is " +
                   format_ratio(*group.train_ms.mean / (group.record->minutes * kMsPerMinute)) +
                   "x, on another machine perhaps";
  return line;
}

ReviewLine before_line(const AuditGroup& group, const GroupReview& review) {
  ReviewLine line{.key = "before", .question = "Is it better than what was before?"};
  line.value = {
      {"before", group.before != nullptr ? core::OrderedJson(group.before->id) : nullptr},
      {"published_gain_s", review.published_gain_ms ? json_of(*review.published_gain_ms / kMsPerSecond) : nullptr},
      {"time_over_before", json_of(group.time_over_before)}};
  if (group.before == nullptr) {
    line.answer = "the folder belongs to no published record with one before it";
    return line;
  }
  line.answer = "published: " + format_fixed(group.before->minutes * 60, 2) + " s for #" + group.before->id + ", so " +
                format_signed(-*review.published_gain_ms / kMsPerSecond, 2) + " s";
  line.answer += "; these logs alone cannot show it, because they hold no run of #" + group.before->id;
  return line;
}

/// The groups of the folder that are arms beside this one, in words.
std::string arms_text(const Audit& audit) {
  std::int64_t pairs = 0;
  std::int64_t decided = 0;
  for (const FolderArms& folder : audit.arms) {
    pairs += static_cast<std::int64_t>(folder.pairs.size());
    decided += std::count_if(folder.loss.begin(), folder.loss.end(), [](const ArmEffect& effect) {
      return effect.verdict == Verdict::kImproved || effect.verdict == Verdict::kRegressed;
    });
  }
  return pairs == 0 ? ""
                    : "; " + std::to_string(decided) + " of " + counted(pairs, "pair", "pairs") +
                          " of groups in this folder differ in loss (table of arms)";
}

/// What the rule still needs; empty if it is met.
std::string rule_needs(const AuditGroup& group, const GroupReview& review) {
  if (group.verdict == AuditVerdict::kMeets) return "";
  if (review.rule_runs)
    return runs_text(*review.rule_runs) +
           " more, judged by themselves, meet the rule in four of five cases if mean and spread are as here";
  if (group.n == 0) return "a run that is finished";
  const bool has_few = group.rule.rule == AuditRule::kT && group.n < kMinArmRuns;
  if (!has_few && *group.loss.mean >= group.rule.target)
    return "for the rule another configuration: the mean is not below the target, so more runs are not expected to "
           "help";
  if (has_few || !group.t)
    return runs_text(std::max(1, kMinArmRuns - group.n)) + " more at least, so that there is a spread to judge by";
  return "more than " + runs_text(kMaxSettleRuns) + " for the rule, if mean and spread are as here";
}

ReviewLine settle_line(const AuditGroup& group, const GroupReview& review) {
  ReviewLine line{.key = "settle", .question = "Which runs would settle it?"};
  line.value = {{"rule_runs", review.rule_runs ? core::OrderedJson(*review.rule_runs) : nullptr},
                {"gain_runs", review.gain_runs ? core::OrderedJson(*review.gain_runs) : nullptr},
                {"unfinished", review.unfinished},
                {"repeated", review.repeated}};
  std::vector<std::string> parts;
  if (const std::string rule = rule_needs(group, review); !rule.empty()) parts.push_back(rule);
  if (review.gain_runs)
    parts.push_back(runs_text(*review.gain_runs) + " each of this and #" + group.before->id +
                    ", in turn on one machine, show the published gain in four of five cases");
  if (review.unfinished > 0) parts.push_back(counted(review.unfinished, "log has", "logs have") + " no final loss");
  if (review.repeated > 0) parts.push_back(counted(review.repeated, "run repeats", "runs repeat") + " another one");
  line.answer = parts.empty() ? "nothing is open" : joined(parts, "; ");
  return line;
}

std::vector<ReviewLine> lines_of(const Audit& audit, const AuditGroup& group) {
  const GroupReview review = review_of(group, audit.options);
  std::vector<ReviewLine> lines = {evidence_line(group, review), rule_line(group, audit.options),
                                   time_line(group, review), before_line(group, review), settle_line(group, review)};
  lines[3].answer += arms_text(audit);
  return lines;
}

/// What tells the groups of the folder apart.
std::string group_name(const AuditGroup& group) {
  std::vector<std::string> parts;
  if (!group.subdir.empty()) parts.push_back(group.subdir);
  if (group.planned_steps) parts.push_back(counted(*group.planned_steps, "step", "steps"));
  if (!group.script_digest.empty()) parts.push_back("script " + group.script_digest.substr(0, 8));
  return joined(parts);
}

}  // namespace

std::optional<Section> review_section(const Audit& audit) {
  const bool is_one_folder = std::all_of(audit.groups.begin(), audit.groups.end(), [&](const AuditGroup& group) {
    return group.folder == audit.groups.front().folder;
  });
  if (audit.groups.empty() || audit.groups.size() > kMaxReviewedGroups || !is_one_folder) return std::nullopt;
  Table table{.id = "review", .title = ""};
  const bool has_groups = audit.groups.size() > 1;
  if (has_groups) table.columns.push_back(wide_column("group", "group"));
  table.columns.push_back(wide_column("question", "a reviewer asks"));
  table.columns.push_back(wide_column("answer", audit.groups.front().folder));
  for (const AuditGroup& group : audit.groups) {
    for (ReviewLine& line : lines_of(audit, group)) {
      std::vector<TableCell> cells;
      if (has_groups) cells.push_back(text_cell(group_name(group)));
      cells.push_back(value_cell(line.question, line.key));
      cells.push_back(value_cell(std::move(line.answer), std::move(line.value)));
      table.rows.push_back(std::move(cells));
    }
  }
  Section section{.title = "For a reviewer"};
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports
