#include <algorithm>
#include <cmath>

#include "ablations/catalogue.h"
#include "core/base/text.h"
#include "reports/comparison/conditions.h"
#include "reports/forecast/detection_text.h"
#include "reports/forecast/forecast.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "suites/design/plan.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

/// "1,234 runs"
std::string amount(std::int64_t count, const std::string& what) {
  return format_count(count) + " " + what + (count == 1 ? "" : "s");
}

/// Formatted as it was typed: 0.05, 0.8.
std::string plain(double value) {
  return OrderedJson(value).dump();
}

std::string step_text(double ms) {
  return format_significant(ms, 4);
}
std::string loss_size_text(double nats, int digits = 3) {
  return format_significant(nats, digits);
}

/// "about 50 seeds", or "8 seeds" if all digits are known.
std::string seeds_text(int seeds, double df) {
  const int known = known_seeds(seeds, df);
  return (known == seeds ? "" : "about ") + amount(known, "seed");
}

/// Degrees of freedom of the least known spread behind the effects asked for.
double least_df(const Forecast& forecast) {
  double df = kInfinity;
  const bool is_asked = forecast.rules.loss || forecast.rules.time;
  if ((forecast.rules.loss || !is_asked) && forecast.noise.loss.spread) df = forecast.noise.loss.spread->df;
  if ((forecast.rules.time || !is_asked) && forecast.noise.log_time.spread)
    df = std::min(df, forecast.noise.log_time.spread->df);
  return df;
}

std::string time_text(const ForecastTotals& totals) {
  if (totals.to_run() == 0) return "nothing to run";
  if (totals.is_whole) return format_duration(totals.wall_s);
  return totals.wall_s > 0.0 ? "more than " + format_duration(totals.wall_s) : "unknown";
}

std::string plan_headline(const suites::Plan& plan, const ForecastTotals& totals) {
  std::string text = amount(static_cast<std::int64_t>(plan.matrix.cells.size()), "cell") + " x " +
                     amount(static_cast<std::int64_t>(plan.suite.seeds.size()), "seed") + " = " +
                     amount(totals.planned, "run") + "; ";
  if (totals.to_run() == 0) return text + "all of them are stored, so there is nothing to run.";
  if (totals.reused > 0) text += format_count(totals.reused) + " reused, ";
  text += format_count(totals.to_run()) + " to run, estimated time " + time_text(totals);
  if (totals.peak_bytes) text += ", memory " + format_bytes(*totals.peak_bytes);
  return text + ".";
}

/// The largest of the effects' minimum detectable sizes, among all of them: any effect of this size is detected.
std::optional<double> detectable_of(const Forecast& forecast, Detectable EffectForecast::*metric) {
  std::optional<double> largest;
  for (const EffectForecast& effect : forecast.effects) {
    const std::optional<double>& smallest = (effect.*metric).effect_among_all;
    if (!smallest) return std::nullopt;
    largest = std::max(largest.value_or(0.0), *smallest);
  }
  return largest;
}

/// " It finds effects of about 0.0021 nats of loss and 1.2 % of step time with power 0.8, all tested together."
std::string power_text(const Forecast& forecast) {
  if (forecast.rules.loss || forecast.rules.time) {
    if (!forecast.needed_among_all) return "";
    return " The effects asked for take " + seeds_text(forecast.needed_among_all->seeds, least_df(forecast)) +
           (forecast.effects.size() > 1 ? ", all tested together." : ".");
  }
  std::vector<std::string> sizes;
  if (const auto loss = detectable_of(forecast, &EffectForecast::loss))
    sizes.push_back(loss_size_text(*loss, known_digits(*loss, forecast.noise.loss.spread->df)) + " nats of loss");
  if (const auto time = detectable_of(forecast, &EffectForecast::time))
    sizes.push_back(format_significant_percent(*time, known_digits(*time, forecast.noise.log_time.spread->df)) +
                    " of step time");
  if (sizes.empty()) return "";
  return " It finds effects of about " + listed(sizes) + " with power " + plain(forecast.rules.power) +
         (forecast.effects.size() > 1 ? ", all tested together." : ".");
}

