/// Multiple choice that models answered: accuracies with intervals, and paired comparisons. Pure functions, except for
/// the one that reads a Store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"
#include "results/store.h"

namespace nanobench::reports {

/// How the losses of an ending's tokens become its score.
enum class ChoiceScoring { kSum, kMean };

/// The answers of one model.
struct ModelAnswers {
  std::uint64_t seed = 0;
  std::string items;                                   ///< digest of them
  std::map<std::int64_t, bool> correct, correct_norm;  ///< by item: right by the sum, by the mean
  std::optional<double> chance, best_accuracy;

  const std::map<std::int64_t, bool>& of(ChoiceScoring scoring) const {
    return scoring == ChoiceScoring::kSum ? correct : correct_norm;
  }
};

/// The models of one cell, a seed each.
struct CellAnswers {
  std::string label;
  std::optional<std::string> reference;  ///< label of the cell that it is compared with
  std::vector<ModelAnswers> models;
};

/// One task.
struct Evaluation {
  std::string name;
  std::vector<CellAnswers> cells;  ///< only those with answers
};

/// Mean over a cell's models. The items are the independent cases: all models of a cell share them.
struct Accuracy {
  int models = 0;
  int items = 0;
  double share = 0.0;
  std::optional<ConfidenceInterval> interval;  ///< Wilson's
};

/// nullopt if the models have no items, or not the same.
std::optional<Accuracy> accuracy_of(const CellAnswers& cell, ChoiceScoring scoring);

/// A cell against its reference, item by item. An item counts for the cell of which more models have it right; with one
/// model each, McNemar's test asks how unequal these counts are. It is about these models: whether other seeds would do
/// alike is not its question.
struct AccuracyChange {
  std::string label, reference;
  double difference = 0.0;     ///< of accuracies, cell - reference
  int better = 0, worse = 0;   ///< items that count for the cell, and for the reference
  std::optional<double> p;     ///< McNemar's, exact; absent if no item differs
  std::optional<double> holm;  ///< adjusted for all changes of the task and scoring
};

/// In the order of the cells; those whose items differ from their reference's are left out.
std::vector<AccuracyChange> accuracy_changes(const Evaluation& evaluation, ChoiceScoring scoring);

/// The evaluations of these cells' completed runs, by name; `references` by label of the cell. A run's own answers
/// count, else those of the newest run that only evaluated its parameters (results/metric.h, kEvaluationOf).
std::vector<Evaluation> read_evaluations(const results::Store& store, const std::vector<CellMeasures>& cells,
                                         const std::map<std::string, std::string>& references);

}  // namespace nanobench::reports
