#include <cmath>

#include "core/base/text.h"
#include "reports/comparison/reproduction.h"
#include "reports/kinds/kinds.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

std::string name_of(const RepeatedSeries& series) {
  return series.metric == results::kValLoss ? "validation" : "training";
}

/// "64 training losses and 5 validation losses"
std::string counted_series(const Reproduction& reproduction) {
  std::vector<std::string> names;
  for (const RepeatedSeries& series : reproduction.series)
    names.push_back(counted(series.stored, name_of(series) + " loss", name_of(series) + " losses"));
  return listed(names, "and");
}

/// "training losses from step 12 on by up to 0.0031"
std::string difference_of(const RepeatedSeries& series) {
  std::string text = name_of(series) + " losses from step " + std::to_string(*series.first_step) + " on";
  if (series.largest && *series.largest > 0.0) {
    text += std::isfinite(*series.largest) ? ", by up to " + format_significant(*series.largest, 3)
                                           : ", where one of the two is no number";
  }
  return text;
}

std::string headline_of(const Reproduction& reproduction) {
  if (reproduction.series.empty()) return "Neither run has a loss, so there is nothing to compare.";
  if (reproduction.is_same()) return "Reproduced: " + counted_series(reproduction) + ", all the same to the last bit.";
  std::vector<std::string> differences;
  for (const RepeatedSeries& series : reproduction.series) {
    if (!series.is_same()) differences.push_back(difference_of(series));
  }
  std::string text = "Not reproduced: other " + joined(differences, "; other ") + ".";
  if (reproduction.conditions.empty())
    text += " Engine, configuration, data, seed, threads and kind of machine are those of the stored run.";
  return text;
}

Table series_table(const Reproduction& reproduction) {
  Table table{
      .id = "series",
      .title = "",
      .columns = {text_column("metric", "metric"), number_column("stored", "stored"),
                  number_column("same", "same bits"), number_column("extra", "only now", 2),
                  number_column("first_step", "first other step"), number_column("largest", "largest difference", 1)}};
  for (const RepeatedSeries& series : reproduction.series) {
    table.rows.push_back({text_cell(series.metric), count_cell(series.stored), count_cell(series.same),
                          count_cell(series.extra), count_cell(series.first_step),
                          significant_cell(series.largest, 3)});
  }
  return table;
}

Table conditions_table(const Reproduction& reproduction) {
  Table table{
      .id = "conditions",
      .title = "What differs besides",
      .columns = {text_column("condition", "condition"), wide_column("stored", "then"), wide_column("now", "now")}};
  for (const ChangedCondition& condition : reproduction.conditions)
    table.rows.push_back(
        {value_cell(condition.title, condition.key), text_cell(condition.stored), text_cell(condition.now)});
  return table;
}

}  // namespace

Document reproduction_report(const Reproduction& reproduction) {
  const results::RunRecord& run = reproduction.run;
  Document document{.kind = "reproduction", .title = "Run " + std::to_string(run.id) + " again"};
  document.headline = headline_of(reproduction);
  FactList list;
  list.add("is_same", "reproduced", yes_no_cell(reproduction.is_same()));
  list.add("run", "run", count_cell(run.id));
  list.add("suite", "suite", run.suite);
  list.add("cell", "cell", run.cell);
  list.add("seed", "seed", seed_cell(run.seed));
  list.add("stored_step_ms", "step ms then (median)", significant_cell(reproduction.stored_step_ms, 4));
  list.add("step_ms", "step ms now (median)", significant_cell(reproduction.step_ms, 4));
  Section& section = document.sections.emplace_back();
  section.facts = std::move(list.facts);
  if (!reproduction.series.empty()) section.tables.push_back(series_table(reproduction));
  if (!reproduction.conditions.empty()) section.tables.push_back(conditions_table(reproduction));
  document.reading.emplace_back(
      "The same configuration, data, seed, number of threads and engine give the same losses to the last bit on "
      "machines "
      "of one kind. Times are one run's each, and say nothing about speed.");
  return document;
}

}  // namespace nanobench::reports
