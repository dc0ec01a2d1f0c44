#include "core/base/text.h"
#include "reports/kinds/kinds.h"
#include "results/check.h"
#include "results/store.h"

namespace nanobench::reports {
namespace {

/// "12,345"
TableCell whole_cell(std::int64_t count) {
  return value_cell(format_count(count), count);
}

NextStep plans_step(const std::filesystem::path& file) {
  return {.command = shell_words({"list", "plans", "--db", file.string()}), .gain = "what it holds"};
}

NextStep check_step(const std::filesystem::path& file) {
  return {.command = shell_words({"db", "check", file.string()}), .gain = "whether it is intact"};
}

}  // namespace

Document merge_report(const std::filesystem::path& into, const std::vector<MergedFile>& merged) {
  Document document{.kind = "merge", .title = "Merged into " + into.string()};
  Table table{
      .id = "files",
      .columns = {wide_column("file", "from"), number_column("runs_added", "runs added"),
                  number_column("runs_known", "known"), number_column("runs_running", "left"),
                  number_column("samples_added", "samples added", 1), number_column("plans_added", "plans added", 2),
                  number_column("plans_known", "known", 3), number_column("baselines_added", "baselines added", 2)}};
  for (const MergedFile& item : merged) {
    const results::MergeResult& result = item.result;
    table.rows.push_back({text_cell(item.file.string()), whole_cell(result.runs_added), whole_cell(result.runs_known),
                          whole_cell(result.runs_running), whole_cell(result.samples_added),
                          whole_cell(result.plans_added), whole_cell(result.plans_known),
                          whole_cell(result.baselines_added)});
    document.notes.insert(document.notes.end(), result.messages.begin(), result.messages.end());
  }
  document.next = {plans_step(into), check_step(into)};
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

Document check_report(const std::filesystem::path& file, const results::StoreCheck& check) {
  Document document{.kind = "check", .title = "Database " + file.string()};
  FactList list;
  list.add("is_fine", "state", value_cell(check.is_fine() ? "no problem found" : "problems found", check.is_fine()));
  list.add("schema", "schema", whole_cell(check.schema));
  list.add("runs", "runs", whole_cell(check.runs));
  list.add("running", "without an outcome", whole_cell(check.running));
  list.add("plans", "plans", whole_cell(check.plans));
  list.add("samples", "samples", whole_cell(check.samples));
  Section& head = document.sections.emplace_back();
  head.facts = std::move(list.facts);
  Table table{.id = "problems",
              .columns = {text_column("rule", "rule"), wide_column("text", "what must hold"),
                          number_column("count", "broken"), wide_column("where", "where")}};
  for (const results::StoreProblem& problem : check.problems) {
    TableCell where = value_cell(joined(problem.where, "; "), problem.where);
    if (problem.count > static_cast<std::int64_t>(problem.where.size())) where.text += "; ...";
    table.rows.push_back(
        {text_cell(problem.rule), text_cell(problem.text), whole_cell(problem.count), std::move(where)});
  }
  document.next = {plans_step(file)};
  if (!table.rows.empty()) {
    head.tables.push_back(std::move(table));
    document.notes.push_back("Nothing was changed. `sqlite3 FILE .recover` saves what can be read of damaged pages.");
  } else if (check.running > 0) {
    document.notes.push_back(
        "A run without an outcome is still running, or the next `nanobench run` marks it as interrupted.");
  }
  return document;
}

Document vacuum_report(const std::filesystem::path& file, const results::VacuumResult& result) {
  Document document{.kind = "vacuum", .title = "Database " + file.string()};
  FactList list;
  list.add("bytes_before", "size before", bytes_cell(result.bytes_before));
  list.add("bytes_after", "size after", bytes_cell(result.bytes_after));
  list.add("summaries_made", "summaries made", whole_cell(result.summaries_made));
  document.sections.emplace_back().facts = std::move(list.facts);
  document.next = {plans_step(file), check_step(file)};
  return document;
}

Document baseline_list_report(const std::vector<results::BaselineRecord>& baselines) {
  Document document{.kind = "list_baselines", .title = "Baselines"};
  Table table{.id = "baselines",
              .columns = {text_column("name", "name"), text_column("suite", "suite"), number_column("plan", "plan"),
                          text_column("accepted", "accepted"), text_column("created_at", "since"),
                          text_column("revision", "revision", 1), wide_column("reason", "reason", 2)}};
  for (const results::BaselineRecord& baseline : baselines) {
    table.rows.push_back({text_cell(baseline.name), text_cell(baseline.suite), count_cell(baseline.plan_id),
                          yes_no_cell(baseline.is_accepted), text_cell(baseline.created_at),
                          text_cell(baseline.revision), text_cell(baseline.reason)});
  }
  if (table.rows.empty()) document.notes.emplace_back("No baseline is stored.");
  document.next = {{.command = "baseline save NAME", .gain = "names the newest results, for a gate to compare with"}};
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

}  // namespace nanobench::reports
