#include "reports/effects/effects.h"

#include <gtest/gtest.h>

#include <functional>

#include "reports/comparison/comparison.h"
#include "reports/comparison/remark_text.h"
#include "reports/comparison/remarks.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

using results::PlanRecord;

/// Stored at the time `id`; the runs of a seed are always the same ones.
PlanRecord looks_plan_of(std::int64_t id, const std::vector<std::uint64_t>& seeds) {
  PlanRecord plan;
  plan.id = id;
  plan.created_at = "2025-01-01T00:00:0" + std::to_string(id) + ".000Z";
  plan.suite = "suite";
  plan.scale = "nano";
  plan.data_name = "synthetic";
  plan.design = results::Design::kLeaveOneOut;
  plan.contrasts = {simple_contrast("x", "base", "without x")};
  for (const char* label : {"base", "without x"}) {
    plan.cells.push_back({.label = label, .config_digest = label});
    for (const std::uint64_t seed : seeds) {
      const auto run = static_cast<std::int64_t>(seed) * 10 + (*label == 'b' ? 1 : 2);
      plan.lines.push_back({.cell = label, .seed = seed, .digest = label + std::to_string(seed), .run_id = run});
    }
  }
  return plan;
}

using Counts = std::vector<int>;

TEST(Looks, SeedsAddedAfterALookCount) {
  const PlanRecord plan = looks_plan_of(3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(looks_taken(plan, {looks_plan_of(1, {1, 2}), looks_plan_of(2, {1, 2, 3, 4}), plan}), (Counts{2, 4, 6}));
  EXPECT_EQ(looks_taken(plan, {plan}), (Counts{6}));
  EXPECT_EQ(looks_taken(plan, {}), (Counts{6}));
}

TEST(Looks, TheOrderOfTheSeedsDoesNotMatter) {
  EXPECT_EQ(looks_taken(looks_plan_of(3, {5, 1, 3}), {looks_plan_of(1, {3, 1})}), (Counts{2, 3}));
}

TEST(Looks, TheSameSeedsAgainAreNoOtherLook) {
  EXPECT_EQ(looks_taken(looks_plan_of(3, {1, 2, 3}), {looks_plan_of(1, {1, 2, 3}), looks_plan_of(2, {1, 2, 3})}),
            (Counts{3}));
  EXPECT_EQ(looks_taken(looks_plan_of(4, {1, 2, 3}),
                        {looks_plan_of(1, {1, 2}), looks_plan_of(2, {1, 2}), looks_plan_of(3, {2, 1})}),
            (Counts{2, 3}));
}

TEST(Looks, LaterPlansAndOtherSeedsDoNotCount) {
  EXPECT_EQ(looks_taken(looks_plan_of(1, {1, 2, 3}), {looks_plan_of(2, {1, 2})}), (Counts{3}))
      << "a later plan was no earlier look";
  EXPECT_EQ(looks_taken(looks_plan_of(3, {1, 2, 3}), {looks_plan_of(1, {8, 9}), looks_plan_of(2, {1, 9})}),
            (Counts{3}));
}

TEST(Looks, ASingleSeedHadNoPValue) {
  EXPECT_EQ(looks_taken(looks_plan_of(2, {1, 2, 3}), {looks_plan_of(1, {1})}), (Counts{3}));
  PlanRecord once = looks_plan_of(1, {1}), twice = looks_plan_of(2, {1, 2});
  for (PlanRecord* plan : {&once, &twice}) {
    plan->contrasts.assign(7, simple_contrast("x", "base", "without x"));
    for (results::PlanContrast& contrast : plan->contrasts) contrast.kind = results::ContrastKind::kMain;
  }
  EXPECT_EQ(looks_taken(twice, {once}), (Counts{1, 2})) << "seven factorial effects have p-values of one seed";
}

TEST(Looks, PlannedLooksAreNoPeeking) {
  PlanRecord plan = looks_plan_of(2, {1, 2, 3});
  plan.sequential = results::SequentialLook{.first = 2, .most = 3, .look = 2};
  EXPECT_EQ(looks_taken(plan, {looks_plan_of(1, {1, 2})}), Counts{});
  PlanRecord planned = looks_plan_of(1, {1, 2});
  planned.sequential = results::SequentialLook{.first = 2, .most = 3};
  EXPECT_EQ(looks_taken(looks_plan_of(2, {1, 2, 3, 4}), {planned}), (Counts{2, 4}))
      << "plain p-values after planned looks";
}

TEST(Looks, PlansWithoutContrastsAreNotJudged) {
  PlanRecord plan = looks_plan_of(2, {1, 2, 3});
  plan.contrasts.clear();
  EXPECT_EQ(looks_taken(plan, {looks_plan_of(1, {1, 2})}), Counts{});
}

TEST(Looks, OtherQuestionsAreOtherLooks) {
  const auto looks = [](const std::function<void(PlanRecord&)>& change) {
    PlanRecord other = looks_plan_of(1, {1, 2});
    change(other);
    return looks_taken(looks_plan_of(2, {1, 2, 3}), {other}).size();
  };
  EXPECT_EQ(looks([](PlanRecord&) {}), 2U);
  EXPECT_EQ(looks([](PlanRecord& plan) { plan.suite = "other"; }), 1U);
  EXPECT_EQ(looks([](PlanRecord& plan) { plan.scale = "smoke"; }), 1U);
  EXPECT_EQ(looks([](PlanRecord& plan) { plan.data_name = "text"; }), 1U);
  EXPECT_EQ(looks([](PlanRecord& plan) { plan.cells.pop_back(); }), 1U);
  EXPECT_EQ(looks([](PlanRecord& plan) { plan.cells[0].config_digest = "other"; }), 1U);
  EXPECT_EQ(looks([](PlanRecord& plan) { plan.lines[0].digest = "other"; }), 1U) << "another engine";
}

TEST(Looks, RunsThatWereMadeAnewOrNeverDoNotCount) {
  PlanRecord anew = looks_plan_of(1, {1, 2});
  for (results::PlanLine& line : anew.lines) *line.run_id += 1000;
  EXPECT_EQ(looks_taken(looks_plan_of(2, {1, 2, 3}), {anew}), (Counts{3})) << "old results, then --fresh";
  PlanRecord cut = looks_plan_of(1, {1, 2, 3});
  cut.lines.back().run_id.reset();
  EXPECT_EQ(looks_taken(looks_plan_of(2, {1, 2, 3, 4}), {cut}), (Counts{2, 4})) << "two seeds were complete";
}

TEST(Looks, TheReportWarnsInOneSentence) {
  const PlanRecord plan = looks_plan_of(1, {1, 2, 3});
  const std::vector<CellMeasures> cells = {made_cell("base", {3.0, 3.1, 3.2}), made_cell("without x", {3.0, 3.2, 3.2})};
  ComparisonTable table = compare(plan, cells, {});
  EXPECT_TRUE(comparison_report(plan, cells, table).warnings.empty());
  table.looks = {2, 3};
  const Document document = comparison_report(plan, cells, table);
  const Remark looks{.kind = RemarkKind::kLooks, .seeds = {2, 3}};
  EXPECT_EQ(verdict_warnings(table, cells), std::vector<Remark>{looks});
  EXPECT_EQ(document.warnings, std::vector<std::string>{text_of(looks)});
  EXPECT_EQ(core::Json::parse(render_json(document)).at("facts").at("looks").at("count"), 2);
  table.looks = {2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(verdict_warnings(table, cells),
            (std::vector<Remark>{{.kind = RemarkKind::kLooks, .seeds = {2, 3, 4, 5, 6, 7, 8}}}));
}

}  // namespace
}  // namespace nanobench::reports
