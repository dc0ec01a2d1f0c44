// Commands that `bench` measured: their times, and each against the reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/process/command.h"
#include "reports/effects/effects.h"
#include "reports/kinds/bench_data.h"
#include "reports/kinds/bench_words.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "results/metric.h"
#include "suites/bench/bench_suite.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr int kRoundsAdvised = 10;  // where there are too few to know

const CellMeasures* cell_named(const std::vector<CellMeasures>& cells, const std::string& label) {
  const auto found =
      std::find_if(cells.begin(), cells.end(), [&](const auto& cell) { return cell.cell.label == label; });
  return found == cells.end() ? nullptr : &*found;
}

std::vector<double> wall_times(const CellMeasures& cell) {
  std::vector<double> times;
  for (const auto& [round, ms] : clocks(cell)) times.push_back(ms);
  return times;
}

OrderedJson ratio_json(const MeasuredEffect& time) {
  OrderedJson json = {{"value", time.value ? OrderedJson(std::exp(*time.value)) : OrderedJson(nullptr)}};
  const bool has_interval = time.interval.has_value();
  json["low"] = has_interval ? json_of(std::exp(time.interval->low)) : OrderedJson(nullptr);
  json["high"] = has_interval ? json_of(std::exp(time.interval->high)) : OrderedJson(nullptr);
  return json;
}

TableCell mean_and_sd(const Summary& summary, const TimeUnit& unit) {
  TableCell cell = summary_cell(summary, [&](double ms) { return unit.text(ms); });
  if (summary.sd) cell.detail = "±" + unit.like(*summary.sd, summary);
  return cell;
}

TableCell range_cell(const std::vector<double>& times, const Summary& mean, const TimeUnit& unit) {
  if (times.empty()) return value_cell("-", {{"min", nullptr}, {"median", nullptr}, {"max", nullptr}});
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  return value_cell(unit.like(*low, mean) + " to " + unit.like(*high, mean),
                    {{"min", *low}, {"median", json_of(median(times))}, {"max", *high}});
}

TableCell runs_cell(const Comparison& row) {
  OrderedJson json = {{"completed", row.completed}, {"planned", row.planned}, {"failed", row.failed}};
  const bool is_whole = row.completed == row.planned;
  return value_cell(std::to_string(row.completed) + (is_whole ? "" : " of " + std::to_string(row.planned)), json);
}

Table commands_table(const results::Store& store, const BenchData& data) {
  const TimeUnit time_unit = unit_of(data.cells);
  const std::string unit = std::string(" ") + time_unit.name;
  Table table{.id = "commands",
              .title = "",
              .columns = {wide_column("command", "command"), number_column("wall_ms", "mean" + unit),
                          number_column("range_ms", "range" + unit), number_column("user_ms", "user" + unit),
                          number_column("system_ms", "system" + unit), number_column("peak_bytes", "peak"),
                          number_column("n", "runs")}};
  for (std::size_t i = 0; i < data.cells.size(); ++i) {
    const CellMeasures& cell = data.cells[i];
    const Comparison& row = data.table.rows[i];
    const Summary user = summarise(samples_of(store, cell, results::kUserMs));
    const Summary system = summarise(samples_of(store, cell, results::kSystemMs));
    const auto plain = [&](const Summary& summary) {
      return value_cell(summary.mean ? time_unit.like(*summary.mean, row.clock_ms) : "-", json_of(summary));
    };
    table.rows.push_back(
        {text_cell(cell.cell.label), mean_and_sd(row.clock_ms, time_unit),
         range_cell(wall_times(cell), row.clock_ms, time_unit), plain(user), plain(system),
         value_cell(row.peak_bytes.mean ? format_bytes(*row.peak_bytes.mean) : "-", json_of(row.peak_bytes)),
         runs_cell(row)});
  }
  return table;
}

Table contrasts_table(const BenchData& data) {
  Table table{.id = "contrasts",
              .title = "Against " + data.reference,
              .columns = {wide_column("command", "command"), text_column("time_ratio", "time ratio"),
                          text_column("verdict", "verdict"), wide_column("decides", "to decide")}};
  for (const EffectResult& effect : data.effects) {
    const MeasuredEffect& time = effect.log_time;
    TableCell ratio = value_cell(time.value ? format_ratio(std::exp(*time.value)) + ratio_interval_text(time) : "-",
                                 ratio_json(time));
    OrderedJson verdict = {{"word", bench_verdict(time)},
                           {"p", json_of(time.adjusted_p)},
                           {"p_same", json_of(time.equivalence_p)},
                           {"rounds", time.n}};
    const std::string remedy = text_of(remedy_of(data, effect));
    table.rows.push_back({text_cell(effect.contrast.effect), std::move(ratio),
                          value_cell(bench_verdict(time), std::move(verdict)),
                          remedy.empty() ? missing_cell() : text_cell(remedy)});
  }
  return table;
}

