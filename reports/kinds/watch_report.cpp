#include <cmath>

#include "core/base/text.h"
#include "reports/comparison/conditions.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "reports/watch/watch_text.h"

namespace nanobench::reports {
namespace {

TableCell average_cell(const Summary& summary, int digits) {
  if (!summary.mean) return missing_cell();
  return summary_cell(summary, [=](double value) { return format_fixed(value, digits); });
}

std::optional<double> last_value(const std::vector<results::Sample>& samples) {
  return samples.empty() ? std::nullopt : std::optional(samples.back().value);
}

Section plan_section(const WatchState& state) {
  FactList list;
  list.add("plan", "plan", count_cell(state.plan_id));
  list.add("suite", "suite", state.suite);
  list.add("title", "title", state.title);
  list.add("scale", "scale", told_unless(state.scale, kOfTrainer));
  list.add("data", "data", told_unless(state.data_name, kOfTrainer));
  list.add("state", "state", value_cell(runner_text(state), enum_name(state.runner.state)));
  list.add("process", "process", state.runner.owner ? count_cell(state.runner.owner->pid) : missing_cell());
  list.add("host", "host", state.runner.owner ? text_cell(state.runner.owner->host) : missing_cell());
  list.add("silent_s", "last seen, ago", duration_cell(state.runner.silent_s));
  list.add("command", "command", state.runner.command);
  list.add("runs", "runs", count_cell(state.lines.all));
  list.add("trained", "trained", count_cell(state.lines.trained));
  list.add("reused", "reused", count_cell(state.lines.reused));
  list.add("failed", "failed", count_cell(state.lines.failed));
  list.add("running", "running", count_cell(state.lines.running));
  list.add("queued", "queued", count_cell(state.lines.queued));
  list.add("to_do", "to do", count_cell(state.lines.to_do));
  list.add("elapsed_s", "so far", duration_cell(state.elapsed_s));
  list.add("remaining_s", "left", duration_cell(state.remaining_s));
  return {.title = "", .facts = std::move(list.facts)};
}

Section run_section(const WatchedRun& run) {
  FactList list;
  list.add("run", "run", count_cell(run.id));
  list.add("run_cell", "cell", run.cell);
  list.add("run_seed", "seed", seed_cell(run.seed));
  list.add("run_step", "steps done", count_cell(run.step));
  list.add("run_steps", "of steps", count_cell(run.total_steps));
  list.add("run_train_loss", "training loss", fixed_cell(last_value(run.train_losses), 4));
  list.add("run_val_loss", "validation loss", fixed_cell(last_value(run.val_losses), 4));
  list.add("run_step_ms", "ms/step", fixed_cell(run.step_ms, 2));
  list.add("run_elapsed_s", "so far", duration_cell(run.elapsed_s));
  list.add("run_remaining_s", "left", duration_cell(run.remaining_s));
  Table table{.id = "validations", .columns = {number_column("step", "step"), number_column("val_loss", "val loss")}};
  for (const results::Sample& sample : run.val_losses)
    table.rows.push_back({count_cell(sample.step), fixed_cell(sample.value, 4)});
  return {.title = "Running", .facts = std::move(list.facts), .tables = {std::move(table)}};
}

Section nodes_section(const WatchState& state) {
  FactList list;
  list.add("slurm_jobs", "Slurm jobs", joined(state.slurm->job_ids, " "));
  list.add("slurm_queue", "last answer of Slurm", state.slurm->queue);
  list.add("uncollected", "results to collect", count_cell(state.slurm->uncollected));
  Table table{.id = "node_runs",
              .columns = {text_column("cell", "cell"), number_column("seed", "seed"), text_column("host", "host"),
                          number_column("step", "steps done"), number_column("steps", "of steps"),
                          number_column("train_loss", "training loss"), number_column("val_loss", "validation loss"),
                          number_column("step_ms", "ms/step"), number_column("elapsed_s", "so far"),
                          number_column("remaining_s", "left"), number_column("silent_s", "last heard, ago")}};
  for (const WatchedRun& run : state.node_runs) {
    table.rows.push_back({text_cell(run.cell), seed_cell(run.seed), text_cell(run.host), count_cell(run.step),
                          count_cell(run.total_steps), fixed_cell(last_value(run.train_losses), 4),
                          fixed_cell(last_value(run.val_losses), 4), fixed_cell(run.step_ms, 2),
                          duration_cell(run.elapsed_s), duration_cell(run.remaining_s), duration_cell(run.silent_s)});
  }
  return {.title = "On Slurm nodes", .facts = std::move(list.facts), .tables = {std::move(table)}};
}

TableCell memory_cell(const std::optional<double>& bytes) {
  return bytes ? bytes_cell(std::llround(*bytes)) : missing_cell();
}

Section machine_section(const WatchedMachine& machine) {
  FactList list;
  list.add("processors", "processors", count_cell(machine.processors));
  list.add("load_1m", "load", fixed_cell(machine.load_1m, 2));
  list.add("busy_share", "busy", percent_cell(machine.busy_share, 1));
  list.add("steal_share", "stolen", percent_cell(machine.steal_share, 1));
  list.add("memory_available_bytes", "memory free", memory_cell(machine.available_bytes));
  list.add("memory_total_bytes", "memory", memory_cell(machine.total_bytes));
  return {.title = "This machine", .facts = std::move(list.facts)};
}

Table cell_table(const std::vector<WatchedCell>& cells) {
  Table table{
      .id = "cells",
      .columns = {text_column("cell", "cell"), number_column("planned", "runs"), number_column("finished", "finished"),
                  number_column("failed", "failed"), number_column("val_loss", "val loss"),
                  number_column("step_ms", "step ms"), wide_column("state", "state")}};
  for (const WatchedCell& cell : cells) {
    TableCell state = text_cell(enum_name(cell.state));
    if (cell.end) state.detail = text_of(*cell.end);
    table.rows.push_back({text_cell(cell.label), count_cell(cell.planned), count_cell(cell.finished),
                          count_cell(cell.failed), average_cell(cell.val_loss, 4), average_cell(cell.step_ms, 2),
                          std::move(state)});
  }
  return table;
}

}  // namespace

Document watch_report(const WatchState& state) {
  Document document{.kind = "watch", .title = plan_text(state)};
  document.sections.push_back(plan_section(state));
  if (state.run) document.sections.push_back(run_section(*state.run));
  if (state.slurm) document.sections.push_back(nodes_section(state));
  if (state.machine) document.sections.push_back(machine_section(*state.machine));
  document.sections.emplace_back(Section{.title = "Cells", .tables = {cell_table(state.cells)}});
  for (const WatchWarning& warning : state.warnings) document.warnings.push_back(text_of(warning));
  if (!state.problem.empty()) document.warnings.push_back(state.problem);
  return document;
}

}  // namespace nanobench::reports
