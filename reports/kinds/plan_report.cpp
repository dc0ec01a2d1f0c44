#include "reports/kinds/plan_report.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

std::string counted(std::int64_t count, const std::string& what) {
  return format_count(count) + " " + what + (count == 1 ? "" : "s");
}

std::string percent(double fraction) {
  return format_significant(100.0 * fraction, 3) + " %";
}

OrderedJson json_of(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

/// As it was typed: 0.05, 0.8.
std::string plain(double value) {
  return OrderedJson(value).dump();
}

TableCell number_cell(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? TableCell{.text = text(*value), .detail = "", .value = *value} : missing_cell();
}

std::string step_text(double ms) {
  return format_significant(ms, 4);
}
std::string loss_text(double nats) {
  return format_significant(nats, 3);
}

std::string time_text(const ForecastTotals& totals) {
  if (totals.to_run() == 0) return "nothing to run";
  if (totals.is_whole) return format_duration(totals.wall_s);
  return totals.wall_s > 0.0 ? "more than " + format_duration(totals.wall_s) : "unknown";
}

std::string headline(const suites::Plan& plan, const ForecastTotals& totals) {
  std::string text = counted(static_cast<std::int64_t>(plan.matrix.cells.size()), "cell") + " x " +
                     counted(static_cast<std::int64_t>(plan.suite.seeds.size()), "seed") + " = " +
                     counted(totals.planned, "run") + "; ";
  if (totals.to_run() == 0) return text + "all of them are stored: nothing is to be run.";
  if (totals.reused > 0) text += format_count(totals.reused) + " reused, ";
  text += format_count(totals.to_run()) + " to run, estimated time " + time_text(totals);
  if (totals.peak_bytes) text += ", memory " + format_bytes(*totals.peak_bytes);
  return text + ".";
}

/// The largest of the effects' smallest ones: all of them are found when they are as large.
std::optional<double> detectable_of(const Forecast& forecast, Detectable EffectForecast::*metric) {
  std::optional<double> largest;
  for (const EffectForecast& effect : forecast.effects) {
    const std::optional<double>& smallest = (effect.*metric).effect;
    if (!smallest) return std::nullopt;
    largest = std::max(largest.value_or(0.0), *smallest);
  }
  return largest;
}

/// " It finds effects of 0.0021 nats of loss and 1.2 % of step time with power 0.8."
std::string power_text(const Forecast& forecast) {
  if (forecast.rules.loss || forecast.rules.time) {
    if (!forecast.needed) return "";
    return " What is asked for takes " + counted(forecast.needed->seeds, "seed") + ".";
  }
  std::string text;
  if (const auto loss = detectable_of(forecast, &EffectForecast::loss)) text = loss_text(*loss) + " nats of loss";
  if (const auto time = detectable_of(forecast, &EffectForecast::time))
    text += (text.empty() ? "" : " and ") + percent(*time) + " of step time";
  return text.empty() ? "" : " It finds effects of " + text + " with power " + plain(forecast.rules.power) + ".";
}

class FactList {
 public:
  void add(const char* key, const char* title, TableCell cell) {
    facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  }
  std::vector<Fact> facts;
};

std::vector<Fact> facts_of(const suites::Plan& plan, const ForecastTotals& totals) {
  FactList list;
  std::string seeds;
  for (const std::uint64_t seed : plan.suite.seeds) seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  list.add("design", "design", text_cell(enum_name(plan.suite.design)));
  list.add("scale", "scale", text_cell(plan.suite.scale));
  list.add("data", "data", text_cell(plan.data.name));
  list.add("seeds", "seeds", text_cell(seeds));
  list.add("engine", "engine", text_cell(results::engine_text(plan.engine.name, plan.suite.kernels)));
  list.add("machine", "machine", text_cell(plan.hardware + ", " + counted(plan.threads, "thread")));
  list.add("order", "order",
           text_cell("interleaved: for each seed all cells, shuffled by order_seed " +
                     std::to_string(plan.suite.order_seed)));
  list.add("runs", "runs", count_cell(totals.planned));
  list.add("reused", "reused", count_cell(totals.reused));
  list.add("to_run", "to run", count_cell(totals.to_run()));
  list.add(
      "seconds", "estimated time",
      {.text = time_text(totals), .detail = "", .value = totals.is_whole ? OrderedJson(totals.wall_s) : OrderedJson()});
  list.add("clock_seconds", "of it on the training clock",
           {.text = totals.is_whole ? format_duration(totals.clock_s) : "unknown",
            .detail = "",
            .value = totals.is_whole ? OrderedJson(totals.clock_s) : OrderedJson()});
  list.add("peak_bytes", "memory",
           totals.peak_bytes
               ? TableCell{.text = format_bytes(*totals.peak_bytes), .detail = "", .value = *totals.peak_bytes}
               : TableCell{.text = "unknown", .detail = "", .value = nullptr});
  return std::move(list.facts);
}

Table cells_of(const Forecast& forecast) {
  Table table{.id = "cells",
              .title = "Cells",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "changed", .title = "what changed", .wraps = true, .priority = 3},
                          {.key = "planned", .title = "seeds", .is_number = true},
                          {.key = "reused", .title = "reused", .is_number = true},
                          {.key = "to_run", .title = "to run", .is_number = true},
                          {.key = "step_ms", .title = "step ms", .is_number = true, .priority = 2},
                          {.key = "clock_seconds", .title = "clock", .is_number = true, .priority = 2},
                          {.key = "seconds", .title = "a run", .is_number = true},
                          {.key = "peak_bytes", .title = "memory", .is_number = true, .priority = 1},
                          {.key = "source", .title = "estimated from", .wraps = true, .priority = 1}}};
  for (const CellForecast& cell : forecast.cells) {
    table.rows.push_back({text_cell(cell.label), text_cell(cell.changed), count_cell(cell.planned),
                          count_cell(cell.reused), count_cell(cell.to_run()), number_cell(cell.cost.step_ms, step_text),
                          number_cell(cell.cost.clock_s, format_duration),
                          number_cell(cell.cost.wall_s, format_duration),
                          number_cell(cell.cost.peak_bytes, format_bytes), text_cell(source_text(cell.cost))});
  }
  return table;
}

