#include "reports/kinds/disturbance_section.h"

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

/// Median step time of the cell's runs that were left alone.
std::optional<double> quiet_step_ms(const CellMeasures& cell) {
  std::vector<double> times;
  for (const RunMeasure& run : cell.runs) {
    if (run.run.is_completed() && !run.disturbance && run.step_ms && *run.step_ms > 0.0) times.push_back(*run.step_ms);
  }
  return median(std::move(times));
}

TableCell step_cell(const RunMeasure& run) {
  if (!run.step_ms) return missing_cell();
  return {.text = format_significant(*run.step_ms, 4), .detail = "", .value = *run.step_ms};
}

TableCell change_cell(const RunMeasure& run, const std::optional<double>& quiet_ms) {
  if (!run.step_ms || !quiet_ms) return missing_cell();
  const double change = *run.step_ms / *quiet_ms - 1.0;
  return {.text = (change < 0.0 ? "" : "+") + format_percent(change, 1), .detail = "", .value = change};
}

}  // namespace

std::optional<Section> disturbance_section(const std::vector<CellMeasures>& cells) {
  Table table{.id = "disturbed_runs",
              .title = "",
              .columns = {{.key = "run", .title = "run", .is_number = true},
                          {.key = "cell", .title = "cell", .wraps = true},
                          {.key = "seed", .title = "seed", .is_number = true},
                          {.key = "began", .title = "began", .priority = 2},
                          {.key = "reason", .title = "because", .wraps = true},
                          {.key = "step_ms", .title = "step ms", .is_number = true, .priority = 1},
                          {.key = "change", .title = "against quiet runs", .is_number = true}}};
  for (const CellMeasures& cell : cells) {
    const std::optional<double> quiet_ms = quiet_step_ms(cell);
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed() || !run.disturbance) continue;
      const TableCell seed{.text = std::to_string(run.run.seed), .detail = "", .value = run.run.seed};
      table.rows.push_back({count_cell(run.run.id), text_cell(cell.cell.label), seed, text_cell(run.run.started_at),
                            text_cell(*run.disturbance), step_cell(run), change_cell(run, quiet_ms)});
    }
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{.title = "Disturbed runs"};
  section.reading = {
      "Something else kept the machine busy while these runs were measured: their losses count, their times are "
      "doubtful. Against quiet runs: the step time against the median of the cell's runs that were left alone.",
      "`nanobench show RUN` prints what the machine did during one run."};
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports
