#include "reports/evaluation/evaluation.h"

#include <algorithm>
#include <set>

#include "reports/stats/multiple.h"
#include "reports/stats/proportion.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

using results::evaluation_metric;

/// Models that are right, by item; nullopt if not all have the same items.
std::optional<std::map<std::int64_t, int>> right_models(const CellAnswers& cell, ChoiceScoring scoring) {
  std::map<std::int64_t, int> counts;
  if (cell.models.empty()) return std::nullopt;
  for (const auto& [item, is_right] : cell.models.front().of(scoring)) counts[item] = 0;
  for (const ModelAnswers& model : cell.models) {
    if (model.items != cell.models.front().items || model.of(scoring).size() != counts.size()) return std::nullopt;
    for (const auto& [item, is_right] : model.of(scoring)) {
      const auto found = counts.find(item);
      if (found == counts.end()) return std::nullopt;
      found->second += is_right ? 1 : 0;
    }
  }
  return counts.empty() ? std::nullopt : std::optional(counts);
}

std::optional<AccuracyChange> change_between(const CellAnswers& cell, const CellAnswers& reference,
                                             ChoiceScoring scoring) {
  const auto counts = right_models(cell, scoring), others = right_models(reference, scoring);
  if (!counts || !others || cell.models.front().items != reference.models.front().items) return std::nullopt;
  if (counts->size() != others->size()) return std::nullopt;
  AccuracyChange change{.label = cell.label, .reference = reference.label};
  const auto models = static_cast<double>(cell.models.size());
  const auto other_models = static_cast<double>(reference.models.size());
  for (const auto& [item, count] : *counts) {
    const auto other = others->find(item);
    if (other == others->end()) return std::nullopt;
    const double difference = count / models - other->second / other_models;
    change.difference += difference / static_cast<double>(counts->size());
    if (difference > 0) ++change.better;
    if (difference < 0) ++change.worse;
  }
  change.p = mcnemar(change.better, change.worse);
  return change;
}

std::map<std::int64_t, bool> answers_at(const results::Store& store, std::int64_t run_id, const std::string& metric) {
  std::map<std::int64_t, bool> answers;
  for (const results::Sample& sample : store.samples(run_id, metric)) answers[sample.step] = sample.value != 0.0;
  return answers;
}

std::optional<double> last_value(const results::Store& store, std::int64_t run_id, const std::string& metric) {
  const std::vector<results::Sample> samples = store.samples(run_id, metric);
  return samples.empty() ? std::nullopt : std::optional(samples.back().value);
}

/// Names of the evaluations that a completed run has results of.
std::set<std::string> evaluation_names(const results::Store& store, std::int64_t run_id) {
  const std::string prefix = results::kEvaluationPrefix, end = std::string("/") + results::kEvaluationItems;
  std::set<std::string> names;
  for (const auto& [fact, value] : store.run_facts(run_id)) {
    if (fact.starts_with(prefix) && fact.ends_with(end))
      names.insert(fact.substr(prefix.size(), fact.size() - prefix.size() - end.size()));
  }
  return names;
}

ModelAnswers read_answers(const results::Store& store, std::int64_t run_id, const std::string& name,
                          std::uint64_t seed) {
  const auto facts = store.run_facts(run_id);
  const auto items = facts.find(evaluation_metric(name, results::kEvaluationItems));
  return {.seed = seed,
          .items = items == facts.end() ? "" : items->second,
          .correct = answers_at(store, run_id, evaluation_metric(name, results::kCorrect)),
          .correct_norm = answers_at(store, run_id, evaluation_metric(name, results::kCorrectNorm)),
          .chance = last_value(store, run_id, evaluation_metric(name, results::kChance)),
          .best_accuracy = last_value(store, run_id, evaluation_metric(name, results::kBestAccuracy))};
}

/// Runs that only evaluated the parameters of others: the newest run by the other's digest and evaluation's name.
std::map<std::pair<std::string, std::string>, std::int64_t> later_evaluations(const results::Store& store) {
  std::map<std::pair<std::string, std::string>, std::int64_t> runs;
  for (const results::RunRecord& run :
       store.runs({.suite = results::kEvaluationSuite, .outcome = core::RunOutcome::kCompleted})) {
    const auto facts = store.run_facts(run.id);
    const auto of = facts.find(results::kEvaluationOf);
    if (of == facts.end()) continue;
    for (const std::string& name : evaluation_names(store, run.id)) runs[{of->second, name}] = run.id;
  }
  return runs;
}

}  // namespace

std::optional<Accuracy> accuracy_of(const CellAnswers& cell, ChoiceScoring scoring) {
  const auto counts = right_models(cell, scoring);
  if (!counts) return std::nullopt;
  Accuracy accuracy{.models = static_cast<int>(cell.models.size()), .items = static_cast<int>(counts->size())};
  double hits = 0;
  for (const auto& [item, count] : *counts) hits += count;
  hits /= accuracy.models;
  accuracy.share = hits / accuracy.items;
  accuracy.interval = wilson(hits, accuracy.items);
  return accuracy;
}

std::vector<AccuracyChange> accuracy_changes(const Evaluation& evaluation, ChoiceScoring scoring) {
  std::vector<AccuracyChange> changes;
  for (const CellAnswers& cell : evaluation.cells) {
    if (!cell.reference) continue;
    const auto reference = std::find_if(evaluation.cells.begin(), evaluation.cells.end(),
                                        [&](const CellAnswers& other) { return other.label == *cell.reference; });
    if (reference == evaluation.cells.end()) continue;
    if (auto change = change_between(cell, *reference, scoring)) changes.push_back(*std::move(change));
  }
  std::vector<std::optional<double>> p;
  for (const AccuracyChange& change : changes) p.push_back(change.p);
  const std::vector<std::optional<double>> adjusted = holm(p);
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].holm = adjusted[i];
  return changes;
}

std::vector<Evaluation> read_evaluations(const results::Store& store, const std::vector<CellMeasures>& cells,
                                         const std::map<std::string, std::string>& references) {
  const auto later = later_evaluations(store);
  std::map<std::string, Evaluation> evaluations;
  for (const CellMeasures& cell : cells) {
    std::map<std::string, CellAnswers> by_name;
    for (const RunMeasure& measure : cell.runs) {
      const results::RunRecord& run = measure.run;
      if (!run.is_completed()) continue;
      const std::set<std::string> own = evaluation_names(store, run.id);
      for (const std::string& name : own) by_name[name].models.push_back(read_answers(store, run.id, name, run.seed));
      for (auto found = later.lower_bound({run.digest, ""}); found != later.end() && found->first.first == run.digest;
           ++found) {
        const std::string& name = found->first.second;
        if (!own.contains(name)) by_name[name].models.push_back(read_answers(store, found->second, name, run.seed));
      }
    }
    for (auto& [name, answers] : by_name) {
      answers.label = cell.cell.label;
      if (const auto reference = references.find(cell.cell.label); reference != references.end())
        answers.reference = reference->second;
      evaluations[name].name = name;
      evaluations[name].cells.push_back(std::move(answers));
    }
  }
  std::vector<Evaluation> result;
  for (auto& [name, evaluation] : evaluations) result.push_back(std::move(evaluation));
  return result;
}

}  // namespace nanobench::reports
