#include "reports/charts/charts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/charts/axis_range.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

OrderedJson rows_of(const std::optional<Chart>& chart) {
  return complete_spec(chart.value()).at("datasets").at("data");
}

ComparisonTable table_of(const std::vector<double>& step_ms, const std::vector<double>& published = {}) {
  ComparisonTable table;
  for (std::size_t i = 0; i < step_ms.size(); ++i) {
    Comparison& row = table.rows.emplace_back();
    row.label = "row" + std::to_string(i);
    row.step_ms = summarise(BySeed{{1, step_ms[i]}});
    if (i < published.size()) row.published_step_ms = published[i];
  }
  return table;
}

results::PlanRecord plan_of(results::Design design) {
  results::PlanRecord plan;
  plan.design = design;
  return plan;
}

RunMeasure run_of(std::uint64_t seed, std::vector<CurvePoint> curve) {
  RunMeasure run;
  run.run.seed = seed;
  run.curve = std::move(curve);
  return run;
}

TEST(SpeedChart, AHistoryIsAWaterfall) {
  const OrderedJson rows = rows_of(speed_chart(plan_of(results::Design::kHistory), table_of({10, 8, 5}, {100, 80})));
  ASSERT_EQ(rows.size(), 5U) << "published figures end with the second row";
  std::map<std::string, std::pair<double, double>> bars;
  for (const OrderedJson& row : rows) {
    bars[row.at("row").get<std::string>() + "/" + row.at("kind").get<std::string>()] = {
        row.at("from").get<double>(), row.at("speed_up").get<double>()};
  }
  EXPECT_EQ(bars.at("row1/measured here"), std::pair(1.0, 1.25));
  EXPECT_EQ(bars.at("row2/measured here"), std::pair(1.25, 2.0));
  EXPECT_EQ(bars.at("row1/published"), std::pair(1.0, 1.25));
}

TEST(SpeedChart, OtherDesignsStartFromTheFirstRow) {
  const OrderedJson rows = rows_of(speed_chart(plan_of(results::Design::kLeaveOneOut), table_of({10, 8, 5})));
  for (const OrderedJson& row : rows) EXPECT_EQ(row.at("from"), 1.0);
  EXPECT_FALSE(speed_chart(plan_of(results::Design::kHistory), table_of({10})).has_value());
}

TEST(LossChart, HasMeanAndRangeOfTheRunsAtEachStep) {
  CellMeasures cell;
  cell.cell.label = "a";
  cell.runs = {run_of(1, {{std::nullopt, 5.0, 0}, {2.0, 4.0, 10}}),
               run_of(2, {{std::nullopt, 6.0, 0}, {4.0, 3.0, 10}})};
  cell.runs[0].step_tokens = 256;
  const OrderedJson rows = rows_of(loss_chart({cell}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("loss"), 5.5);
  EXPECT_EQ(rows[0].at("seconds"), nullptr) << "the clock had not begun";
  EXPECT_EQ(rows[1].at("low"), 3.0);
  EXPECT_EQ(rows[1].at("high"), 4.0);
  EXPECT_EQ(rows[1].at("seconds"), 3.0);
  EXPECT_EQ(rows[1].at("tokens"), 2560.0);
  EXPECT_EQ(rows[1].at("n"), 2);
  EXPECT_FALSE(loss_chart({CellMeasures{}}).has_value());
}

TEST(LossChart, LongCurvesKeepTheirEndsAndSpikes) {
  std::vector<CurvePoint> curve;
  for (int step = 0; step < 100000; ++step) curve.push_back({1.0 * step, 5.0 - step * 1e-5, step});
  curve[50].loss = std::numeric_limits<double>::quiet_NaN();
  curve[77777].loss = 9.0;
  CellMeasures cell;
  cell.cell.label = "a";
  cell.runs = {run_of(1, curve)};
  const std::optional<Chart> chart = loss_chart({cell});
  const OrderedJson rows = rows_of(chart);
  EXPECT_LE(rows.size(), 2400U);
  EXPECT_GT(rows.size(), 2000U);
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const OrderedJson& row) { return row.at("step") == 77777; }));
  ASSERT_EQ(chart->full.blocks.size(), 1U);
  EXPECT_EQ(chart->full.blocks[0].values.size(), 3 * curve.size()) << "the page keeps all of them";
  EXPECT_EQ(rows.front().at("step"), 0);
  EXPECT_EQ(rows.back().at("step"), 99999);
}

