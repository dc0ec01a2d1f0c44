#include "reports/kinds/compare_report.h"

#include <algorithm>
#include <map>

#include "reports/kinds/gate_report.h"
#include "reports/text.h"

namespace nanobench::reports {
namespace {

/// "Of 4 checks: 1 improved, 3 inconclusive."
std::string headline(const GateResult& result) {
  std::map<std::string, int> counts;
  for (const GateCheck& check : result.checks) ++counts[to_string(check.verdict)];
  std::string text;
  for (const auto& [verdict, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + verdict;
  const std::size_t all = result.checks.size();
  return "Of " + std::to_string(all) + (all == 1 ? " check: " : " checks: ") + (text.empty() ? "none" : text) + ".";
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
  return {key, key, text_cell(text + ", " + arm.hardware + ", from " + arm.measured_at)};
}

}  // namespace

Document compare_report(const GateResult& result) {
  Document document{.kind = "compare", .title = result.baseline.name + " against " + result.candidate.name};
  Section& section = document.sections.emplace_back();
  section.paragraphs.push_back(headline(result));
  Table table = checks_table(result);
  for (const char* key : {"gates", "pass_power"}) leave_out(table, key);
  section.tables.push_back(std::move(table));
  document.sections.push_back(
      {.title = "",
       .paragraphs = {},
       .facts = {side_fact("baseline", result.baseline), side_fact("candidate", result.candidate)},
       .bullets = {},
       .tables = {},
       .charts = {}});
  document.warnings = result.problems;
  document.notes = result.notes;
  document.notes.push_back(
      "change: candidate against baseline, above 0 is worse. unchanged: proved to be below the margin at " +
      format_percent(1.0 - result.policy.alpha, 0) + " (at worst: that bound). p: of \"not worse\", adjusted by Holm.");
  if (!result.is_interleaved)
    document.notes.emplace_back("The two were not run in turn: drift of the machine looks like a change of the times.");
  return document;
}

}  // namespace nanobench::reports
