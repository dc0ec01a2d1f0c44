#include "reports/kinds/kinds.h"
#include "reports/trend/trend.h"

#include <algorithm>

#include "reports/render/render.h"
#include "tests/reports/trend/trend_support.h"

namespace nanobench::reports {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// `cells` steady ones; the first rises by 10 % from revision 12 of 20 on.
std::vector<TrendRun> runs_of(int cells, NormalDraws& draws) {
  std::vector<TrendRun> runs;
  for (int cell = 0; cell < cells; ++cell) {
    for (TrendRun& run : planted_runs({.changed_from = cell == 0 ? 12 : -1, .factor = 1.1}, draws)) {
      run.cell = "cell" + std::to_string(cell);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

TEST(TrendReport, SaysItInWordsFirst) {
  NormalDraws draws(41);
  std::vector<TrendRun> runs = runs_of(3, draws);
  runs.push_back(trend_run(3, 1, 3.28, 100.0));
  runs.back().cell = "small";
  const Trend trend = trend_of(runs, only({TrendMetric::kStepTime}));
  const std::vector<std::string> headline = trend_headline(trend);
  ASSERT_EQ(headline.size(), 2U) << joined(headline);
  EXPECT_TRUE(has(headline[0], "step time of cell0 rose by 1")) << headline[0];
  EXPECT_TRUE(has(headline[0], "between " + revision_name(11).substr(0, 7) + " and " + revision_name(12).substr(0, 7)))
      << headline[0];
  EXPECT_EQ(headline[1], "2 series are steady; 1 has too few runs (10 needed).");
}

TEST(TrendReport, MachinesReadTheSame) {
  NormalDraws draws(42);
  const Trend trend = trend_of(runs_of(2, draws), only({TrendMetric::kStepTime}));
  const core::OrderedJson json = to_json(trend_report("weekly", trend));
  EXPECT_EQ(json.at("kind"), "trend");
  EXPECT_EQ(json.at("facts").at("suite"), "weekly");
  EXPECT_EQ(json.at("facts").at("changed"), 1);
  EXPECT_EQ(json.at("headline"), trend_headline(trend).front());
  EXPECT_EQ(json.at("text").at(0), trend_headline(trend).at(1)) << "what is not the headline follows";
  EXPECT_EQ(json.at("facts").at("steady"), 1);
  const core::OrderedJson& change = json.at("tables").at("changes").at(0);
  EXPECT_EQ(change.at("last_before"), revision_name(11));
  EXPECT_EQ(change.at("first_after"), revision_name(12));
  EXPECT_NEAR(change.at("change").at("value").get<double>(), 0.1, 0.02);
  EXPECT_LT(change.at("change").at("low").get<double>(), change.at("change").at("high").get<double>());
  EXPECT_EQ(json.at("tables").at("revisions").size(), 40U);
  EXPECT_EQ(json.at("tables").at("revisions").at(12).at("change"), "new level");
  EXPECT_EQ(json.at("tables").at("revisions").at(12).at("expected").at("position"), "above");
  EXPECT_FALSE(json.at("tables").contains("left_out"));
  EXPECT_FALSE(has(json.dump(), "nan"));
}

TEST(TrendReport, ManyRowsOfSteadySeriesAreLeftOutAndCounted) {
  NormalDraws draws(43);
  const Trend trend = trend_of(runs_of(3, draws), only({TrendMetric::kStepTime}));
  const Document document = trend_report("weekly", trend, 50);
  const auto table = std::find_if(document.sections[1].tables.begin(), document.sections[1].tables.end(),
                                  [](const Table& item) { return item.id == "revisions"; });
  ASSERT_NE(table, document.sections[1].tables.end());
  EXPECT_EQ(table->rows.size(), 20U);
  EXPECT_TRUE(has(joined(document.notes), "40 rows of steady series left out"));
}

TEST(TrendReport, WarnsOfWhatIsMissingOrDoubtful) {
  NormalDraws draws(44);
  std::vector<TrendRun> runs = planted_runs({}, draws);
  runs[0].outcome = core::RunOutcome::kCrashed;
  runs[3].disturbance = "the load was 9";
  runs[6].source.is_dirty = true;
  runs.back().outcome = core::RunOutcome::kDiverged;
  TrendRun newer = trend_run(30, 1, 3.28, 100.0);
  newer.conditions.config = "other";
  runs.push_back(newer);
  const Document document = trend_report("weekly", trend_of(runs, only({TrendMetric::kLoss, TrendMetric::kStepTime})));
  const std::string warnings = joined(document.warnings);
  EXPECT_TRUE(has(warnings, "record12: 1 of 3 runs of its newest revision")) << warnings;
  EXPECT_TRUE(has(warnings, "failed (diverged)")) << warnings;
  EXPECT_TRUE(has(warnings, "1 run of an earlier revision failed")) << warnings;
  EXPECT_TRUE(has(warnings, "1 run was disturbed")) << warnings;
  EXPECT_TRUE(has(warnings, "Newer runs of record12 are left out (another configuration)")) << warnings;
  EXPECT_TRUE(has(joined(document.notes), "1 revision has uncommitted changes")) << joined(document.notes);
  EXPECT_TRUE(has(joined(document.reading), "have different seeds")) << joined(document.reading);
}

TEST(TrendReport, AChangeThatMayBeADayOfTheMachineIsCalledDoubtful) {
  NormalDraws draws(46);
  std::vector<TrendRun> runs = planted_runs({.revisions = 6, .changed_from = 3, .factor = 1.2}, draws);
  const std::string clear = joined(trend_headline(trend_of(runs, only({TrendMetric::kStepTime}))));
  EXPECT_TRUE(has(clear, "rose by") && !has(clear, "doubtful")) << clear;
  for (TrendRun& run : runs) {
    if (run.source.name == revision_name(4)) run.step_ms = *run.step_ms * 1.1;
  }
  const std::string doubtful = joined(trend_headline(trend_of(runs, only({TrendMetric::kStepTime}))));
  EXPECT_TRUE(has(doubtful, "rose by") && has(doubtful, "doubtful")) << doubtful;
}

TEST(TrendReport, OfNothingSaysSo) {
  const Document document = trend_report("weekly", trend_of({}, only(all_trend_metrics())));
  EXPECT_TRUE(has(render_terminal(document, {.width = 100}), "No runs that can be ordered in time."));
  EXPECT_EQ(to_json(document).at("facts").at("series"), 0);
}

TEST(TrendReport, HostileNamesAreText) {
  NormalDraws draws(45);
  std::vector<TrendRun> runs = planted_runs({.changed_from = 12, .factor = 1.1}, draws);
  for (TrendRun& run : runs) {
    run.cell = "<b>cell\x1b[31m</b>";
    if (run.source.name == revision_name(12)) run.source.name = "\x1b[2J<script>alert('1')</script>|`x`\nmain";
  }
  const Document document = trend_report("we|ek<ly>", trend_of(runs, only(all_trend_metrics())));
  const std::string page = render_html(document);
  const std::string html = page.substr(0, page.find("</main>"));  // behind it the script that sorts tables
  EXPECT_FALSE(has(html, "<script>"));
  EXPECT_FALSE(has(html, "<b>"));
  for (const std::string& text : {render_terminal(document, {.width = 120}), render_markdown(document), html})
    EXPECT_FALSE(has(text, "\x1b"));
  EXPECT_FALSE(has(render_markdown(document), "<script>"));
}

}  // namespace
}  // namespace nanobench::reports
