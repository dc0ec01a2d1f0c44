#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/comparison/comparison.h"
#include "reports/effects/likely_order.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

struct Made {
  results::PlanRecord plan;
  std::vector<CellMeasures> cells;
  ComparisonTable table;
  std::vector<EffectResult> effects;
};

/// A history of cells "c0", "c1", ... with these losses by seed.
Made history_of(const std::vector<std::vector<double>>& losses) {
  Made made;
  made.plan.design = results::Design::kHistory;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    made.cells.push_back(made_cell("c" + std::to_string(i), losses[i]));
    made.cells.back().cell.changes = {"change " + std::to_string(i), "and more of it"};
    made.plan.cells.push_back(made.cells.back().cell);
    if (i > 0)
      made.plan.contrasts.push_back(
          simple_contrast("c" + std::to_string(i), "c" + std::to_string(i), "c" + std::to_string(i - 1)));
  }
  made.table = compare(made.plan, made.cells, {});
  made.effects = analyse_effects(made.plan, made.cells);
  return made;
}

std::vector<Card> cards_of(const Made& made, const std::map<std::string, CountedCost>& costs = {}) {
  return verdict_cards(made.plan, made.table, made.effects, {}, costs, {});
}

const Card* card(const std::vector<Card>& cards, const std::string& key) {
  for (const Card& one : cards) {
    if (one.key == key) return &one;
  }
  return nullptr;
}

bool has_line_with(const Card& one, const std::string& text) {
  return std::any_of(one.lines.begin(), one.lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

const std::vector<std::vector<double>> kLosses = {
    {3.00, 3.01, 2.99}, {2.90, 2.911, 2.889}, {2.9005, 2.9105, 2.8902}, {2.98, 2.991, 2.969}};

TEST(VerdictCards, SayWhatIsProvedAndBoundWhatIsNot) {
  const Made made = history_of(kLosses);
  const std::vector<Card> cards = cards_of(made);
  ASSERT_NE(card(cards, "c1"), nullptr);
  EXPECT_EQ(card(cards, "c1")->tone, Card::Tone::kBetter);
  EXPECT_TRUE(has_line_with(*card(cards, "c1"), nats_text(std::abs(*made.effects[0].loss.value))));
  EXPECT_EQ(card(cards, "c1")->text, "change 1") << "the first of its changes";
  EXPECT_EQ(card(cards, "c3")->tone, Card::Tone::kWorse);
  ASSERT_EQ(made.effects[1].loss.verdict, Verdict::kInconclusive);
  EXPECT_EQ(card(cards, "c2")->tone, Card::Tone::kOpen);
  const ConfidenceInterval& interval = *made.effects[1].loss.interval;
  const double bound = std::max(std::abs(interval.low), std::abs(interval.high));
  EXPECT_TRUE(has_line_with(*card(cards, "c2"), nats_text(bound)));
}

TEST(VerdictCards, ManyChangesAreAnsweredByMetric) {
  std::vector<std::vector<double>> losses;
  for (int i = 0; i < 12; ++i) losses.push_back({3.0 - 0.1 * i, 3.01 - 0.1 * i, 2.992 - 0.1 * i});
  const std::vector<Card> cards = cards_of(history_of(losses));
  EXPECT_EQ(card(cards, "c1"), nullptr);
  ASSERT_NE(card(cards, "val_loss"), nullptr);
  EXPECT_EQ(card(cards, "val_loss")->verdict, "11 better");
}

TEST(VerdictCards, CountsHaveNoNoise) {
  const std::map<std::string, CountedCost> costs = {{"c0", {.flops = 1000.0, .blocks = 200.0}},
                                                    {"c1", {.flops = 957.0, .blocks = 200.0}},
                                                    {"c3", {.flops = 500.0, .blocks = std::nullopt}}};
  const std::vector<Card> cards = cards_of(history_of(kLosses), costs);
  EXPECT_TRUE(has_line_with(*card(cards, "c1"), "-4.3 %"));
  EXPECT_EQ(card(cards, "c2")->lines, card(cards_of(history_of(kLosses)), "c2")->lines) << "c2 has no counts";
  EXPECT_TRUE(has_line_with(*card(cards, "course"), "-50.0 %"));
  const CountedChange change = counted_change(costs, "c0", "c1");
  EXPECT_NEAR(*change.flops, -0.043, 1e-12);
  EXPECT_EQ(*change.blocks, 0.0);
  EXPECT_TRUE(counted_change(costs, "c0", "c2").empty());
}

TEST(VerdictCards, NothingMeasuredHasNone) {
  EXPECT_TRUE(cards_of(history_of({{}, {}})).empty());
}

TEST(ComparedCells, AreTwoWithOppositeSigns) {
  const auto cells = compared_cells(simple_contrast("e", "after", "before"));
  ASSERT_TRUE(cells);
  EXPECT_EQ(cells->from, "before");
  EXPECT_EQ(cells->to, "after");
  results::PlanContrast half = simple_contrast("e", "after", "before");
  half.coefficients["after"] = 0.5;
  EXPECT_FALSE(compared_cells(half));
}

TEST(LikelyOrder, HasTheChanceOfThePlansSpread) {
  Made made = history_of(kLosses);
  for (std::size_t i = 0; i < 3; ++i) {
    MeasuredEffect& loss = made.effects[i].loss;
    loss.value = 0.01 * static_cast<double>(3 - i);  // c3, c2, c1
    loss.plan_sd = 0.01;
    loss.plan_df = 1e9;
    loss.n = 4;
    loss.is_outlying = false;
  }
  const LikelyOrder order = likely_order(made.effects, &EffectResult::loss);
  EXPECT_EQ(order.places, (std::vector<std::size_t>{2, 1, 0}));
  ASSERT_EQ(order.chances.size(), 2U);
  // Neighbours share a cell: c3 - c2 against c2 - c1 is c3 - 2 c2 + c1, of variance 6 sd^2 / n.
  const double z = 0.01 / (0.01 * std::sqrt(6.0 / 4.0));
  EXPECT_NEAR(order.chances[0], 0.5 * std::erfc(-z / std::sqrt(2.0)), 1e-6);
  made.effects[1].loss.is_outlying = true;
  EXPECT_EQ(likely_order(made.effects, &EffectResult::loss).places, (std::vector<std::size_t>{2, 0}));
  for (EffectResult& effect : made.effects) effect.log_time = effect.loss;
  made.effects[2].other_code.insert("blocks");
  EXPECT_TRUE(likely_order(made.effects, &EffectResult::log_time).places.empty()) << "times of different code";
  EXPECT_EQ(likely_order(made.effects, &EffectResult::loss).places.size(), 2U);
  made.effects[0].loss.plan_sd = std::nullopt;
  EXPECT_TRUE(likely_order(made.effects, &EffectResult::loss).places.empty());
}

}  // namespace
}  // namespace nanobench::reports
