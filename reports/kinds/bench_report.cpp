// Commands that `bench` measured: their times, and each against the reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/process/command.h"
#include "reports/effects/effects.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "results/metric.h"
#include "suites/bench/bench_suite.h"

namespace nanobench::reports {
namespace {

using core::Json;
using core::OrderedJson;

constexpr double kStartUpMs = 5.0;        ///< below it, starting a process is much of the time
constexpr std::size_t kNamedEffects = 3;  ///< a headline names as many
constexpr double kDefaultMargin = 0.01;
constexpr int kMaxRoundsNamed = 1000;  ///< larger numbers are not reported
constexpr int kRoundsAdvised = 10;     ///< where there are too few to know

/// What the plan's runs say about how it was measured.
struct BenchSettings {
  double margin = kDefaultMargin;
  std::vector<std::pair<std::string, std::string>> metrics;  ///< name, unit
  std::optional<double> turn_ms;                             ///< commands took turns of this time
};

/// One unit for all times of a report.
struct TimeUnit {
  const char* name = "ms";
  double ms = 1.0;

  std::string text(double value_ms) const { return format_significant(value_ms / ms, 4); }
  /// With as many decimals as the mean of its row.
  std::string like(double value_ms, const Summary& mean) const {
    const std::string model = mean.mean ? text(*mean.mean) : "0.000";
    const std::size_t point = model.find('.');
    return format_fixed(value_ms / ms, point == std::string::npos ? 0 : static_cast<int>(model.size() - point - 1));
  }
};

struct BenchData {
  const results::PlanRecord& plan;
  std::vector<CellMeasures> cells;
  ComparisonTable table;
  BenchSettings settings;
  EffectRules rules;
  std::vector<EffectResult> effects;
  TimeUnit unit;
  std::string reference;  ///< label
};

BenchSettings settings_of(const std::vector<CellMeasures>& cells) {
  BenchSettings settings;
  for (const CellMeasures& cell : cells) {
    if (cell.runs.empty()) continue;
    const Json config = core::json_or_null(cell.runs.front().run.config);
    if (!config.is_object()) continue;
    if (config.contains("margin") && config.at("margin").is_number())
      settings.margin = config.at("margin").get<double>();
    if (config.contains("turn_ms") && config.at("turn_ms").is_number())
      settings.turn_ms = config.at("turn_ms").get<double>();
    const Json metrics = config.value("metrics", Json::array());
    for (const Json& metric : metrics)
      settings.metrics.emplace_back(core::string_in(metric, "name"), core::string_in(metric, "unit"));
    return settings;
  }
  return settings;
}

/// "100 ms"
std::string turn_text(const BenchSettings& settings) {
  return format_significant(settings.turn_ms.value_or(0.0), 3) + " ms";
}

/// The cell that every contrast subtracts; without a contrast, the only one.
std::string reference_label(const results::PlanRecord& plan) {
  for (const results::PlanContrast& contrast : plan.contrasts) {
    for (const auto& [label, coefficient] : contrast.coefficients) {
      if (coefficient < 0.0) return label;
    }
  }
  return plan.cells.empty() ? "" : plan.cells.front().label;
}

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

/// One number of each completed run, by round.
BySeed samples_of(const results::Store& store, const CellMeasures& cell, const std::string& metric) {
  BySeed values;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed()) continue;
    const std::vector<results::Sample> samples = store.samples(run.run.id, metric);
    if (!samples.empty()) values[run.run.seed] = samples.back().value;
  }
  return values;
}

TimeUnit unit_of(const std::vector<CellMeasures>& cells) {
  double longest = 0.0;
  for (const CellMeasures& cell : cells) longest = std::max(longest, summarise(clocks(cell)).mean.value_or(0.0));
  return longest >= 1000.0 ? TimeUnit{.name = "s", .ms = 1000.0} : TimeUnit{};
}

/// Two rounds have an interval, by a spread of one degree of freedom; nobody should read it.
std::vector<EffectResult> judged(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                 const EffectRules& rules) {
  std::vector<EffectResult> effects = analyse_effects(plan, cells, rules);
  for (EffectResult& effect : effects) {
    for (MeasuredEffect* measured : {&effect.loss, &effect.log_time}) {
      if (measured->n >= rules.min_n) continue;
      measured->interval.reset();
      measured->p = measured->adjusted_p = measured->equivalence_p = std::nullopt;
    }
  }
  return effects;
}

/// What would decide an open effect with kVerdictPower.
struct RoundsNeeded {
  std::optional<int> rounds;   ///< absent: more than kMaxRoundsNamed
  bool is_if_nothing = false;  ///< to prove that there is no difference, if there is none; else as it was measured
};