TableCell noise_cell(const NoiseFigure& noise, const std::string& text) {
  if (!noise.spread) return {.text = noise.source, .detail = "", .value = nullptr};
  TableCell cell{
      .text = text,
      .detail = "(" + noise.source + "; " + format_count(std::llround(noise.spread->df)) + " degrees of freedom)"};
  cell.value = {
      {"sd", noise.spread->sd}, {"df", noise.spread->df}, {"is_bound", noise.is_bound}, {"source", noise.source}};
  return cell;
}

TableCell effect_cell(const Detectable& metric, bool is_asked, bool is_time) {
  if (is_asked && metric.seeds) {
    TableCell cell = count_cell(*metric.seeds);
    cell.detail = metric.seeds_among_all ? "(" + format_count(*metric.seeds_among_all) + ")" : "";
    cell.value = {{"seeds", *metric.seeds},
                  {"seeds_among_all", metric.seeds_among_all ? OrderedJson(*metric.seeds_among_all) : OrderedJson()},
                  {"sd", json_of(metric.sd)}};
    return cell;
  }
  if (!is_asked && metric.effect) {
    std::string (*const text)(double) = is_time ? percent : loss_text;
    TableCell cell{.text = text(*metric.effect), .detail = ""};
    if (metric.effect_among_all) cell.detail = "(" + text(*metric.effect_among_all) + ")";
    cell.value = {
        {"effect", *metric.effect}, {"effect_among_all", json_of(metric.effect_among_all)}, {"sd", json_of(metric.sd)}};
    return cell;
  }
  return {.text = "unknown", .detail = "", .value = nullptr};
}

std::string column_title(const char* metric, bool is_asked) {
  return is_asked ? "seeds for " + std::string(metric) : "smallest on " + std::string(metric);
}

Table effects_of(const Forecast& forecast) {
  const bool has_loss = forecast.rules.loss.has_value(), has_time = forecast.rules.time.has_value();
  Table table{.id = "effects",
              .title = "",
              .columns = {{.key = "effect", .title = "effect"},
                          {.key = "kind", .title = "kind", .priority = 3},
                          {.key = "loss", .title = column_title("val loss", has_loss), .is_number = true},
                          {.key = "time", .title = column_title("step time", has_time), .is_number = true},
                          {.key = "meaning", .title = "which is", .wraps = true, .priority = 2}}};
  for (const EffectForecast& effect : forecast.effects) {
    table.rows.push_back({text_cell(effect.contrast.effect), text_cell(enum_name(effect.contrast.kind)),
                          effect_cell(effect.loss, has_loss, false), effect_cell(effect.time, has_time, true),
                          text_cell(effect.contrast.meaning)});
  }
  return table;
}

/// Why numbers are missing, beyond unknown noise; each reason once.
std::vector<std::string> reasons_of(const Forecast& forecast) {
  std::vector<std::string> reasons;
  const auto add = [&](const char* metric, const std::string& reason, const NoiseFigure& noise) {
    if (reason.empty() || !noise.spread) return;
    const std::string text = std::string(metric) + ": " + reason + ".";
    if (std::find(reasons.begin(), reasons.end(), text) == reasons.end()) reasons.push_back(text);
  };
  for (const EffectForecast& effect : forecast.effects) {
    add("Val loss", effect.loss.reason, forecast.noise.loss);
    add("Step time", effect.time.reason, forecast.noise.log_time);
  }
  return reasons;
}

TableCell needed_cell(const std::optional<SeedsNeeded>& needed) {
  if (!needed) return {.text = "unknown", .detail = "", .value = nullptr};
  TableCell cell = count_cell(needed->seeds);
  cell.detail = "(" + counted(needed->more_runs, "run") + " to do, " +
                (needed->wall_s ? format_duration(*needed->wall_s) : "time unknown") + ")";
  cell.value = {{"seeds", needed->seeds}, {"runs", needed->more_runs}, {"seconds", json_of(needed->wall_s)}};
  return cell;
}

