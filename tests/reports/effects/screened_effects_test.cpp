#include "reports/effects/screened_effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nanobench::reports {
namespace {

constexpr int kCells = 40;
const std::vector<std::string> kFeatures = {"worse", "idle", "slower", "twin", "breaks"};

/// The base, then random cells. `worse` costs 0.2 nats, `slower` a tenth of the speed, `twin` goes with `slower`, and
/// cells with `breaks` and `worse` diverge.
std::vector<CellMeasures> made_screening() {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0.0, 0.01);
  std::vector<CellMeasures> cells(kCells);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto& features = cells[i].cell.features;
    for (const std::string& id : kFeatures) features[id] = i > 0 && random() % 4 == 0 ? "off" : "on";
    features["twin"] = features["slower"];
    const bool is_worse = features["worse"] == "off", is_slower = features["slower"] == "off";
    RunMeasure& run = cells[i].runs.emplace_back();
    const bool has_diverged = is_worse && features["breaks"] == "off";
    run.run.result = results::RunResult{
        .outcome = has_diverged ? core::RunOutcome::kDiverged : core::RunOutcome::kCompleted, .steps = 10};
    if (!has_diverged) run.val_loss = 3.0 + (is_worse ? 0.2 : 0.0) + noise(random);
    run.clock_ms = 1000.0 * std::exp((is_slower ? 0.1 : 0.0) + noise(random));
  }
  return cells;
}

TEST(ScreenedEffects, NamesWhatChangesLossOrTime) {
  const Screening screening = screened_effects(made_screening());
  ASSERT_EQ(screening.effects.size(), 4U);  // twin is told with slower
  EXPECT_EQ(screening.suspects(), 2U);
  EXPECT_EQ(screening.cells, kCells);
  for (const ScreenedEffect& effect : screening.effects) {
    SCOPED_TRACE(effect.feature);
    EXPECT_EQ(effect.value, "off");
    EXPECT_EQ(effect.loss.is_suspect, effect.feature == "worse");
    EXPECT_EQ(effect.time.is_suspect, effect.feature == "slower");
    EXPECT_EQ(effect.always,
              effect.feature == "slower" ? std::vector<std::string>{"twin"} : std::vector<std::string>{});
  }
  EXPECT_TRUE(screening.effects[0].is_suspect() && screening.effects[1].is_suspect());  // suspects come first
}

TEST(ScreenedEffects, DivergedCellsCountAsTheWorst) {
  std::vector<CellMeasures> cells = made_screening();
  const Screening whole = screened_effects(cells);
  EXPECT_GT(whole.diverged, 0);
  for (CellMeasures& cell : cells) {
    if (!cell.runs.front().val_loss) cell.runs.clear();
  }
  const Screening without = screened_effects(cells);
  EXPECT_EQ(without.diverged, 0);
  EXPECT_EQ(without.cells, kCells - whole.diverged);
}

TEST(ScreenedEffects, NothingMeasuredIsNothingSuspected) {
  EXPECT_TRUE(screened_effects({}).effects.empty());
  std::vector<CellMeasures> cells = made_screening();
  for (CellMeasures& cell : cells) cell.runs.clear();
  EXPECT_EQ(screened_effects(cells).suspects(), 0U);
}

}  // namespace
}  // namespace nanobench::reports