RoundsNeeded rounds_to_decide(const MeasuredEffect& effect, const EffectRules& rules, std::size_t effects) {
  if (!effect.estimate || !effect.forecast) return {};
  const Margins margins = Margins::symmetric(std::log1p(rules.time_margin));
  const double alpha = rules.alpha / static_cast<double>(effects);
  const auto error = [&](int n) { return effect.forecast->at(n); };
  // A number for an effect as measured would be small by luck alone where it may as well be nothing.
  const ConfidenceInterval range = interval_of(*effect.estimate, 1.0 - rules.alpha);
  RoundsNeeded needed{.rounds = {}, .is_if_nothing = range.contains(0.0)};
  needed.rounds =
      needed.is_if_nothing
          ? required_runs_for_equivalence(0.0, error, margins, kVerdictPower, alpha, kMaxRoundsNamed)
          : required_runs_for_verdict(effect.estimate->value, error,
                                      {.margins = margins, .alpha_difference = alpha, .alpha_equivalence = alpha},
                                      kVerdictPower, kMaxRoundsNamed);
  if (needed.rounds) needed.rounds = std::max({*needed.rounds, rules.min_n, effect.n + 1});
  return needed;
}

std::string verdict_word(const MeasuredEffect& effect) {
  switch (effect.verdict) {
    case Verdict::kImproved: return "faster";
    case Verdict::kRegressed: return "slower";
    case Verdict::kUnchanged: return "same";
    case Verdict::kNotWorse:
    case Verdict::kInconclusive: return "open";
    case Verdict::kMissing: break;
  }
  return "no result";
}

/// What would decide an effect that is open.
std::string remedy_of(const BenchData& data, const EffectResult& effect) {
  const MeasuredEffect& time = effect.log_time;
  if (!effect.missing.empty()) return "no completed run of " + listed_first(effect.missing, 2);
  if (time.verdict == Verdict::kMissing) return "no round in which both were completed";
  if (time.verdict != Verdict::kInconclusive) return "";
  if (time.n < data.rules.min_n)
    return std::to_string(data.rules.min_n) + " rounds; there are " + std::to_string(time.n);
  const RoundsNeeded needed = rounds_to_decide(time, data.rules, data.effects.size());
  if (!needed.rounds) {
    return "more than " + std::to_string(kMaxRoundsNamed) +
           " rounds with this noise: a quieter machine, or a wider --margin";
  }
  const std::string rounds = "about " + std::to_string(*needed.rounds) + " rounds";
  return needed.is_if_nothing ? rounds + ", if there is no difference" : rounds;
}

/// " (0.72 to 0.76)"; empty without an interval.
std::string interval_text(const MeasuredEffect& time) {
  if (!time.interval) return "";
  return " (" + format_ratio(std::exp(time.interval->low)) + " to " + format_ratio(std::exp(time.interval->high)) + ")";
}