std::vector<Fact> facts_of(const suites::Plan& plan, const ForecastTotals& totals) {
  const auto if_whole = [&](double seconds) { return totals.is_whole ? OrderedJson(seconds) : OrderedJson(); };
  FactList list;
  list.add("design", "design", enum_name(plan.suite.design));
  list.add("scale", "scale", told_unless(plan.suite.scale, kOfTrainer));
  list.add("data", "data", told_unless(plan.data.name, kOfTrainer));
  list.add("seeds", "seeds", joined(plan.suite.seeds));
  list.add("engine", "engine", results::engine_text(plan.engine.name, plan.suite.kernels));
  list.add("machine", "machine", plan.hardware + ", " + amount(plan.threads, "thread"));
  list.add("order", "order",
           "interleaved: for each seed all cells, shuffled by order_seed " + std::to_string(plan.suite.order_seed));
  list.add("runs", "runs", count_cell(totals.planned));
  list.add("reused", "reused", count_cell(totals.reused));
  list.add("to_run", "to run", count_cell(totals.to_run()));
  list.add("seconds", "estimated time", value_cell(time_text(totals), if_whole(totals.wall_s)));
  list.add("clock_seconds", "of it on the training clock",
           value_cell(totals.is_whole ? format_duration(totals.clock_s) : "unknown", if_whole(totals.clock_s)));
  list.add("peak_bytes", "memory",
           value_cell(totals.peak_bytes ? format_bytes(*totals.peak_bytes) : "unknown", json_of(totals.peak_bytes)));
  return std::move(list.facts);
}

Table cells_of(const Forecast& forecast) {
  Table table{.id = "cells",
              .title = "Cells",
              .columns = {text_column("cell", "cell"), wide_column("changed", "what changed", 3),
                          number_column("planned", "seeds"), number_column("reused", "reused"),
                          number_column("to_run", "to run"), number_column("step_ms", "step ms", 2),
                          number_column("clock_seconds", "clock", 2), number_column("seconds", "a run"),
                          number_column("peak_bytes", "memory", 1), wide_column("source", "estimated from", 1)}};
  for (const CellForecast& cell : forecast.cells) {
    table.rows.push_back({text_cell(cell.label), text_cell(cell.changed), count_cell(cell.planned),
                          count_cell(cell.reused), count_cell(cell.to_run()), number_cell(cell.cost.step_ms, step_text),
                          duration_cell(cell.cost.clock_s), duration_cell(cell.cost.wall_s),
                          number_cell(cell.cost.peak_bytes, format_bytes), text_cell(source_text(cell.cost))});
  }
  return table;
}

TableCell noise_cell(const NoiseFigure& noise, const std::string& text) {
  const std::string source = source_text(noise);
  if (!noise.spread) return value_cell(source, nullptr);
  return value_cell(
      text, {{"sd", noise.spread->sd}, {"df", noise.spread->df}, {"is_bound", noise.is_bound}, {"source", source}},
      "(" + source + "; " + format_count(std::llround(noise.spread->df)) + " degrees of freedom)");
}

TableCell effect_cell(const Detectable& metric, const NoiseFigure& noise, bool is_asked, bool is_time) {
  if (is_asked && metric.seeds) {
    const auto& among_all = metric.seeds_among_all;
    return value_cell(std::to_string(*metric.seeds),
                      {{"seeds", *metric.seeds},
                       {"seeds_among_all", among_all ? OrderedJson(*among_all) : OrderedJson()},
                       {"sd", json_of(metric.sd)}},
                      among_all ? "(" + format_count(*among_all) + ")" : "");
  }
  if (!is_asked && metric.effect) {
    const int digits = known_digits(*metric.effect, noise.spread->df);
    const auto text = [&](double size) {
      return is_time ? format_significant_percent(size, digits) : loss_size_text(size, digits);
    };
    return value_cell(text(*metric.effect),
                      {{"effect", *metric.effect},
                       {"effect_among_all", json_of(metric.effect_among_all)},
                       {"sd", json_of(metric.sd)}},
                      metric.effect_among_all ? "(" + text(*metric.effect_among_all) + ")" : "");
  }
  return value_cell("unknown", nullptr);
}

std::string column_title(const char* metric, bool is_asked) {
  return is_asked ? "seeds for " + std::string(metric) : "smallest on " + std::string(metric);
}