/// The cells with a metric in place of the loss, so that the same statistics judge it.
std::vector<CellMeasures> cells_with(const results::Store& store, const BenchData& data, const std::string& metric) {
  std::vector<CellMeasures> cells = data.cells;
  for (CellMeasures& cell : cells) {
    const BySeed values = samples_of(store, cell, results::kMetricPrefix + metric);
    for (RunMeasure& run : cell.runs) {
      const auto value = values.find(run.run.seed);
      run.val_loss = run.run.is_completed() && value != values.end() ? std::optional(value->second) : std::nullopt;
    }
  }
  return cells;
}

std::string metric_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::kImproved: return "lower";
    case Verdict::kRegressed: return "higher";
    case Verdict::kUnchanged: return "same";
    case Verdict::kMissing: return "no result";
    default: return "open";
  }
}

void add_metric(const results::Store& store, const BenchData& data, const std::string& name, const std::string& unit,
                Table& table) {
  const std::vector<CellMeasures> cells = cells_with(store, data, name);
  const CellMeasures* const reference = cell_named(cells, data.reference);
  EffectRules rules = data.rules;
  const double size = reference == nullptr ? 0.0 : std::abs(summarise(val_losses(*reference)).mean.value_or(0.0));
  rules.loss_margin = std::max(data.settings.margin * size, std::numeric_limits<double>::min());
  const std::vector<EffectResult> effects = judged_commands(data.plan, cells, rules);
  const auto format = [](double value) { return format_significant(value, 4); };
  for (const CellMeasures& cell : cells) {
    const auto effect = std::find_if(effects.begin(), effects.end(),
                                     [&](const EffectResult& one) { return one.contrast.effect == cell.cell.label; });
    std::vector<TableCell> row = {text_cell(name), text_cell(cell.cell.label),
                                  summary_cell(summarise(val_losses(cell)), format), text_or_missing(unit)};
    if (effect == effects.end()) {
      row.insert(row.end(), {missing_cell(), missing_cell()});
    } else {
      const MeasuredEffect& change = effect->loss;
      OrderedJson json = {{"value", json_of(change.value)}};
      add_bounds(json, change.interval);
      std::string text = change.value ? (*change.value > 0.0 ? "+" : "") + format(*change.value) : "-";
      if (change.interval) text += " (" + format(change.interval->low) + " to " + format(change.interval->high) + ")";
      row.push_back(value_cell(text, json));
      row.push_back(text_cell(metric_verdict(change.verdict)));
    }
    table.rows.push_back(std::move(row));
  }
}

std::optional<Table> metrics_table(const results::Store& store, const BenchData& data) {
  if (data.settings.metrics.empty()) return std::nullopt;
  Table table{
      .id = "metrics",
      .title = data.settings.turn_ms ? "Numbers from the output; times and speeds among them include pauses"
                                     : "Numbers from the output",
      .columns = {text_column("metric", "metric"), wide_column("command", "command"), number_column("mean", "mean"),
                  text_column("unit", "unit"), text_column("change", "change"), text_column("verdict", "verdict")}};
  for (const auto& [name, unit] : data.settings.metrics) add_metric(store, data, name, unit, table);
  return table;
}

/// One row for each run, for programs.
Table runs_table(const results::Store& store, const BenchData& data) {
  Table table{.id = "runs",
              .title = "Runs",
              .columns = {number_column("run", "run"), wide_column("command", "command"),
                          number_column("round", "round"), text_column("outcome", "outcome"),
                          number_column("exit_code", "exit code"), number_column("wall_ms", "wall ms"),
                          number_column("user_ms", "user ms"), number_column("system_ms", "system ms"),
                          number_column("peak_bytes", "peak"), text_column("metrics", "metrics")}};
  if (data.settings.turn_ms) table.columns.push_back(number_column("turns", "turns"));
  for (const CellMeasures& cell : data.cells) {
    const BySeed user = samples_of(store, cell, results::kUserMs), system = samples_of(store, cell, results::kSystemMs);
    const BySeed turns = samples_of(store, cell, results::kTurns);
    std::vector<BySeed> metrics;
    for (const auto& [name, unit] : data.settings.metrics)
      metrics.push_back(samples_of(store, cell, results::kMetricPrefix + name));
    for (const RunMeasure& run : cell.runs) {
      const auto at = [&](const BySeed& values) {
        const auto found = values.find(run.run.seed);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      };
      OrderedJson numbers = OrderedJson::object();
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < metrics.size(); ++i) {
        const std::optional<double> value = at(metrics[i]);
        numbers[data.settings.metrics[i].first] = json_of(value);
        if (value) texts.push_back(data.settings.metrics[i].first + " " + format_significant(*value, 6));
      }
      const auto& result = run.run.result;
      table.rows.push_back({count_cell(run.run.id), text_cell(cell.cell.label), seed_cell(run.run.seed),
                            text_cell(result ? enum_name(result->outcome) : "running"),
                            count_cell(result ? result->exit_code : std::nullopt),
                            significant_cell(run.raw_clock_ms, 6), significant_cell(at(user), 6),
                            significant_cell(at(system), 6), bytes_cell(result ? result->peak_bytes : std::nullopt),
                            value_cell(joined(texts), numbers)});
      if (data.settings.turn_ms) table.rows.back().push_back(significant_cell(at(turns), 6));
    }
  }
  return table;
}

