#include <algorithm>
#include <array>
#include <map>

#include "core/base/text.h"
#include "reports/audit/audit.h"
#include "reports/audit/audit_text.h"
#include "reports/charts/charts.h"
#include "reports/kinds/arm_cells.h"
#include "reports/kinds/audit_review.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kDigestShown = 8;

/// Mean and spread in units of `unit`.
TableCell scaled_cell(Summary summary, double unit, int digits) {
  for (std::optional<double>* number : {&summary.mean, &summary.sd}) {
    if (*number) **number /= unit;
  }
  return summary_cell(summary, [=](double value) { return format_fixed(value, digits); });
}

TableCell script_cell(const AuditGroup& group) {
  if (group.scripts > 1) return value_cell(std::to_string(group.scripts) + " scripts", nullptr);
  if (group.script_digest.empty()) return missing_cell();
  return value_cell(group.script_digest.substr(0, kDigestShown), group.script_digest);
}

TableCell rule_cell(const std::optional<RuleResult>& rule) {
  if (!rule) return missing_cell();
  return value_cell(format_fixed(rule->statistic, 4),
                    {{"statistic", rule->statistic}, {"threshold", rule->threshold}, {"passes", rule->passes}},
                    rule->passes ? "" : "below");
}

TableCell count_of(const AuditGroup& group) {
  const std::size_t logs = group.runs.size();
  const std::string of_all = static_cast<int>(logs) == group.n ? "" : " of " + std::to_string(logs);
  return value_cell(std::to_string(group.n) + of_all, {{"counted", group.n}, {"found", logs}});
}

TableCell before_cell(const AuditGroup& group) {
  if (group.before == nullptr) return missing_cell();
  return value_cell(group.time_over_before ? format_ratio(*group.time_over_before) + "x" : "-",
                    {{"record", group.record->id},
                     {"published_minutes", group.record->minutes},
                     {"before", group.before->id},
                     {"before_minutes", group.before->minutes},
                     {"time_over_before", json_of(group.time_over_before)}},
                    "#" + group.before->id);
}

TableCell flags_cell(const AuditGroup& group) {
  const std::vector<std::string> texts = texts_of(group.flags);
  return value_cell(texts.empty() ? "-" : joined(texts, "; "), texts);
}

std::vector<Column> group_columns() {
  return {
      wide_column("folder", "folder"),
      wide_column("subdir", "sub-directory", 2),
      number_column("steps", "steps"),
      number_column("judged_step", "judged at", 5),
      wide_column("hardware", "hardware", 5),
      text_column("script", "script", 6),
      number_column("n", "n"),
      number_column("target", "target", 9),
      number_column("val_loss", "val loss"),
      number_column("t", "t", 7),
      number_column("p", "p"),
      number_column("z_rule", "z rule", 4),
      number_column("train_s", "time s", 1),
      number_column("train_cv", "CV", 8),
      number_column("time_over_before", "time / record before", 3),
      wide_column("verdict", "evidence in this folder"),
      wide_column("flags", "flags"),
  };
}

std::vector<TableCell> group_cells(const AuditGroup& group, const AuditOptions& options) {
  TableCell verdict = text_cell(enum_name(group.verdict));
  verdict.detail = verdict_text(group, options);
  return {
      text_cell(group.folder),
      value_cell(group.subdir.empty() ? "-" : group.subdir, group.subdir),
      count_cell(group.planned_steps),
      count_cell(group.judged_step ? group.judged_step : group.planned_steps),
      text_cell(group.hardware),
      script_cell(group),
      count_of(group),
      fixed_cell(group.rule.target, 2),
      scaled_cell(group.loss, 1, 5),
      group.t ? fixed_cell(group.t->t, 3) : missing_cell(),
      group.t ? arm_p_cell(group.t->p) : missing_cell(),
      rule_cell(group.z),
      scaled_cell(group.train_ms, 1000, 2),
      percent_cell(group.train_cv, 2),
      before_cell(group),
      std::move(verdict),
      flags_cell(group),
  };
}

Table groups_table(const char* id, const char* title, const std::vector<AuditGroup>& groups,
                   const AuditOptions& options) {
  Table table{.id = id, .title = title, .columns = group_columns()};
  for (const AuditGroup& group : groups) table.rows.push_back(group_cells(group, options));
  return table;
}