/// "0.74 times as long (0.72 to 0.76)"
std::string times_as_long(const MeasuredEffect& time) {
  return format_ratio(std::exp(*time.value)) + " times as long" + interval_text(time);
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
  const std::string unit = std::string(" ") + data.unit.name;
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
      return value_cell(summary.mean ? data.unit.like(*summary.mean, row.clock_ms) : "-", json_of(summary));
    };
    table.rows.push_back(
        {text_cell(cell.cell.label), mean_and_sd(row.clock_ms, data.unit),
         range_cell(wall_times(cell), row.clock_ms, data.unit), plain(user), plain(system),
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
    TableCell ratio =
        value_cell(time.value ? format_ratio(std::exp(*time.value)) + interval_text(time) : "-", ratio_json(time));
    OrderedJson verdict = {{"word", verdict_word(time)},
                           {"p", json_of(time.adjusted_p)},
                           {"p_same", json_of(time.equivalence_p)},
                           {"rounds", time.n}};
    const std::string remedy = remedy_of(data, effect);
    table.rows.push_back({text_cell(effect.contrast.effect), std::move(ratio),
                          value_cell(verdict_word(time), std::move(verdict)),
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
  const std::vector<EffectResult> effects = judged(data.plan, cells, rules);
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

std::string effect_sentence(const BenchData& data, const EffectResult& effect) {
  const MeasuredEffect& time = effect.log_time;
  const std::string name = effect.contrast.effect;
  switch (time.verdict) {
    case Verdict::kImproved:
    case Verdict::kRegressed:
      return name + " is " + verdict_word(time) + " than " + data.reference + ": it takes " + times_as_long(time) + ".";
    case Verdict::kUnchanged:
      return name + " takes as long as " + data.reference + ", within " +
             format_significant_percent(data.settings.margin, 2) + ".";
    case Verdict::kMissing: return name + " has no result against " + data.reference + ".";
    default: break;
  }
  const std::string open = name + " against " + data.reference + " is open";
  if (!time.value) return open + ".";
  const bool is_short = time.n < data.rules.min_n;
  return open + ": it takes " + times_as_long(time) + (is_short ? ", and fewer than three rounds prove nothing." : ".");
}

/// "2 of 6 commands are faster than A, 1 is slower, ...: the quickest is B."
std::string counts_sentence(const BenchData& data) {
  std::vector<std::string> parts;
  const auto add = [&](std::initializer_list<Verdict> verdicts, const std::string& one, const std::string& many) {
    const auto count = std::count_if(data.effects.begin(), data.effects.end(), [&](const EffectResult& effect) {
      return std::find(verdicts.begin(), verdicts.end(), effect.log_time.verdict) != verdicts.end();
    });
    if (count > 0) parts.push_back(std::to_string(count) + (count == 1 ? " is " + one : " are " + many));
  };
  add({Verdict::kImproved}, "faster", "faster");
  add({Verdict::kRegressed}, "slower", "slower");
  add({Verdict::kUnchanged}, "the same within " + format_significant_percent(data.settings.margin, 2),
      "the same within " + format_significant_percent(data.settings.margin, 2));
  add({Verdict::kInconclusive, Verdict::kNotWorse}, "open", "open");
  add({Verdict::kMissing}, "without a result", "without a result");
  return "Of " + counted(static_cast<std::int64_t>(data.effects.size()), "command") + " against " + data.reference +
         " " + listed(parts) + ".";
}

std::string bench_headline(const BenchData& data) {
  if (data.effects.empty()) {
    if (data.table.rows.empty() || !data.table.rows.front().clock_ms.mean) return "No run was completed.";
    const Summary& time = data.table.rows.front().clock_ms;
    std::string text = data.reference + " takes " + data.unit.text(*time.mean) + " " + data.unit.name;
    if (time.sd) text += ", with a standard deviation of " + data.unit.text(*time.sd) + " " + data.unit.name;
    return text + " (" + counted(time.n, "run") + ").";
  }
  if (data.effects.size() > kNamedEffects) return counts_sentence(data);
  std::vector<std::string> sentences;
  for (const EffectResult& effect : data.effects) sentences.push_back(effect_sentence(data, effect));
  return joined(sentences, " ");
}

/// Outliers, and first runs that are some: caches were cold.
void add_outlier_warnings(const BenchData& data, std::vector<std::string>& warnings) {
  std::vector<std::string> cold, others;
  for (const Comparison& row : data.table.rows) {
    if (!row.outliers.step_ms) continue;
    const std::vector<OutlyingRun>& runs = *row.outliers.step_ms;
    const bool is_cold =
        std::any_of(runs.begin(), runs.end(), [](const OutlyingRun& run) { return run.seed == 1 && run.score > 0.0; });
    const auto rest = static_cast<std::int64_t>(runs.size()) - (is_cold ? 1 : 0);
    if (is_cold) cold.push_back(row.label);
    if (rest > 0) others.push_back(counted(rest, "run") + " of " + row.label);
  }
  if (!cold.empty()) {
    warnings.push_back(
        "The first run of " + listed_first(cold, kNamedEffects) +
        " took much longer than the others, as with cold caches; --warmup 3 leaves it out, and --prepare "
        "can make every run begin cold.");
  }
  if (!others.empty()) {
    warnings.push_back("Outliers, more than 3.5 robust standard deviations from the median: " +
                       listed_first(others, kNamedEffects) + ". They count; a quieter machine narrows the intervals.");
  }
}

/// One sentence for all runs of a command that failed in the same way.
void add_failures(const CellMeasures& cell, std::vector<std::string>& warnings) {
  std::vector<std::pair<std::string, int>> reasons;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.result || run.run.is_completed()) continue;
    const std::string& reason = run.run.result->message;
    const auto same =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& known) { return known.first == reason; });
    if (same == reasons.end())
      reasons.emplace_back(reason, 1);
    else
      ++same->second;
  }
  for (const auto& [reason, runs] : reasons)
    warnings.push_back(cell.cell.label + ": " + counted(runs, "run") + " failed: " + reason);
}