Table effects_of(const Forecast& forecast) {
  const bool has_loss = forecast.rules.loss.has_value(), has_time = forecast.rules.time.has_value();
  Table table{.id = "effects",
              .title = "",
              .columns = {text_column("effect", "effect"),
                          text_column("kind", "kind", 3),
                          {.key = "loss", .title = column_title("val loss", has_loss), .is_number = true},
                          {.key = "time", .title = column_title("step time", has_time), .is_number = true},
                          wide_column("meaning", "which is", 2)}};
  for (const EffectForecast& effect : forecast.effects) {
    table.rows.push_back({text_cell(effect.contrast.effect), text_cell(enum_name(effect.contrast.kind)),
                          effect_cell(effect.loss, forecast.noise.loss, has_loss, false),
                          effect_cell(effect.time, forecast.noise.log_time, has_time, true),
                          text_cell(effect.contrast.meaning)});
  }
  return table;
}

/// Why numbers are missing even though the noise is known; each reason once.
std::vector<std::string> reasons_of(const Forecast& forecast) {
  std::vector<std::string> reasons;
  const auto add = [&](const char* metric, const std::optional<Undetectable>& why, const NoiseFigure& noise) {
    if (!why || !noise.spread) return;
    const std::string text = std::string(metric) + ": " + text_of(*why, noise) + ".";
    if (std::find(reasons.begin(), reasons.end(), text) == reasons.end()) reasons.push_back(text);
  };
  for (const EffectForecast& effect : forecast.effects) {
    add("Val loss", effect.loss.undetectable, forecast.noise.loss);
    add("Step time", effect.time.undetectable, forecast.noise.log_time);
  }
  return reasons;
}

TableCell needed_cell(const std::optional<SeedsNeeded>& needed, double df) {
  if (!needed) return value_cell("unknown", nullptr);
  return value_cell(seeds_text(needed->seeds, df),
                    {{"seeds", needed->seeds},
                     {"about", known_seeds(needed->seeds, df)},
                     {"runs", needed->more_runs},
                     {"seconds", json_of(needed->wall_s)}},
                    "(" + amount(needed->more_runs, "run") + " to do, " +
                        (needed->wall_s ? format_duration(*needed->wall_s) : "time unknown") + ")");
}

std::string detection_text(const Forecast& forecast) {
  const std::string test =
      "a two-sided test at " + plain(forecast.rules.alpha) + " finds with power " + plain(forecast.rules.power);
  if (!forecast.rules.loss && !forecast.rules.time)
    return "The smallest effect that " + test + " at " + amount(forecast.seeds, "seed") + ".";
  std::vector<std::string> asked;
  if (forecast.rules.loss) asked.push_back(plain(*forecast.rules.loss) + " nats of loss");
  if (forecast.rules.time) asked.push_back(format_significant_percent(*forecast.rules.time, 3) + " of step time");
  return "The seeds with which " + test + " an effect of " + listed(asked) + ".";
}

Section detection_section(const Forecast& forecast) {
  const bool is_asked = forecast.rules.loss || forecast.rules.time;
  Section section{.title = is_asked ? "Seeds needed" : "Smallest effects that can be found"};
  if (forecast.effects.empty()) {
    section.paragraphs.emplace_back("This design compares no cells.");
    return section;
  }
  section.paragraphs.push_back(detection_text(forecast));
  const Noise& noise = forecast.noise;
  FactList list;
  list.add("loss_noise", "noise of val loss",
           noise_cell(noise.loss, noise.loss.spread ? "sd " + loss_size_text(noise.loss.spread->sd) : ""));
  list.add("time_noise", "noise of step time",
           noise_cell(noise.log_time,
                      noise.log_time.spread ? "sd " + format_significant_percent(noise.log_time.spread->sd, 3) : ""));
  if (is_asked) {
    list.add("needed", "seeds, each effect alone", needed_cell(forecast.needed, least_df(forecast)));
    list.add("needed_among_all", "seeds, all effects together",
             needed_cell(forecast.needed_among_all, least_df(forecast)));
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
        "The mock engine's training clock is simulated; the estimated time is the time that it really sleeps.");
  }
  if (has_source(forecast, CostSource::kFlops) || has_source(forecast, CostSource::kCalibration)) {
    document.reading.emplace_back(
        "By FLOPs: steps and validations take their FLOPs, from the cost model, at the FLOP/s of other runs. Memory is "
        "the largest that those runs took.");
  }
  if (has_source(forecast, CostSource::kUnknown)) {
    document.notes.emplace_back(
        "No stored run gives an estimate for these runs. Without --no-calibration, a short run of our own engine gives "
        "one; an external trainer's first run does.");
  }
  if (forecast.effects.empty()) return;
  if (forecast.noise.loss.spread || forecast.noise.log_time.spread)
    document.reading.emplace_back(
        "In brackets: the same when all effects of the plan are tested together (Holm) and only one of them exists.");
  if (forecast.noise.loss.is_bound) {
    document.reading.emplace_back(
        "The noise of the loss is the spread over seeds. An effect computed seed by seed has at most sqrt(sum of "
        "squares of its weights) times as much, and less where cells move together with the seed. Stored runs of this "
        "suite measure it.");
  }
  if (!forecast.noise.loss.spread || !forecast.noise.log_time.spread)
    document.notes.emplace_back("`nanobench calibrate` measures unknown noise, and so does a suite with --seeds 3.");
}