Table runs_table(const Audit& audit) {
  Table table{.id = "runs",
              .title = "Runs",
              .columns = {wide_column("folder", "folder"), wide_column("subdir", "sub-directory", 1),
                          wide_column("file", "file"), number_column("run", "run", 3), number_column("steps", "steps"),
                          text_column("script", "script", 2), number_column("val_loss", "val loss"),
                          number_column("train_ms", "time ms"), wide_column("counted", "counted")}};
  for (const AuditGroup& group : audit.groups) {
    for (const AuditedRun& run : group.runs) {
      TableCell counted = yes_no_cell(run.is_counted());
      if (run.repeats) counted.detail = repeat_text(*run.repeats);
      table.rows.push_back({text_cell(group.folder), text_cell(group.subdir), text_cell(run.file.name),
                            count_cell(static_cast<std::int64_t>(run.index) + 1), count_cell(run.planned_steps),
                            script_cell(group), fixed_cell(run.loss, 5), fixed_cell(run.train_ms, 0),
                            std::move(counted)});
    }
  }
  return table;
}

/// Every arm of a folder against every other one of it.
Table arms_table(const Audit& audit) {
  Table table{.id = "arms",
              .title = "Arms of one folder against each other",
              .columns = {wide_column("folder", "folder"), wide_column("control", "control"),
                          wide_column("candidate", "candidate"), number_column("difference", "val loss"),
                          number_column("low", "from", 4), number_column("high", "to", 4), number_column("p", "p", 3),
                          number_column("holm_p", "Holm p"), wide_column("verdict", "verdict"),
                          number_column("time_s", "time s"), number_column("time_holm_p", "Holm p of time", 1),
                          wide_column("time_verdict", "verdict on time", 2)}};
  for (const FolderArms& folder : audit.arms) {
    for (std::size_t i = 0; i < folder.pairs.size(); ++i) {
      const ArmEffect& loss = folder.loss[i];
      const ArmEffect& time = folder.time[i];
      table.rows.push_back({text_cell(folder.folder), text_cell(folder.arms[folder.pairs[i].control].name),
                            text_cell(folder.arms[folder.pairs[i].candidate].name), arm_difference_cell(loss, 1, 5),
                            arm_bound_cell(loss, &ConfidenceInterval::low, 1, 5),
                            arm_bound_cell(loss, &ConfidenceInterval::high, 1, 5), arm_p_cell(loss.p),
                            arm_p_cell(loss.adjusted_p), arm_verdict_cell(loss), arm_difference_cell(time, 1000, 3),
                            arm_p_cell(time.adjusted_p), arm_verdict_cell(time)});
    }
  }
  return table;
}

std::string text_of(const TrackRule& rule, const AuditOptions& options) {
  const std::string target = format_fixed(rule.target, 4);
  if (rule.rule == AuditRule::kZ)
    return "(" + target + " - mean) * sqrt(n) >= " + format_significant(options.z_threshold, 1);
  return "mean <= " + target + " with p < " + format_significant(options.p_limit, 1) + " (one-sided t test)";
}

/// The rules of the groups, by track.
std::map<int, TrackRule> rules_in(const Audit& audit) {
  std::map<int, TrackRule> rules;
  for (const AuditGroup& group : audit.groups) rules.emplace(group.rule.track, group.rule);
  return rules;
}

/// "the rule, mean <= ...", or one rule for each track.
std::string rules_text(const Audit& audit) {
  const std::map<int, TrackRule> rules = rules_in(audit);
  if (rules.size() == 1) return text_of(rules.begin()->second, audit.options);
  std::vector<std::string> texts;
  for (const auto& [track, rule] : rules)
    texts.push_back("track " + std::to_string(track) + ": " + text_of(rule, audit.options));
  return joined(texts, "; ");
}

std::int64_t count_of(const Audit& audit, AuditVerdict verdict) {
  return std::count_if(audit.groups.begin(), audit.groups.end(),
                       [&](const AuditGroup& group) { return group.verdict == verdict; });
}

