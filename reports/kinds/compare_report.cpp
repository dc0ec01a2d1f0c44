#include "reports/kinds/compare_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "reports/kinds/gate_report.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMostNamed = 3;  // of each verdict; of more, the table has them

/// "better: step time of record12 (-3.1 %)", of what is proved.
std::string named(const GateResult& result, Verdict verdict, const std::string& word) {
  const bool has_cells = std::any_of(result.checks.begin(), result.checks.end(),
                                     [&](const GateCheck& check) { return check.cell != result.checks.front().cell; });
  std::string text;
  std::size_t count = 0;
  for (const GateCheck& check : result.checks) {
    if (check.verdict != verdict || ++count > kMostNamed) continue;
    text += (text.empty() ? word + ": " : ", ") + check.name;
    if (has_cells) text += " of " + check.cell;
    if (check.change && std::isfinite(*check.change)) text += " (" + change_text(check, *check.change) + ")";
  }
  return count > kMostNamed ? text + " and " + std::to_string(count - kMostNamed) + " more" : text;
}

/// "b against a: 1 of 4 checks improved, 3 inconclusive. Proved better: step time of record12 (-3.1 %)."
std::string headline(const GateResult& result) {
  std::map<std::string, int> counts;
  for (const GateCheck& check : result.checks) ++counts[to_string(check.verdict)];
  std::string text = result.candidate.name + " against " + result.baseline.name + ", ";
  if (counts.empty()) return text + "nothing to compare.";
  text += std::to_string(result.checks.size()) + (result.checks.size() == 1 ? " check: " : " checks: ");
  bool is_first = true;
  for (const auto& [verdict, count] : counts) {
    text += (is_first ? "" : ", ") + std::to_string(count) + " " + verdict;
    is_first = false;
  }
  text += ".";
  for (const std::string& part :
       {named(result, Verdict::kRegressed, "Proved worse"), named(result, Verdict::kImproved, "Proved better")}) {
    if (!part.empty()) text += " " + part + ".";
  }
  return text;
}

/// Columns that are a gate's alone.
void leave_out(Table& table, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key != key) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

Fact side_fact(const char* key, const Arm& arm) {
  std::size_t runs = 0;
  for (const ArmCell& cell : arm.cells) runs += cell.runs.size();
  std::string text = arm.name + ": " + std::to_string(runs) + (runs == 1 ? " run of " : " runs of ") + arm.engine;
  if (!arm.revision.empty()) text += ", revision " + arm.revision;
  text += ", " + arm.hardware + (arm.gpu.empty() ? "" : ", " + arm.gpu);
  return {key, key, text_cell(text + ", from " + arm.measured_at)};
}

}  // namespace

Document compare_report(const GateResult& result) {
  Document document{.kind = "compare", .title = result.baseline.name + " against " + result.candidate.name};
  document.headline = headline(result);
  Section& section = document.sections.emplace_back();
  Table table = checks_table(result);
  for (const char* key : {"gates", "pass_power"}) leave_out(table, key);
  section.tables.push_back(std::move(table));
  document.sections.push_back(
      {.title = "",
       .paragraphs = {},
       .facts = {side_fact("baseline", result.baseline), side_fact("candidate", result.candidate)},
       .bullets = {},
       .tables = {},
       .charts = {},
       .reading = {}});
  document.warnings = result.problems;
  document.notes = result.notes;
  document.reading.push_back(
      "change: candidate against baseline, above 0 is worse. unchanged: proved to be below the margin at " +
      format_percent(1.0 - result.policy.alpha, 0) + " (at worst: that bound). p: of \"not worse\", adjusted by Holm.");
  if (!result.is_interleaved)
    document.notes.emplace_back("The two were not run in turn: drift of the machine looks like a change of the times.");
  return document;
}

}  // namespace nanobench::reports
