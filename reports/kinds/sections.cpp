#include "reports/kinds/sections.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/process/command.h"

namespace nanobench::reports {

core::OrderedJson json_of(const Summary& summary) {
  return {{"mean", json_of(summary.mean)}, {"sd", json_of(summary.sd)}, {"n", summary.n}};
}

void add_bounds(core::OrderedJson& json, const std::optional<ConfidenceInterval>& interval) {
  json["low"] = interval ? core::OrderedJson(interval->low) : core::OrderedJson(nullptr);
  json["high"] = interval ? core::OrderedJson(interval->high) : core::OrderedJson(nullptr);
}

namespace {

/// Median of the step times of the cell's undisturbed runs.
std::optional<double> quiet_step_ms(const CellMeasures& cell) {
  std::vector<double> times;
  for (const RunMeasure& run : cell.runs) {
    if (run.run.is_completed() && !run.disturbance && run.step_ms && *run.step_ms > 0.0) times.push_back(*run.step_ms);
  }
  return median(std::move(times));
}

TableCell change_cell(const RunMeasure& run, const std::optional<double>& quiet_ms) {
  if (!run.step_ms || !quiet_ms) return missing_cell();
  return number_cell(*run.step_ms / *quiet_ms - 1.0, [](double change) { return format_signed_percent(change, 1); });
}

}  // namespace

std::optional<Section> disturbance_section(const std::vector<CellMeasures>& cells) {
  Table table{.id = "disturbed_runs",
              .title = "",
              .columns = {number_column("run", "run"), wide_column("cell", "cell"), number_column("seed", "seed"),
                          text_column("began", "began", 2), wide_column("reason", "because"),
                          number_column("step_ms", "step ms", 1), number_column("change", "against quiet runs")}};
  for (const CellMeasures& cell : cells) {
    const std::optional<double> quiet_ms = quiet_step_ms(cell);
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed() || !run.disturbance) continue;
      table.rows.push_back({count_cell(run.run.id), text_cell(cell.cell.label), seed_cell(run.run.seed),
                            text_cell(run.run.started_at), text_cell(*run.disturbance),
                            significant_cell(run.step_ms, 4), change_cell(run, quiet_ms)});
    }
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{.title = "Disturbed runs"};
  section.reading = {
      "Other work kept the machine busy during these runs: their losses count, their times are doubtful. Against quiet "
      "runs: the step time against the median of the cell's undisturbed runs.",
      "`nanobench show RUN` prints what the machine did during one run."};
  section.tables.push_back(std::move(table));
  return section;
}

namespace {

constexpr std::size_t kMaxValues = 4;  // per fact

/// The number of runs with each value, by fact.
using Counts = std::map<std::string, std::map<std::string, int>>;

Counts count_facts(const results::Store& store, const std::vector<CellMeasures>& cells) {
  Counts counts;
  std::map<std::int64_t, std::map<std::string, std::string>> known;  // because runs share environments
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.environment_id) continue;
      const auto [facts, is_new] = known.try_emplace(*run.run.environment_id);
      if (is_new) {
        if (const auto environment = store.environment(*run.run.environment_id)) facts->second = environment->facts;
      }
      for (const auto& [name, value] : facts->second) ++counts[name][value];
    }
  }
  return counts;
}

TableCell values_cell(const std::map<std::string, int>& values) {
  if (values.size() == 1) return text_cell(values.begin()->first);
  std::vector<std::string> texts;
  for (const auto& [value, runs] : values) texts.push_back(value + " (" + counted(runs, "run") + ")");
  return text_cell(listed_first(texts, kMaxValues, "; "));
}

/// The database option of the plan's own command, so that other commands use the same database.
std::string database_words(const std::vector<std::string>& argv) {
  const std::optional<std::string> file = core::option_value(argv, "--db");
  return file ? " " + shell_words({"--db", *file}) : "";
}

/// The plan's own command with --fresh; empty if that command has no such option.
std::string again_command(const std::vector<std::string>& argv) {
  if (argv.size() < 3 || (argv[1] != "run" && argv[1] != "ablate" && argv[1] != "claims")) return "";
  std::vector<std::string> words = argv;
  words.front() = "nanobench";  // without its folder
  if (std::find(words.begin(), words.end(), "--fresh") == words.end()) words.emplace_back("--fresh");
  return shell_words(words);
}

Table commands_table(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells) {
  Table table{.id = "reproduce",
              .title = "How to reproduce each number",
              .columns = {wide_column("numbers", "numbers"), wide_column("command", "command")}};
  const std::string database = database_words(plan.argv), id = std::to_string(plan.id);
  const auto add = [&](const std::string& numbers, const std::string& command) {
    table.rows.push_back({text_cell(numbers), text_cell(command)});
  };
  if (const std::string again = again_command(plan.argv); !again.empty())
    add("all of them, from new training runs", again);
  add("every mean, effect, interval, p-value and verdict, from the stored runs",
      "nanobench report --plan " + id + " --json" + database);
  add("the runs behind a row: val loss, step time and seed of each",
      "nanobench list runs --suite " + shell_words({plan.suite}) + database);
  add("one run: curve, times, memory, machine, and whether it was disturbed", "nanobench show RUN" + database);
  add("each step's time and loss, phases and counters", "nanobench export --samples --plan " + id + database);
  for (const CellMeasures& cell : cells) {
    if (!cell.step_ms || !cell.cell.record) continue;
    add("published step time", "nanobench show " + shell_words({*cell.cell.record}));
    break;
  }
  return table;
}

}  // namespace

Section provenance_section(const results::Store& store, const results::PlanRecord& plan,
                           const std::vector<CellMeasures>& cells) {
  Section section{.title = "Where these numbers come from"};
  section.facts = {{"plan_id", "plan", count_cell(plan.id)},
                   {"plan_digest", "digest", text_cell(plan.digest)},
                   {"planned_at", "planned", text_cell(plan.created_at)},
                   {"command", "made by", text_cell(shell_words(plan.argv))}};
  section.tables.push_back(commands_table(plan, cells));
  Table table{.id = "environment",
              .title = "Programs and machines",
              .columns = {text_column("fact", "fact"), wide_column("value", "value")}};
  for (const auto& [name, values] : count_facts(store, cells)) {
    table.rows.push_back({text_cell(name), values_cell(values)});
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports
