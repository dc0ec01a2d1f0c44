#include "core/base/text.h"
#include "reports/gate/pass_forecast.h"
#include "reports/kinds/kinds.h"

namespace nanobench::reports {
namespace {

std::string margin_value(GateMetric metric, double margin) {
  return metric == GateMetric::kLoss ? format_significant(margin, 2) + " nats" : format_percent(margin, 2);
}

bool is_bound(const PassForecast& forecast) {
  for (const MetricForecast& metric : forecast.metrics) {
    if (metric.is_bound) return true;
  }
  return forecast.has_looks;
}

std::string seeds_text(const PassForecast& forecast) {
  return (forecast.has_looks ? "up to " : "") + counted(forecast.size.n, "seed");
}

/// What raises the chance to the aimed one; empty where it has that.
std::string remedy_of(const PassForecast& forecast) {
  if (*forecast.chance >= PassForecast::kAimedChance) return "";
  const std::string aim = format_percent(PassForecast::kAimedChance, 0) + " takes ";
  std::vector<std::string> margins;
  for (const MetricForecast& metric : forecast.metrics) {
    if (metric.needed && *metric.needed > metric.margin)
      margins.push_back(margin_value(metric.metric, *metric.needed) + " for the " + enum_name(metric.metric));
  }
  if (forecast.seeds) {
    return "; " + aim + counted(*forecast.seeds, "seed") + " a side" +
           (margins.empty() ? "" : ", or margins of " + listed(margins));
  }
  return margins.empty() ? "" : "; " + aim + "margins of " + listed(margins);
}

}  // namespace

std::string forecast_sentence(const PassForecast& forecast) {
  if (!forecast.chance) return "chance to pass: unknown, because no noise is stored";
  return "chance to pass: " + std::string(is_bound(forecast) ? "at least " : "") + chance_text(*forecast.chance) +
         " for an unchanged candidate with " + seeds_text(forecast) + " a side, by " + forecast.source +
         remedy_of(forecast);
}

std::string forecast_warning(const PassForecast& forecast) {
  if (!forecast.is_low()) return "";
  return "With " + seeds_text(forecast) + " a side, an unchanged candidate passes with a chance of only " +
         chance_text(*forecast.chance) + remedy_of(forecast) + ".";
}

Document pass_forecast_report(const std::string& suite, const PassForecast& forecast) {
  Document document{.kind = "gate_forecast", .title = "Before a gate: " + suite};
  document.headline = forecast_sentence(forecast) + ".";
  document.headline.front() = 'C';
  FactList list;
  list.add("chance", "chance to pass", chance_cell(forecast.chance));
  list.add("seeds", "seeds of each side", count_cell(forecast.size.n));
  list.add("seeds_for_aim", "seeds for " + format_percent(PassForecast::kAimedChance, 0),
           forecast.seeds ? count_cell(*forecast.seeds) : missing_cell());
  list.add("aim", "aim", percent_cell(PassForecast::kAimedChance, 0));
  list.add("cells", "cells", count_cell(forecast.size.cells));
  list.add("looks", "seeds are added", yes_no_cell(forecast.has_looks));
  list.add_if("noise", "noise", forecast.chance ? forecast.source : "");
  Section& section = document.sections.emplace_back();
  section.facts = std::move(list.facts);
  Table table{.id = "metrics",
              .title = "",
              .columns = {text_column("metric", "metric"), number_column("margin", "margin"),
                          number_column("sd", "sd that judges it"), number_column("chance", "chance"),
                          number_column("needed", "margin for " + format_percent(PassForecast::kAimedChance, 0))}};
  for (const MetricForecast& metric : forecast.metrics) {
    const auto text = [&](double value) { return margin_value(metric.metric, value); };
    table.rows.push_back({text_cell(enum_name(metric.metric)), number_cell(metric.margin, text),
                          number_cell(metric.sd, text), chance_cell(metric.chance), number_cell(metric.needed, text)});
  }
  section.tables.push_back(std::move(table));
  if (const std::string warning = forecast_warning(forecast); !warning.empty()) document.warnings.push_back(warning);
  document.reading.emplace_back(
      "A metric passes when its change is proved to be below the margin in every cell. The chance follows from the "
      "spread of earlier pairs of runs of one seed, of single runs for times that are not measured in turn. It allows "
      "for the few runs behind that spread, and assumes that the checks are independent.");
  if (forecast.has_looks)
    document.reading.emplace_back("The chance is that of the last look; earlier looks can only raise it.");
  return document;
}

}  // namespace nanobench::reports
