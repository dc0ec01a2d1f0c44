// Multiple choice: accuracies and their comparison.
#include <algorithm>

#include "core/base/text.h"
#include "reports/evaluation/evaluation.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr double kProved = 0.05;

std::string share_text(double share) {
  return format_percent(share, 1);
}

TableCell accuracy_cell(const std::optional<Accuracy>& accuracy) {
  if (!accuracy) return missing_cell();
  OrderedJson json = {{"value", accuracy->share}};
  add_bounds(json, accuracy->interval);
  std::string range;
  if (accuracy->interval)
    range =
        format_fixed(100.0 * accuracy->interval->low, 1) + " to " + format_fixed(100.0 * accuracy->interval->high, 1);
  return value_cell(share_text(accuracy->share), std::move(json), range);
}

Table accuracy_table(const Evaluation& evaluation) {
  Table table{.id = "accuracy_" + evaluation.name,
              .columns = {text_column("cell", "model"), number_column("accuracy", "accuracy"),
                          number_column("accuracy_norm", "by mean loss"), number_column("items", "items", 1),
                          number_column("models", "n")}};
  for (const CellAnswers& cell : evaluation.cells) {
    const std::optional<Accuracy> by_sum = accuracy_of(cell, ChoiceScoring::kSum);
    const std::size_t items = by_sum ? static_cast<std::size_t>(by_sum->items) : cell.models.front().correct.size();
    table.rows.push_back(
        {text_cell(cell.label), accuracy_cell(by_sum), accuracy_cell(accuracy_of(cell, ChoiceScoring::kMean)),
         count_cell(static_cast<std::int64_t>(items)), count_cell(static_cast<std::int64_t>(cell.models.size()))});
  }
  return table;
}

const char* verdict_of(const AccuracyChange& change) {
  if (!change.holm || *change.holm >= kProved) return "open";
  return change.better > change.worse ? "better" : "worse";
}

Table change_table(const std::string& name, const std::vector<AccuracyChange>& by_sum,
                   const std::vector<AccuracyChange>& by_mean) {
  Table table{
      .id = "accuracy_changes_" + name,
      .columns = {text_column("cell", "model"), text_column("reference", "against", 1),
                  number_column("scoring", "loss"), number_column("difference", "points"),
                  number_column("better", "better"), number_column("worse", "worse"), number_column("p", "p", 2),
                  number_column("holm", "p (Holm)"), text_column("verdict", "verdict")}};
  table.columns[2].is_number = false;
  const auto add = [&](const AccuracyChange& change, const char* scoring) {
    table.rows.push_back({text_cell(change.label), text_cell(change.reference), text_cell(scoring),
                          value_cell(format_signed(100.0 * change.difference, 1), change.difference),
                          count_cell(change.better), count_cell(change.worse), p_cell(change.p), p_cell(change.holm),
                          text_cell(verdict_of(change))});
  };
  for (std::size_t i = 0; i < by_sum.size(); ++i) {
    add(by_sum[i], "sum");
    if (i < by_mean.size()) add(by_mean[i], "mean");
  }
  return table;
}

/// The first model that knows it.
std::optional<double> first_known(const Evaluation& evaluation, std::optional<double> ModelAnswers::*value) {
  for (const CellAnswers& cell : evaluation.cells)
    for (const ModelAnswers& model : cell.models)
      if (model.*value) return model.*value;
  return std::nullopt;
}

}  // namespace

Section evaluation_section(const Evaluation& evaluation) {
  Section section{.title = "Multiple choice: " + evaluation.name};
  FactList facts;
  const auto add = [&](const char* key, const char* title, const std::optional<double>& share) {
    if (share) facts.add(std::string(key) + "_" + evaluation.name, title, value_cell(share_text(*share), *share));
  };
  add("chance", "guesses", first_known(evaluation, &ModelAnswers::chance));
  add("best_accuracy", "best possible", first_known(evaluation, &ModelAnswers::best_accuracy));
  section.facts = std::move(facts.facts);
  section.tables.push_back(accuracy_table(evaluation));
  const std::vector<AccuracyChange> by_sum = accuracy_changes(evaluation, ChoiceScoring::kSum);
  const std::vector<AccuracyChange> by_mean = accuracy_changes(evaluation, ChoiceScoring::kMean);
  if (!by_sum.empty() || !by_mean.empty()) section.tables.push_back(change_table(evaluation.name, by_sum, by_mean));
  section.reading = {
      "accuracy: share of items whose right ending has the smallest loss, as the sum over its tokens, with Wilson's "
      "95 % interval; by mean loss: as their mean. n: models, over which it is the mean; they share the items.",
      "better, worse: items that more of the models have right than of the reference's, or fewer. p: McNemar's exact "
      "test on these two counts; (Holm): adjusted for all changes of the task. They are about these models, not about "
      "other seeds."};
  return section;
}

Document evaluation_report(const std::vector<Evaluation>& evaluations, const std::string& title) {
  Document document{.kind = "evaluation", .title = title};
  for (const Evaluation& evaluation : evaluations) document.sections.push_back(evaluation_section(evaluation));
  return document;
}

}  // namespace nanobench::reports