/// "3 of 21 groups meet the rule, mean <= 3.2800 with p < 0.01; 4 do not; 14 cannot be tested."
std::string audit_headline(const Audit& audit) {
  if (audit.groups.empty()) return "These logs hold no run.";
  const std::int64_t meeting = count_of(audit, AuditVerdict::kMeets);
  const std::int64_t failing = count_of(audit, AuditVerdict::kDoesNotMeet);
  const std::int64_t open = count_of(audit, AuditVerdict::kInconclusive);
  std::string text = std::to_string(meeting) + " of " +
                     counted(static_cast<std::int64_t>(audit.groups.size()), "group of runs", "groups of runs") +
                     (meeting == 1 ? " meets" : " meet") +
                     (rules_in(audit).size() == 1 ? " the rule, " : " the rule of the track, ") + rules_text(audit);
  if (failing > 0) text += "; " + counted(failing, "does", "do") + " not";
  if (open > 0) text += "; " + std::to_string(open) + " cannot be tested";
  return text + ".";
}

Section head_of(const Audit& audit) {
  std::int64_t runs = 0;
  for (const AuditGroup& group : audit.groups) runs += static_cast<std::int64_t>(group.runs.size());
  const std::string whole = std::to_string(count_of(audit, AuditVerdict::kMeets)) + " of " +
                            std::to_string(audit.groups.size()) + " groups meet the rule";
  FactList list;
  // From the largest unit to the smallest: files, the logs among them, their runs, the groups of these.
  const auto files = static_cast<std::int64_t>(audit.files), others = static_cast<std::int64_t>(audit.other_files);
  list.add("files", "files read", count_cell(files));
  list.add("logs", "logs among them", count_cell(files - others));
  list.add("other_files", "other files", count_cell(others));
  list.add("bytes", "size", bytes_cell(static_cast<std::int64_t>(audit.bytes)));
  list.add("runs", "runs", count_cell(runs));
  list.add("groups", "groups of runs", count_cell(static_cast<std::int64_t>(audit.groups.size())));
  const std::map<int, TrackRule> rules = rules_in(audit);
  list.add("target", "target loss", rules.size() == 1 ? fixed_cell(rules.begin()->second.target, 4) : missing_cell());
  list.add("rule", "rule", rules_text(audit));
  list.add("verdict", "all together", value_cell(enum_name(audit.verdict()), enum_name(audit.verdict()), whole));
  Section head;
  head.facts = std::move(list.facts);
  return head;
}

}  // namespace

Document audit_report(const Audit& audit, bool has_runs, bool has_charts) {
  Document document{.kind = "audit", .title = "What these logs show"};
  document.headline = audit_headline(audit);
  document.sections.push_back(head_of(audit));
  if (std::optional<Section> review = review_section(audit)) document.sections.push_back(std::move(*review));
  Section pictures{.title = "Charts"};
  for (std::optional<Chart>& chart : std::array{audit_loss_chart(audit), audit_time_chart(audit)}) {
    if (chart && has_charts) pictures.charts.push_back(std::move(*chart));
  }
  if (!pictures.charts.empty()) document.sections.push_back(std::move(pictures));
  Section body;
  body.tables.push_back(groups_table("groups", "", audit.groups, audit.options));
  if (!audit.pooled.empty())
    body.tables.push_back(groups_table("pooled", "Groups with several scripts, pooled", audit.pooled, audit.options));
  if (has_runs) body.tables.push_back(runs_table(audit));
  if (!audit.arms.empty()) body.tables.push_back(arms_table(audit));
  document.sections.push_back(std::move(body));
  document.warnings = audit.problems;
  for (const std::string& folder : audit.readme_only)
    document.warnings.push_back(folder + " holds a README and no log: nothing can be recomputed there.");
  document.reading = {
      "One row holds the runs of one script, number of steps and kind of machine in one folder. Scripts are one if "
      "they "
      "differ only in comments, annotations, run names, seeds, intervals of validations or messages. All numbers are "
      "recomputed from these logs; runs whose logs are not here are not judged.",
      "val loss: at the step \"judged at\", mean ±sample standard deviation. p: one-sided one-sample t test against "
      "the "
      "target. z rule: (target - mean) * sqrt(n), which assumes a known spread; a single run can meet it.",
      "time / record before: mean training time over the published time of the preceding record. It never decides, "
      "because the published time comes from another machine.",
      "A run that repeats another run of its group is counted once. script: digest of the script's code.",
  };
  if (!audit.arms.empty())
    document.reading.emplace_back(
        "Arms of one folder: candidate less control. Holm p: Welch's two-sided p, adjusted over all pairs of the "
        "folder; "
        "below 0.05 it is an effect. The intervals of a folder hold together with 95 %. Times are compared on equal "
        "hardware only, and are a family of their own.");
  return document;
}

}  // namespace nanobench::reports
