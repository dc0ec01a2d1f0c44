#include "reports/kinds/audit_report.h"

#include <array>

#include "core/base/text.h"
#include "reports/charts/audit_charts.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kDigestShown = 8;

OrderedJson json_of(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

TableCell count_or_missing(const std::optional<std::int64_t>& count) {
  return count ? count_cell(*count) : missing_cell();
}

TableCell number_cell(const std::optional<double>& value, const std::string& text) {
  return value ? TableCell{.text = text, .detail = "", .value = *value} : missing_cell();
}

/// Mean and spread, divided by `unit`.
TableCell summary_cell(const Summary& summary, double unit, int digits) {
  if (!summary.mean) return {.text = "-", .detail = "", .value = {{"mean", nullptr}, {"sd", nullptr}, {"n", 0}}};
  TableCell cell{.text = format_fixed(*summary.mean / unit, digits), .detail = "", .value = nullptr};
  OrderedJson sd = nullptr;
  if (summary.sd) {
    sd = *summary.sd / unit;
    cell.detail = "±" + format_fixed(*summary.sd / unit, digits);
  }
  cell.value = {{"mean", *summary.mean / unit}, {"sd", std::move(sd)}, {"n", summary.n}};
  return cell;
}

TableCell script_cell(const AuditGroup& group) {
  if (group.scripts > 1) {
    return {.text = std::to_string(group.scripts) + " scripts", .detail = "", .value = nullptr};
  }
  if (group.script_digest.empty()) return missing_cell();
  return {.text = group.script_digest.substr(0, kDigestShown), .detail = "", .value = group.script_digest};
}

std::string probability(double p) {
  return p < 1e-4 ? (p < 1e-15 ? "<1e-15" : format_significant(p * 1e6, 2) + "e-6") : format_significant(p, 2);
}

TableCell rule_cell(const std::optional<RuleResult>& rule) {
  if (!rule) return missing_cell();
  return {.text = format_fixed(rule->statistic, 4),
          .detail = rule->passes ? "" : "below",
          .value = {{"statistic", rule->statistic}, {"threshold", rule->threshold}, {"passes", rule->passes}}};
}

TableCell count_of(const AuditGroup& group) {
  const auto logs = static_cast<std::int64_t>(group.runs.size());
  const std::string of_all = logs == group.n ? "" : " of " + std::to_string(logs);
  return {.text = std::to_string(group.n) + of_all, .detail = "", .value = {{"counted", group.n}, {"found", logs}}};
}

TableCell before_cell(const AuditGroup& group) {
  if (group.before == nullptr) return missing_cell();
  OrderedJson value = {{"record", group.record->id},
                       {"published_minutes", group.record->minutes},
                       {"before", group.before->id},
                       {"before_minutes", group.before->minutes},
                       {"time_over_before", json_of(group.time_over_before)}};
  const std::string ratio = group.time_over_before ? format_fixed(*group.time_over_before, 3) + "x" : "-";
  return {.text = ratio, .detail = "#" + group.before->id, .value = std::move(value)};
}

TableCell flags_cell(const AuditGroup& group) {
  std::string text;
  for (const std::string& flag : group.flags) text += (text.empty() ? "" : "; ") + flag;
  return {.text = text.empty() ? "-" : text, .detail = "", .value = group.flags};
}

std::vector<Column> group_columns() {
  return {
      {.key = "folder", .title = "folder", .wraps = true},
      {.key = "subdir", .title = "sub-directory", .wraps = true, .priority = 2},
      {.key = "steps", .title = "steps", .is_number = true},
      {.key = "hardware", .title = "hardware", .wraps = true, .priority = 5},
      {.key = "script", .title = "script", .priority = 6},
      {.key = "n", .title = "n", .is_number = true},
      {.key = "val_loss", .title = "val loss", .is_number = true},
      {.key = "t", .title = "t", .is_number = true, .priority = 7},
      {.key = "p", .title = "p", .is_number = true},
      {.key = "z_rule", .title = "z rule", .is_number = true, .priority = 4},
      {.key = "train_s", .title = "time s", .is_number = true, .priority = 1},
      {.key = "train_cv", .title = "CV", .is_number = true, .priority = 8},
      {.key = "time_over_before", .title = "time / record before", .is_number = true, .priority = 3},
      {.key = "verdict", .title = "evidence in this folder", .wraps = true},
      {.key = "flags", .title = "flags", .wraps = true},
  };
}

std::vector<TableCell> group_cells(const AuditGroup& group) {
  TableCell verdict = text_cell(to_string(group.verdict));
  verdict.detail = group.reason;
  return {
      text_cell(group.folder),
      group.subdir.empty() ? TableCell{.text = "-", .detail = "", .value = ""} : text_cell(group.subdir),
      count_or_missing(group.planned_steps),
      text_cell(group.hardware),
      script_cell(group),
      count_of(group),
      summary_cell(group.loss, 1, 5),
      group.t ? number_cell(group.t->t, format_fixed(group.t->t, 3)) : missing_cell(),
      group.t ? number_cell(group.t->p, probability(group.t->p)) : missing_cell(),
      rule_cell(group.z),
      summary_cell(group.train_ms, 1000, 2),
      group.train_cv ? number_cell(group.train_cv, format_fixed(*group.train_cv * 100, 2) + " %") : missing_cell(),
      before_cell(group),
      std::move(verdict),
      flags_cell(group),
  };
}

Table groups_table(const char* id, const char* title, const std::vector<AuditGroup>& groups) {
  Table table{.id = id, .title = title, .columns = group_columns()};
  for (const AuditGroup& group : groups) table.rows.push_back(group_cells(group));
  return table;
}

Table runs_table(const Audit& audit) {
  Table table{.id = "runs",
              .title = "Runs",
              .columns = {{.key = "folder", .title = "folder", .wraps = true},
                          {.key = "subdir", .title = "sub-directory", .wraps = true, .priority = 1},
                          {.key = "file", .title = "file", .wraps = true},
                          {.key = "run", .title = "run", .is_number = true, .priority = 3},
                          {.key = "steps", .title = "steps", .is_number = true},
                          {.key = "script", .title = "script", .priority = 2},
                          {.key = "val_loss", .title = "val loss", .is_number = true},
                          {.key = "train_ms", .title = "time ms", .is_number = true},
                          {.key = "counted", .title = "counted", .wraps = true}}};
  for (const AuditGroup& group : audit.groups) {
    for (const AuditedRun& run : group.runs) {
      TableCell counted{.text = run.is_counted() ? "yes" : "no", .detail = run.repeats, .value = run.is_counted()};
      table.rows.push_back({text_cell(group.folder), text_cell(group.subdir), text_cell(run.file.name),
                            count_cell(static_cast<std::int64_t>(run.index) + 1), count_or_missing(run.planned_steps),
                            script_cell(group),
                            run.loss ? number_cell(run.loss, format_fixed(*run.loss, 5)) : missing_cell(),
                            run.train_ms ? number_cell(run.train_ms, format_fixed(*run.train_ms, 0)) : missing_cell(),
                            std::move(counted)});
    }
  }
  return table;
}

std::string rule_text(const AuditOptions& options) {
  const std::string target = format_fixed(options.target, 4);
  if (options.rule == AuditRule::kZ)
    return "(" + target + " - mean) * sqrt(n) >= " + format_significant(options.z_threshold, 1);
  return "mean <= " + target + " with p < " + format_significant(options.p_limit, 1) + " (one-sided t test)";
}

/// "3 of 21 groups meet the rule, mean <= 3.2800 with p < 0.01; 4 do not; 14 cannot be tested."
std::string headline(const Audit& audit) {
  std::size_t meeting = 0, failing = 0, open = 0;
  for (const AuditGroup& group : audit.groups) {
    meeting += group.verdict == AuditVerdict::kMeets ? 1 : 0;
    failing += group.verdict == AuditVerdict::kDoesNotMeet ? 1 : 0;
    open += group.verdict == AuditVerdict::kInconclusive ? 1 : 0;
  }
  const std::size_t all = audit.groups.size();
  if (all == 0) return "These logs hold no run.";
  std::string text = std::to_string(meeting) + " of " + std::to_string(all) +
                     (all == 1 ? " group of runs " : " groups of runs ") + (meeting == 1 ? "meets" : "meet") +
                     " the rule, " + rule_text(audit.options);
  if (failing > 0) text += "; " + std::to_string(failing) + (failing == 1 ? " does not" : " do not");
  if (open > 0) text += "; " + std::to_string(open) + " cannot be tested";
  return text + ".";
}

Section head_of(const Audit& audit) {
  Section head;
  const auto add = [&](const char* key, const char* title, TableCell cell) {
    head.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  std::int64_t runs = 0;
  std::int64_t meeting = 0;
  for (const AuditGroup& group : audit.groups) {
    runs += static_cast<std::int64_t>(group.runs.size());
    meeting += group.verdict == AuditVerdict::kMeets ? 1 : 0;
  }
  add("files", "files read", count_cell(static_cast<std::int64_t>(audit.files)));
  add("other_files", "of them without any log", count_cell(static_cast<std::int64_t>(audit.other_files)));
  add("bytes", "size", {.text = format_bytes(static_cast<double>(audit.bytes)), .detail = "", .value = audit.bytes});
  add("runs", "runs", count_cell(runs));
  add("target", "target loss",
      {.text = format_fixed(audit.options.target, 4), .detail = "", .value = audit.options.target});
  add("rule", "rule", text_cell(rule_text(audit.options)));
  const std::string whole =
      std::to_string(meeting) + " of " + std::to_string(audit.groups.size()) + " groups meet the rule";
  add("verdict", "all together",
      {.text = to_string(audit.verdict()), .detail = whole, .value = to_string(audit.verdict())});
  return head;
}

}  // namespace

Document audit_report(const Audit& audit, bool has_runs, bool has_charts) {
  Document document{.kind = "audit", .title = "What these logs show"};
  document.headline = headline(audit);
  document.sections.push_back(head_of(audit));
  Section pictures{.title = "Charts"};
  for (std::optional<Chart>& chart : std::array{audit_loss_chart(audit), audit_time_chart(audit)}) {
    if (chart && has_charts) pictures.charts.push_back(std::move(*chart));
  }
  if (!pictures.charts.empty()) document.sections.push_back(std::move(pictures));
  Section body;
  body.tables.push_back(groups_table("groups", "", audit.groups));
  if (!audit.pooled.empty())
    body.tables.push_back(groups_table("pooled", "Groups with several scripts, taken together", audit.pooled));
  if (has_runs) body.tables.push_back(runs_table(audit));
  document.sections.push_back(std::move(body));
  document.warnings = audit.problems;
  document.reading = {
      "One row: the runs of one script, number of steps and kind of machine in one folder. All numbers are recomputed "
      "from the logs named; nothing is said about runs that are not there.",
      "val loss: at the last planned step, mean ±sample standard deviation. p: one-sided one-sample t test against the "
      "target. z rule: (target - mean) * sqrt(n), which stands for a known spread; one run can meet it.",
      "time / record before: mean training time over the published time of the record before this folder's. It never "
      "decides: the published time is of another machine.",
      "A run that repeats another one of its group is counted once. script: digest of the script that the log holds.",
  };
  return document;
}

}  // namespace nanobench::reports
