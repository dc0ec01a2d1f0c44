#include "reports/kinds/provenance_section.h"

#include <map>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMostValues = 4;  // of one fact

/// How many runs say what, by fact.
using Counts = std::map<std::string, std::map<std::string, int>>;

Counts count_facts(const results::Store& store, const std::vector<CellMeasures>& cells) {
  Counts counts;
  std::map<std::int64_t, std::map<std::string, std::string>> known;  // runs share environments
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
  std::string text;
  std::size_t shown = 0;
  for (const auto& [value, runs] : values) {
    if (shown++ == kMostValues) break;
    text += (text.empty() ? "" : "; ") + value + " (" + std::to_string(runs) + (runs == 1 ? " run)" : " runs)");
  }
  if (values.size() > kMostValues) text += "; and " + std::to_string(values.size() - kMostValues) + " more";
  return text_cell(text);
}

/// What the plan's own command named, so that the others find the same database.
std::string database_words(const std::vector<std::string>& argv) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "--db" && i + 1 < argv.size()) return " " + shell_words({"--db", argv[i + 1]});
    if (argv[i].starts_with("--db=")) return " " + shell_words({argv[i]});
  }
  return "";
}

/// The plan's own command, which then trains anew; empty where a command made it that cannot.
std::string again_command(const std::vector<std::string>& argv) {
  if (argv.size() < 3 || (argv[1] != "run" && argv[1] != "ablate" && argv[1] != "claims")) return "";
  std::vector<std::string> words = argv;
  words.front() = "nanobench";  // wherever that one lay
  if (std::find(words.begin(), words.end(), "--fresh") == words.end()) words.emplace_back("--fresh");
  return shell_words(words);
}

Table commands_table(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells) {
  Table table{.id = "reproduce",
              .title = "How to reproduce each number",
              .columns = {{.key = "numbers", .title = "numbers", .wraps = true},
                          {.key = "command", .title = "command", .wraps = true}}};
  const std::string database = database_words(plan.argv), id = std::to_string(plan.id);
  const auto add = [&](const std::string& numbers, const std::string& command) {
    table.rows.push_back({text_cell(numbers), text_cell(command)});
  };
  if (const std::string again = again_command(plan.argv); !again.empty()) add("all of them, trained anew", again);
  add("every mean, effect, interval, p and verdict, from the stored runs",
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
              .columns = {{.key = "fact", .title = "fact"}, {.key = "value", .title = "value", .wraps = true}}};
  for (const auto& [name, values] : count_facts(store, cells)) {
    table.rows.push_back({text_cell(name), values_cell(values)});
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports
