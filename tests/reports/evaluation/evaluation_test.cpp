#include "reports/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include "reports/kinds/sections.h"
#include "reports/stats/proportion.h"
#include "results/metric.h"
#include "tests/reports/made_cells.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

/// Item i is right where the text has a 1.
ModelAnswers model(std::uint64_t seed, const std::string& correct, const std::string& correct_norm = "",
                   const std::string& items = "items") {
  ModelAnswers answers{
      .seed = seed, .items = items, .correct = {}, .correct_norm = {}, .chance = 0.25, .best_accuracy = 0.9};
  for (std::size_t i = 0; i < correct.size(); ++i) {
    const auto item = static_cast<std::int64_t>(i);
    answers.correct[item] = correct[i] == '1';
    answers.correct_norm[item] = (correct_norm.empty() ? correct : correct_norm)[i] == '1';
  }
  return answers;
}

TEST(Accuracy, IsTheMeanOverModelsWithTheItemsAsCases) {
  const CellAnswers cell{.label = "a", .reference = {}, .models = {model(1, "1100"), model(2, "1010", "1111")}};
  const auto by_sum = accuracy_of(cell, ChoiceScoring::kSum);
  ASSERT_TRUE(by_sum);
  EXPECT_EQ(by_sum->items, 4);
  EXPECT_EQ(by_sum->models, 2);
  EXPECT_DOUBLE_EQ(by_sum->share, 0.5);
  EXPECT_DOUBLE_EQ(by_sum->interval->low, wilson(2, 4)->low) << "four cases, not eight";
  EXPECT_DOUBLE_EQ(accuracy_of(cell, ChoiceScoring::kMean)->share, 0.75);
  EXPECT_FALSE(
      accuracy_of({.label = "b", .reference = {}, .models = {model(1, "1"), model(2, "11")}}, ChoiceScoring::kSum));
  EXPECT_FALSE(accuracy_of({.label = "b", .reference = {}, .models = {model(1, "1"), model(2, "1", "", "x")}},
                           ChoiceScoring::kSum))
      << "other items";
  EXPECT_FALSE(accuracy_of({.label = "c", .reference = {}, .models = {}}, ChoiceScoring::kSum));
}

TEST(AccuracyChanges, CountItemsForTheCellThatHasThemRightMoreOften) {
  const Evaluation evaluation{
      .name = "t",
      .cells = {{.label = "base", .reference = {}, .models = {model(1, "0000011111"), model(2, "0000011110")}},
                {.label = "a", .reference = "base", .models = {model(1, "1111111111"), model(2, "1111111111")}},
                {.label = "b", .reference = "base", .models = {model(1, "0000011110")}},
                {.label = "c", .reference = "nobody", .models = {model(1, "0000011111")}},
                {.label = "d", .reference = "base", .models = {model(1, "0000011111", "", "other items")}}}};
  const std::vector<AccuracyChange> changes = accuracy_changes(evaluation, ChoiceScoring::kSum);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].label, "a");
  EXPECT_EQ(changes[0].better, 6) << "five that the base never has, one that half of it has";
  EXPECT_EQ(changes[0].worse, 0);
  EXPECT_DOUBLE_EQ(changes[0].difference, 1.0 - 0.45);
  EXPECT_DOUBLE_EQ(*changes[0].p, 2.0 / 64);
  EXPECT_DOUBLE_EQ(*changes[0].holm, 4.0 / 64) << "of two changes";
  EXPECT_EQ(changes[1].better, 0);
  EXPECT_EQ(changes[1].worse, 1);
  EXPECT_DOUBLE_EQ(*changes[1].p, 1.0);
}

TEST(EvaluationSection, HasAccuraciesChangesChanceAndTheBest) {
  const Evaluation evaluation{
      .name = "swag",
      .cells = {{.label = "base", .reference = {}, .models = {model(1, "0000000011")}},
                {.label = "a", .reference = "base", .models = {model(1, "1111111111", "0000000011")}}}};
  const Section section = evaluation_section(evaluation);
  ASSERT_EQ(section.tables.size(), 2U);
  EXPECT_EQ(section.tables[0].id, "accuracy_swag");
  EXPECT_EQ(section.tables[1].id, "accuracy_changes_swag");
  ASSERT_EQ(section.tables[1].rows.size(), 2U) << "by sum and by mean";
  EXPECT_EQ(section.tables[1].rows[0].back().value, "better");
  EXPECT_EQ(section.tables[1].rows[1].back().value, "open");
  ASSERT_EQ(section.facts.size(), 2U);
  EXPECT_EQ(section.facts[0].cell.value, 0.25);
  EXPECT_EQ(section.facts[1].cell.value, 0.9);
}

class StoredEvaluations : public results::StoreTest {
 protected:
  std::int64_t add_run(results::Store& store, const std::string& digest, const std::string& suite,
                       const results::RunBatch& batch) {
    results::NewRun run = new_run(digest);
    run.suite = suite;
    const std::int64_t id = claim(store, run);
    store.finish_run(id, completed(), batch);
    return id;
  }
  static results::RunBatch answers(const std::string& name, std::vector<double> correct) {
    results::RunBatch batch;
    batch.facts[results::evaluation_metric(name, results::kEvaluationItems)] = "items of " + name;
    for (std::size_t i = 0; i < correct.size(); ++i) {
      batch.samples["eval/" + name + "/correct"].push_back({static_cast<std::int64_t>(i), correct[i]});
      batch.samples["eval/" + name + "/correct_norm"].push_back({static_cast<std::int64_t>(i), 1.0});
    }
    batch.samples["eval/" + name + "/accuracy"].push_back({100, 0.5});
    batch.samples["eval/" + name + "/chance"].push_back({100, 0.25});
    return batch;
  }
};

TEST_F(StoredEvaluations, AreReadOfTheRunAndOfWhatEvaluatedItLater) {
  results::Store store(file());
  const std::int64_t own = add_run(store, "d1", "s", answers("swag", {1, 0}));
  const std::int64_t bare = add_run(store, "d2", "s", {});
  results::RunBatch later = answers("swag", {1, 1});
  later.facts[results::kEvaluationOf] = "d2";
  add_run(store, "e1", results::kEvaluationSuite, later);
  later = answers("swag", {0, 0});
  later.facts[results::kEvaluationOf] = "d1";
  add_run(store, "e2", results::kEvaluationSuite, later);
  CellMeasures a = made_cell("a", {3.0}), b = made_cell("b", {3.0});
  a.runs[0].run = store.run(own);
  b.runs[0].run = store.run(bare);
  const std::vector<Evaluation> evaluations = read_evaluations(store, {a, b}, {{"b", "a"}});
  ASSERT_EQ(evaluations.size(), 1U);
  EXPECT_EQ(evaluations[0].name, "swag");
  ASSERT_EQ(evaluations[0].cells.size(), 2U);
  EXPECT_EQ(evaluations[0].cells[0].models[0].correct, (std::map<std::int64_t, bool>{{0, true}, {1, false}}))
      << "its own answers count";
  EXPECT_EQ(evaluations[0].cells[1].models[0].correct, (std::map<std::int64_t, bool>{{0, true}, {1, true}}));
  EXPECT_EQ(evaluations[0].cells[1].reference, "a");
  EXPECT_EQ(evaluations[0].cells[0].models[0].chance, 0.25);
  EXPECT_FALSE(evaluations[0].cells[0].models[0].best_accuracy);
}

}  // namespace
}  // namespace nanobench::reports
