#include "reports/kinds/store_report.h"

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

TableCell number_cell(std::int64_t count) {
  return {.text = format_count(count), .detail = "", .value = count};
}

TableCell bytes_cell(std::int64_t bytes) {
  return {.text = format_bytes(static_cast<double>(bytes)), .detail = "", .value = bytes};
}

void add(Section& section, const char* key, const char* title, TableCell cell) {
  section.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
}

}  // namespace

Document merge_report(const std::filesystem::path& into, const std::vector<MergedFile>& merged) {
  Document document{.kind = "merge", .title = "Merged into " + into.string()};
  Table table{.id = "files",
              .columns = {{.key = "file", .title = "from", .wraps = true},
                          {.key = "runs_added", .title = "runs added", .is_number = true},
                          {.key = "runs_known", .title = "known", .is_number = true},
                          {.key = "runs_running", .title = "left", .is_number = true},
                          {.key = "samples_added", .title = "samples added", .is_number = true, .priority = 1},
                          {.key = "plans_added", .title = "plans added", .is_number = true, .priority = 2},
                          {.key = "plans_known", .title = "known", .is_number = true, .priority = 3},
                          {.key = "baselines_added", .title = "baselines added", .is_number = true, .priority = 2}}};
  for (const MergedFile& item : merged) {
    const results::MergeResult& result = item.result;
    table.rows.push_back({text_cell(item.file.string()), number_cell(result.runs_added), number_cell(result.runs_known),
                          number_cell(result.runs_running), number_cell(result.samples_added),
                          number_cell(result.plans_added), number_cell(result.plans_known),
                          number_cell(result.baselines_added)});
    document.notes.insert(document.notes.end(), result.messages.begin(), result.messages.end());
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

Document check_report(const std::filesystem::path& file, const results::StoreCheck& check) {
  Document document{.kind = "check", .title = "Database " + file.string()};
  Section& head = document.sections.emplace_back();
  add(head, "is_fine", "state",
      {.text = check.is_fine() ? "all is whole" : "problems were found", .detail = "", .value = check.is_fine()});
  add(head, "schema", "schema", number_cell(check.schema));
  add(head, "runs", "runs", number_cell(check.runs));
  add(head, "running", "without an outcome", number_cell(check.running));
  add(head, "plans", "plans", number_cell(check.plans));
  add(head, "samples", "samples", number_cell(check.samples));
  Table table{.id = "problems",
              .columns = {{.key = "rule", .title = "rule"},
                          {.key = "text", .title = "what must hold", .wraps = true},
                          {.key = "count", .title = "broken", .is_number = true},
                          {.key = "where", .title = "where", .wraps = true}}};
  for (const results::StoreProblem& problem : check.problems) {
    TableCell where{.text = "", .detail = "", .value = problem.where};
    for (const std::string& place : problem.where) where.text += (where.text.empty() ? "" : "; ") + place;
    if (problem.count > static_cast<std::int64_t>(problem.where.size())) where.text += "; ...";
    table.rows.push_back(
        {text_cell(problem.rule), text_cell(problem.text), number_cell(problem.count), std::move(where)});
  }
  if (!table.rows.empty()) {
    head.tables.push_back(std::move(table));
    document.notes.push_back("Damaged pages: `sqlite3 FILE .recover` saves what can be read. Nothing was changed.");
  } else if (check.running > 0) {
    document.notes.push_back(
        "A run without an outcome is at work, or the next `nanobench run` marks it as interrupted.");
  }
  return document;
}

Document vacuum_report(const std::filesystem::path& file, const results::VacuumResult& result) {
  Document document{.kind = "vacuum", .title = "Database " + file.string()};
  Section& head = document.sections.emplace_back();
  add(head, "bytes_before", "size before", bytes_cell(result.bytes_before));
  add(head, "bytes_after", "size after", bytes_cell(result.bytes_after));
  add(head, "summaries_made", "summaries made", number_cell(result.summaries_made));
  return document;
}

}  // namespace nanobench::reports