TEST(OrderChart, IsInTheOrderOfBeginsAgainstTheCellsMedian) {
  CellMeasures cell;
  cell.cell.label = "a";
  for (const auto& [seed, began, ms] :
       {std::tuple(1U, "2026-01-01T00:02:00.000Z", 11.0), std::tuple(2U, "2026-01-01T00:00:00.000Z", 10.0),
        std::tuple(3U, "2026-01-01T00:01:00.000Z", 9.0)}) {
    RunMeasure& run = cell.runs.emplace_back();
    run.run.seed = seed;
    run.run.started_at = began;
    run.step_ms = ms;
  }
  cell.runs[2].disturbance = "the load was 9";
  const OrderedJson rows = rows_of(order_chart({cell}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("seed"), 2);
  EXPECT_EQ(rows[1].at("state"), "disturbed");
  EXPECT_EQ(rows[1].at("reason"), "the load was 9");
  EXPECT_EQ(rows[0].at("reason"), nullptr);
  EXPECT_NEAR(rows[2].at("change").get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(rows[2].at("minutes").get<double>(), 2.0, 1e-9);
}

TEST(PhaseChart, FollowsTheStep) {
  const OrderedJson rows = rows_of(
      phase_chart({{.cell = "a", .phases = {{"backward", 6.0}, {"data", 1.0}, {"forward", 3.0}, {"other", 2.0}}}}));
  std::map<std::string, int> places;
  for (const OrderedJson& row : rows) places[row.at("phase").get<std::string>()] = row.at("place").get<int>();
  EXPECT_LT(places.at("data"), places.at("forward"));
  EXPECT_LT(places.at("forward"), places.at("backward"));
  EXPECT_LT(places.at("backward"), places.at("other"));
  EXPECT_FALSE(phase_chart({{.cell = "a", .phases = {}}}).has_value());
}

TEST(InteractionChart, IsASquareOfPairsAndHasNoTriples) {
  std::vector<EffectResult> effects(3);
  const char* const names[] = {"a", "b", "c"};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t factor = 0; factor <= i; ++factor)
      effects[i].contrast.factors.push_back({names[factor], names[factor], "off", "on"});
    effects[i].contrast.kind = i == 0 ? results::ContrastKind::kMain : results::ContrastKind::kInteraction;
    effects[i].loss.value = 0.5;
  }
  const OrderedJson rows = rows_of(interaction_chart(effects));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("first"), "a");
  EXPECT_EQ(rows[1].at("first"), "b");
  EXPECT_FALSE(interaction_chart({effects[0]}).has_value());
}

TEST(AxisRange, OneWideIntervalDoesNotHideTheOthers) {
  const AxisRange range = axis_range(
      {-2.0, 3.0}, {{.low = -3.0, .high = -1.0}, {.low = 1.0, .high = 5.0}, {.low = -5000.0, .high = 35000.0}}, 0.0);
  EXPECT_EQ(range.low, -7.0) << "the lowest value less the range of the values";
  EXPECT_EQ(range.high, 8.0);
  EXPECT_EQ(range.inside(35000.0), 8.0);
  const AxisRange narrow = axis_range({0.1}, {{.low = -0.4, .high = 0.6}}, 0.0);
  EXPECT_EQ(narrow.low, -0.4) << "an ordinary interval is whole";
  EXPECT_EQ(narrow.high, 0.6);
}

TEST(EffectsChart, CutsAndMarksIntervalsThatReachFarBeyondTheEffects) {
  std::vector<EffectResult> effects(3);
  for (std::size_t i = 0; i < 3; ++i) {
    effects[i].contrast.effect = "e" + std::to_string(i);
    effects[i].loss.value = 0.01 * static_cast<double>(i);
    effects[i].loss.interval = ConfidenceInterval{.low = -0.01, .high = 0.03};
  }
  effects[2].loss.interval = ConfidenceInterval{.low = -50.0, .high = 350.0};
  effects[1].loss.verdict = Verdict::kRegressed;
  const OrderedJson rows = rows_of(effects_chart(plan_of(results::Design::kHistory), effects));
  EXPECT_EQ(rows[0].at("cut_high"), false);
  EXPECT_EQ(rows[2].at("cut_low"), true);
  EXPECT_EQ(rows[2].at("high"), 350.0) << "the data are whole";
  EXPECT_LT(rows[2].at("drawn_high").get<double>(), 0.1);
  EXPECT_EQ(rows[1].at("finding"), "worse");
  EXPECT_EQ(rows[0].at("finding"), "open");
  effects[0].loss.value = 0.5;
  const OrderedJson sorted = rows_of(effects_chart(plan_of(results::Design::kLeaveOneOut), effects));
  EXPECT_EQ(sorted[2].at("effect"), "e0") << "the largest gain first, this one last";
}