void add_bench_warnings(const BenchData& data, std::vector<std::string>& warnings) {
  for (const CellMeasures& cell : data.cells) add_failures(cell, warnings);
  int unfinished = 0;
  std::vector<std::string> brief;
  for (const Comparison& row : data.table.rows) {
    unfinished += row.unfinished;
    if (row.clock_ms.mean && *row.clock_ms.mean < kStartUpMs) brief.push_back(row.label);
  }
  if (!brief.empty()) {
    warnings.push_back("Less than " + format_fixed(kStartUpMs, 0) + " ms: " + listed_first(brief, kNamedEffects) +
                       ". Much of that is the start of a process; let one run do the work many times.");
  }
  if (unfinished > 0) {
    warnings.push_back(counted(unfinished, "planned run was", "planned runs were") +
                       " not made: the measurement was interrupted, or their command failed.");
  }
  add_outlier_warnings(data, warnings);
  if (!data.table.has_one_yardstick) warnings.emplace_back("The runs come from different machines.");
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
    const bool is_short = effect.log_time.n < data.rules.min_n;
    const std::optional<int> needed = is_short
                                          ? std::optional(kRoundsAdvised)
                                          : rounds_to_decide(effect.log_time, data.rules, data.effects.size()).rounds;
    if (!needed) continue;
    rounds = std::max(rounds, *needed);
    names.push_back(effect.contrast.effect);
  }
  if (names.empty() || data.plan.argv.size() < 2) return {page};
  double round_s = 0.0;
  for (const Comparison& row : data.table.rows) round_s += row.clock_ms.mean.value_or(0.0) / 1000.0;
  return {{.command = command_with_runs(data.plan, rounds),
           .gain = "about " + format_duration(rounds * round_s) + "; probably decides " +
                   listed_first(names, kNamedEffects)},
          page};
}

/// Turns that no command needed, and numbers that they distort.
void add_turn_warnings(const results::Store& store, const BenchData& data, std::vector<std::string>& warnings) {
  if (!data.settings.turn_ms) return;
  double most = 0.0;
  for (const CellMeasures& cell : data.cells) {
    for (const auto& [round, turns] : samples_of(store, cell, results::kTurns)) most = std::max(most, turns);
  }
  if (most == 1.0) {
    warnings.push_back("No command was paused: each ended within its first turn of " + turn_text(data.settings) +
                       ", so the turns changed nothing; shorter ones are made with --turns=TIME.");
  }
  if (most > 1.0 && !data.settings.metrics.empty()) {
    warnings.emplace_back(
        "The commands took turns, and a time or a speed that a command prints includes its pauses: compare such "
        "numbers "
        "without --turns.");
  }
}

std::vector<std::string> bench_reading(const BenchData& data) {
  std::vector<std::string> reading = {
      "A round runs each command once, in an order that is drawn anew by the order seed. ± is the standard deviation "
      "of "
      "one run. Wall time runs from the start of the process to its end; user and system time are those of the process "
      "and the children that it waited for; the peak is the largest resident set of one of them."};
  if (data.settings.turn_ms) {
    reading.push_back(
        "The commands of a round were in memory at once, and one at a time ran, for " + turn_text(data.settings) +
        ", in an order that is drawn anew for each pass. Wall time is the sum of a command's turns; what a "
        "command measures by its own clock includes its pauses.");
  }
  if (data.effects.empty()) return reading;
  reading.push_back(
      "Time ratio: the command's time over that of the reference in the same round, as a mean of logarithms; below 1 "
      "is "
      "faster. The intervals hold together at 95 %, and Holm adjusts the p-values over all commands. The same: proved "
      "to "
      "lie within " +
      format_significant_percent(data.settings.margin, 2) +
      " on both sides (--margin). Open: neither is proved. A verdict needs three rounds.");
  return reading;
}

}  // namespace

bool is_of_bench(const results::PlanRecord& plan) {
  return plan.scale == suites::kBenchScale;
}

Document bench_report(const results::Store& store, const results::PlanRecord& plan, bool has_runs) {
  std::vector<CellMeasures> cells = read_cells(store, plan, {});
  BenchData data{.plan = plan,
                 .cells = std::move(cells),
                 .table = {},
                 .settings = {},
                 .rules = {},
                 .effects = {},
                 .unit = {},
                 .reference = reference_label(plan)};
  data.table = compare(plan, data.cells, {});
  data.settings = settings_of(data.cells);
  data.rules.time_margin = data.settings.margin;
  data.effects = judged(plan, data.cells, data.rules);
  data.unit = unit_of(data.cells);

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
    facts.add("turn_ms", "turns of", value_cell(turn_text(data.settings), *data.settings.turn_ms));
  facts.add("plan", "plan", count_cell(plan.id));
  section.facts = facts.facts;
  section.tables.push_back(commands_table(store, data));
  if (!data.effects.empty()) section.tables.push_back(contrasts_table(data));
  if (std::optional<Table> metrics = metrics_table(store, data)) section.tables.push_back(*std::move(metrics));
  if (has_runs) section.tables.push_back(runs_table(store, data));
  document.next = bench_next_steps(data);
  add_bench_warnings(data, document.warnings);
  add_turn_warnings(store, data, document.warnings);
  document.reading = bench_reading(data);
  return document;
}

}  // namespace nanobench::reports
