#include <algorithm>

#include "reports/kinds/kinds.h"
#include "reports/kinds/trend_remarks.h"
#include "reports/kinds/trend_text.h"
#include "reports/render/render.h"
#include "reports/trend/trend.h"
#include "tests/reports/trend/trend_support.h"

namespace nanobench::reports {
namespace {

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
  ASSERT_EQ(headline.size(), 2U);
  const std::vector<PlacedChange> changes = all_changes(trend);
  ASSERT_EQ(changes.size(), 1U);
  const SeriesTrend& item = *changes[0].item;
  const TrendChange& change = *changes[0].change;
  EXPECT_EQ(item.series.cell, "cell0");
  EXPECT_NEAR(change.shift->value, 0.1, 0.02);
  EXPECT_EQ(revision_at(trend, item, change.before).name, revision_name(11));
  EXPECT_EQ(revision_at(trend, item, change.after).name, revision_name(12));
  EXPECT_EQ(headline[0], name_of(item.series) + " " + change_text(trend, item, change) + ".");
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
  EXPECT_EQ(document.notes.front(), text_of(TrendRemark{.kind = TrendRemark::Kind::kRowsLeftOut, .count = 40}));
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
  Trend trend = trend_of(runs, only({TrendMetric::kLoss, TrendMetric::kStepTime}));
  using Kind = TrendRemark::Kind;
  const std::vector<TrendRemark> warnings = trend_warnings(trend), notes = trend_notes(trend);
  const std::string newest = revision_at(trend, trend.series[0], trend.series[0].rows.size() - 1).label;
  EXPECT_EQ(
      warnings,
      (std::vector<TrendRemark>{
          {.kind = Kind::kNewestFailed,
           .cell = "record12",
           .revision = newest,
           .failure = "diverged",
           .count = 1,
           .of = 3},
          {.kind = Kind::kEarlierFailed, .count = 1},
          {.kind = Kind::kDisturbed, .count = 1},
          {.kind = Kind::kNewerLeftOut, .cell = "record12", .others = {{OtherCondition::Kind::kConfiguration}}}}));
  EXPECT_EQ(notes, (std::vector<TrendRemark>{{.kind = Kind::kOrder}, {.kind = Kind::kUncommitted, .count = 1}}));
  const Document document = trend_report("weekly", trend);
  ASSERT_EQ(document.warnings.size(), warnings.size());
  for (std::size_t i = 0; i < warnings.size(); ++i) EXPECT_EQ(document.warnings[i], text_of(warnings[i]));
  ASSERT_EQ(document.notes.size(), notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) EXPECT_EQ(document.notes[i], text_of(notes[i]));
  ASSERT_TRUE(trend.series[0].has_mixed_seeds);
  for (SeriesTrend& item : trend.series) item.has_mixed_seeds = false;
  EXPECT_EQ(document.reading.size(), trend_report("weekly", trend).reading.size() + 1) << "that seeds differ";
}

TEST(TrendReport, AChangeThatMayBeADayOfTheMachineIsCalledDoubtful) {
  NormalDraws draws(46);
  std::vector<TrendRun> runs = planted_runs({.revisions = 6, .changed_from = 3, .factor = 1.2}, draws);
  const Trend clear = trend_of(runs, only({TrendMetric::kStepTime}));
  ASSERT_EQ(clear.series.size(), 1U);
  EXPECT_GT(clear.series[0].changes.at(0).shift->value, 0.0);
  EXPECT_FALSE(clear.series[0].has_days);
  for (TrendRun& run : runs) {
    if (run.source.name == revision_name(4)) run.step_ms = *run.step_ms * 1.1;
  }
  Trend doubtful = trend_of(runs, only({TrendMetric::kStepTime}));
  EXPECT_GT(doubtful.series[0].changes.at(0).shift->value, 0.0);
  EXPECT_TRUE(doubtful.series[0].has_days);
  const std::string headline = trend_headline(doubtful).front();
  doubtful.series[0].has_days = false;
  EXPECT_NE(headline, trend_headline(doubtful).front()) << "it is said";
}

TEST(TrendReport, OfNothingSaysSo) {
  const Trend trend = trend_of({}, only(all_trend_metrics()));
  const Document document = trend_report("weekly", trend);
  EXPECT_EQ(document.headline, trend_headline(trend).at(0));
  EXPECT_EQ(document.headline, "No runs that can be ordered in time.");
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
