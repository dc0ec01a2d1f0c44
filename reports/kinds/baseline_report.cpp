#include "reports/kinds/baseline_report.h"

namespace nanobench::reports {

Document baseline_list_report(const std::vector<results::BaselineRecord>& baselines) {
  Document document{.kind = "list_baselines", .title = "Baselines"};
  Table table{.id = "baselines",
              .columns = {{.key = "name", .title = "name"},
                          {.key = "suite", .title = "suite"},
                          {.key = "plan", .title = "plan", .is_number = true},
                          {.key = "accepted", .title = "accepted"},
                          {.key = "created_at", .title = "since"},
                          {.key = "revision", .title = "revision", .priority = 1},
                          {.key = "reason", .title = "reason", .wraps = true, .priority = 2}}};
  for (const results::BaselineRecord& baseline : baselines) {
    TableCell accepted{.text = baseline.is_accepted ? "yes" : "no", .detail = "", .value = baseline.is_accepted};
    table.rows.push_back({text_cell(baseline.name), text_cell(baseline.suite), count_cell(baseline.plan_id),
                          std::move(accepted), text_cell(baseline.created_at), text_cell(baseline.revision),
                          text_cell(baseline.reason)});
  }
  if (table.rows.empty())
    document.notes.emplace_back("There is none; `nanobench baseline save NAME` names the newest results.");
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

}  // namespace nanobench::reports