TEST(EffectsChart, HasThePublishedChangeBesideTheTime) {
  EffectResult effect;
  effect.contrast.effect = "a";
  effect.log_time.value = std::log(0.9);
  effect.loss.value = 0.1;
  const OrderedJson rows = rows_of(effects_chart(plan_of(results::Design::kHistory), {effect}, {{"a", 0.8}}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("published"), nullptr);
  EXPECT_NEAR(rows[1].at("published").get<double>(), -20.0, 1e-9);
}

TEST(SpeedChart, HasTheIntervalOfEachStep) {
  ComparisonTable table = table_of({10, 8, 5});
  table.rows[2].step_speed_up = Effect{.value = 1.6, .sd = 0.02, .n = 4, .is_paired = true};
  const OrderedJson rows = rows_of(speed_chart(plan_of(results::Design::kHistory), table));
  EXPECT_EQ(rows[1].at("low"), nullptr) << "without a spread";
  const double half = 3.182446 * 0.02 / 2.0;  // Student's t, three degrees of freedom
  EXPECT_NEAR(rows[2].at("low").get<double>(), 1.25 * (1.6 - half), 1e-4);
  EXPECT_NEAR(rows[2].at("high").get<double>(), 1.25 * (1.6 + half), 1e-4);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Stills, HaveAMarkForEachEffectAndEscapeNames) {
  std::vector<EffectResult> effects(3);
  effects[0].contrast.effect = "<script>";
  effects[0].loss.value = -0.1;
  effects[0].loss.interval = ConfidenceInterval{.low = -0.2, .high = -0.05};
  effects[0].loss.verdict = Verdict::kImproved;
  effects[2] = effects[0];
  effects[2].contrast.effect = "c";
  effects[1].contrast.effect = "b";
  effects[1].loss.value = 0.1;
  effects[1].loss.interval = ConfidenceInterval{.low = -90.0, .high = 0.3};
  const std::string still = effects_chart(plan_of(results::Design::kHistory), effects)->still;
  EXPECT_EQ(still.find("<script"), std::string::npos);
  EXPECT_NE(still.find("&lt;script"), std::string::npos);
  EXPECT_EQ(count_of(still, "<circle class=\"fill better\""), 2U);
  EXPECT_EQ(count_of(still, "<circle class=\"hollow open\""), 1U);
  EXPECT_EQ(count_of(still, "<path class=\"fill open\""), 1U) << "one end is cut";
}

TEST(Stills, CurvesHaveAPathALine) {
  std::vector<CellMeasures> cells(2);
  for (CellMeasures& cell : cells) {
    cell.cell.label = &cell == &cells[0] ? "a" : "b";
    cell.runs = {run_of(1, {{1.0, 5.0, 0}, {2.0, 4.0, 5}, {3.0, 3.0, 10}})};
  }
  const std::string still = loss_chart(cells)->still;
  EXPECT_EQ(count_of(still, "class=\"curve c0\""), 1U);
  EXPECT_EQ(count_of(still, "class=\"curve c1\""), 1U);
}

TEST(CellColors, AreOfOneScaleInAllCharts) {
  std::vector<CellMeasures> cells(2);
  for (std::size_t i = 0; i < 2; ++i) {
    cells[i].cell.label = "row" + std::to_string(i);
    cells[i].runs = {run_of(1, {{1.0, 4.0, 5}, {2.0, 3.0, 10}})};
  }
  ComparisonTable table = table_of({10, 8});
  table.rows[1].peak_bytes = summarise(BySeed{{1, 1e6}});
  const OrderedJson wanted = {"row0", "row1"};
  EXPECT_EQ(loss_chart(cells)->spec["encoding"]["color"]["scale"]["domain"], wanted);
  EXPECT_EQ(memory_chart(table)->spec["encoding"]["color"]["scale"]["domain"], wanted) << "row0 has no memory";
  const OrderedJson speed = speed_chart(plan_of(results::Design::kHistory), table)->spec;
  EXPECT_EQ(speed["layer"][0]["encoding"]["color"]["scale"]["domain"], wanted);
}

TEST(EffectsChart, ShowsTimesAsPercent) {
  EffectResult effect;
  effect.contrast.effect = "a";
  effect.log_time.value = std::log(0.9);
  const OrderedJson rows = rows_of(effects_chart(plan_of(results::Design::kHistory), {effect}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NEAR(rows[0].at("value").get<double>(), -10.0, 1e-9);
  EXPECT_EQ(rows[0].at("low"), nullptr) << "no error was told";
}

}  // namespace
}  // namespace nanobench::reports