/// The plan's own command with this number of runs.
std::string command_with_runs(const results::PlanRecord& plan, int runs) {
  std::vector<std::string> words = {"bench", "--runs", std::to_string(runs)};
  const std::vector<std::string> rest = core::without_options({plan.argv.begin() + 2, plan.argv.end()},
                                                              {"--runs", "--min-runs", "--max-runs", "--budget"});
  words.insert(words.end(), rest.begin(), rest.end());
  return shell_words(words);
}

/// The measurement that decides what is open and can be decided, if there is one, and the page.
std::vector<NextStep> bench_next_steps(const BenchData& data) {
  const NextStep page = {.command = "report --plan " + std::to_string(data.plan.id) + " --out bench.html",
                         .gain = "the page with every metric and interval"};
  int rounds = 0;
  std::vector<std::string> names;
  for (const EffectResult& effect : data.effects) {
    if (effect.log_time.verdict != Verdict::kInconclusive || !effect.missing.empty()) continue;
    const BenchRemedy remedy = remedy_of(data, effect);
    if (remedy.kind == BenchRemedy::Kind::kQuietMachine) continue;
    const int needed = remedy.kind == BenchRemedy::Kind::kFirstRounds ? kRoundsAdvised : remedy.rounds;
    rounds = std::max(rounds, needed);
    names.push_back(effect.contrast.effect);
  }
  if (names.empty() || data.plan.argv.size() < 2) return {page};
  double round_s = 0.0;
  for (const Comparison& row : data.table.rows) round_s += row.clock_ms.mean.value_or(0.0) / 1000.0;
  return {{.command = command_with_runs(data.plan, rounds),
           .gain = "about " + format_duration(rounds * round_s) + "; probably decides " +
                   listed_first(names, kNamedCommands)},
          page};
}

}  // namespace

bool is_of_bench(const results::PlanRecord& plan) {
  return plan.scale == suites::kBenchScale;
}

Document bench_report(const results::Store& store, const results::PlanRecord& plan, bool has_runs) {
  const BenchData data = bench_data(store, plan);
  Document document{.kind = "bench",
                    .title = "Bench: " + counted(static_cast<std::int64_t>(plan.cells.size()), "command")};
  if (plan.suite != "bench") document.title += " of " + plan.suite;
  document.headline = bench_headline(data);
  Section& section = document.sections.emplace_back();
  FactList facts;
  int rounds = 0;
  for (const Comparison& row : data.table.rows) rounds = std::max(rounds, row.planned);
  facts.add("rounds", "rounds", count_cell(rounds));
  facts.add("order_seed", "order seed", seed_cell(plan.order_seed));
  if (!data.effects.empty()) {
    facts.add("reference", "reference", data.reference);
    facts.add("margin", "margin",
              value_cell(format_significant_percent(data.settings.margin, 2), data.settings.margin));
  }
  if (data.settings.turn_ms)
    facts.add("turn_ms", "turns of", value_cell(turn_text(*data.settings.turn_ms), *data.settings.turn_ms));
  facts.add("plan", "plan", count_cell(plan.id));
  section.facts = facts.facts;
  section.tables.push_back(commands_table(store, data));
  if (!data.effects.empty()) section.tables.push_back(contrasts_table(data));
  if (std::optional<Table> metrics = metrics_table(store, data)) section.tables.push_back(*std::move(metrics));
  if (has_runs) section.tables.push_back(runs_table(store, data));
  document.next = bench_next_steps(data);
  for (const BenchWarning& warning : bench_warnings(store, data)) document.warnings.push_back(text_of(warning));
  document.reading = bench_reading(data);
  return document;
}

}  // namespace nanobench::reports