void add_warnings(Document& document, const Forecast& forecast) {
  constexpr double kMinDf = 8;
  const auto warn = [&](const char* metric, const NoiseFigure& noise) {
    if (!noise.spread || noise.spread->df >= kMinDf || forecast.effects.empty()) return;
    document.warnings.push_back("The noise of " + std::string(metric) + " comes from few runs (" +
                                format_count(std::llround(noise.spread->df)) +
                                " degrees of freedom), so all that follows from it is rough.");
  };
  warn("val loss", forecast.noise.loss);
  warn("step time", forecast.noise.log_time);
}

}  // namespace

Document plan_report(const suites::Plan& plan, const Forecast& forecast) {
  Document document{
      .kind = "plan",
      .title = "Plan of " + plan.suite.name + (plan.suite.title.empty() ? std::string() : ": " + plan.suite.title)};
  document.headline = plan_headline(plan, forecast.totals) + power_text(forecast);
  Section& head = document.sections.emplace_back();
  head.facts = facts_of(plan, forecast.totals);
  head.tables.push_back(cells_of(forecast));
  document.sections.push_back(detection_section(forecast));
  document.notes = core::texts_of(plan.matrix.messages);
  add_notes(document, forecast);
  add_warnings(document, forecast);
  return document;
}

namespace {

Section head_of(const suites::Suite& suite) {
  FactList list;
  list.add("design", "design", enum_name(suite.design));
  list.add("scale", "scale", told_unless(suite.scale, kOfTrainer));
  list.add("data", "data", told_unless(suite.external ? kOfTrainer : text_of(suite.data), kOfTrainer));
  list.add("seeds", "seeds", joined(suite.seeds));
  list.add("file", "file", suite.source);
  Section head;
  if (!suite.text.empty()) head.paragraphs.push_back(suite.text);
  head.facts = std::move(list.facts);
  return head;
}

Table cells_of(const suites::Suite& suite, const suites::Matrix& matrix) {
  const bool has_steps = !suite.external || suite.external->steps;
  Table table{
      .id = "cells",
      .title = "Cells",
      .columns = {text_column("cell", "cell"), text_column("record", "record"), wide_column("changed", "what changed"),
                  number_column("steps", "steps"), text_column("config_digest", "configuration", 1)}};
  for (const suites::Cell& cell : matrix.cells) {
    table.rows.push_back({text_cell(cell.label), text_cell(cell.record), text_cell(results::changes_text(cell.changes)),
                          has_steps ? count_cell(cell.config.run.stop_after) : missing_cell(),
                          text_cell(suites::config_digest(cell))});
  }
  return table;
}

}  // namespace

Document suite_report(const suites::Suite& suite, const suites::Matrix& matrix) {
  Document document{.kind = "suite", .title = suite.name + ": " + suite.title};
  document.sections.push_back(head_of(suite));
  document.sections.back().tables.push_back(cells_of(suite, matrix));
  if (!matrix.contrasts.empty()) document.sections.push_back(contrast_section(matrix.contrasts));
  document.notes = core::texts_of(matrix.messages);
  return document;
}

}  // namespace nanobench::reports