std::string detection_text(const Forecast& forecast) {
  const std::string test =
      "a two-sided test at " + plain(forecast.rules.alpha) + " finds with power " + plain(forecast.rules.power);
  if (!forecast.rules.loss && !forecast.rules.time)
    return "The smallest effect that " + test + " at " + counted(forecast.seeds, "seed") + ".";
  std::string asked;
  if (forecast.rules.loss) asked = plain(*forecast.rules.loss) + " of the loss";
  if (forecast.rules.time)
    asked += (asked.empty() ? "" : " and ") + percent(*forecast.rules.time) + " of the step time";
  return "The seeds with which " + test + ": " + asked + ".";
}

Section detection_section(const Forecast& forecast) {
  const bool is_asked = forecast.rules.loss || forecast.rules.time;
  Section section{.title = is_asked ? "How many seeds are needed" : "What can be found"};
  if (forecast.effects.empty()) {
    section.paragraphs.emplace_back("This design compares no cells.");
    return section;
  }
  section.paragraphs.push_back(detection_text(forecast));
  const Noise& noise = forecast.noise;
  FactList list;
  list.add("loss_noise", "noise of val loss",
           noise_cell(noise.loss, noise.loss.spread ? "sd " + loss_text(noise.loss.spread->sd) : ""));
  list.add("time_noise", "noise of step time",
           noise_cell(noise.log_time, noise.log_time.spread ? "sd " + percent(noise.log_time.spread->sd) : ""));
  if (is_asked) {
    list.add("needed", "seeds, each effect alone", needed_cell(forecast.needed));
    list.add("needed_among_all", "seeds, all effects together", needed_cell(forecast.needed_among_all));
  }
  section.facts = std::move(list.facts);
  section.bullets = reasons_of(forecast);
  section.tables.push_back(effects_of(forecast));
  return section;
}

bool has_source(const Forecast& forecast, CostSource source) {
  return std::any_of(forecast.cells.begin(), forecast.cells.end(),
                     [&](const CellForecast& cell) { return cell.cost.source == source && cell.to_run() > 0; });
}

void add_notes(Document& document, const Forecast& forecast) {
  if (has_source(forecast, CostSource::kMock)) {
    document.notes.emplace_back(
        "The mock engine's training clock is pretended; the estimated time is what it really sleeps.");
  }
  if (has_source(forecast, CostSource::kFlops) || has_source(forecast, CostSource::kCalibration)) {
    document.reading.emplace_back(
        "By FLOPs: steps and validations at the FLOP/s of other runs, as the cost model counts them; memory is the "
        "largest that those runs took.");
  }
  if (has_source(forecast, CostSource::kUnknown)) {
    document.notes.emplace_back(
        "Nothing that is stored tells what these runs take; without --no-calibration a short run of our own engine "
        "does, and of another trainer its first run.");
  }
  if (forecast.effects.empty()) return;
  if (forecast.noise.loss.spread || forecast.noise.log_time.spread)
    document.reading.emplace_back(
        "In brackets: all effects of the plan tested together (Holm), when only one of them is there.");
  if (forecast.noise.loss.is_bound) {
    document.reading.emplace_back(
        "The noise of the loss is that over seeds: an effect, seed by seed, has at most sqrt(sum of squares of its "
        "weights) times as much, less where cells move together with the seed. Stored runs of this suite tell it.");
  }
  if (!forecast.noise.loss.spread || !forecast.noise.log_time.spread)
    document.notes.emplace_back("Unknown noise is measured by `nanobench calibrate`, or by a suite with --seeds 3.");
}

void add_warnings(Document& document, const Forecast& forecast) {
  constexpr double kLeastDf = 8;
  const auto warn = [&](const char* metric, const NoiseFigure& noise) {
    if (!noise.spread || noise.spread->df >= kLeastDf || forecast.effects.empty()) return;
    document.warnings.push_back("The noise of " + std::string(metric) + " is from few runs (" +
                                format_count(std::llround(noise.spread->df)) +
                                " degrees of freedom): what follows from it is rough.");
  };
  warn("val loss", forecast.noise.loss);
  warn("step time", forecast.noise.log_time);
}

}  // namespace

Document plan_report(const suites::Plan& plan, const Forecast& forecast) {
  Document document{
      .kind = "plan",
      .title = "Plan of " + plan.suite.name + (plan.suite.title.empty() ? std::string() : ": " + plan.suite.title)};
  document.headline = headline(plan, forecast.totals) + power_text(forecast);
  Section& head = document.sections.emplace_back();
  head.facts = facts_of(plan, forecast.totals);
  head.tables.push_back(cells_of(forecast));
  document.sections.push_back(detection_section(forecast));
  document.notes = core::texts_of(plan.matrix.messages);
  add_notes(document, forecast);
  add_warnings(document, forecast);
  return document;
}

}  // namespace nanobench::reports
