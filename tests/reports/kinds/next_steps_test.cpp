#include <gtest/gtest.h>

#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "reports/render/render.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

using Status = SeedsForVerdict::Status;

results::PlanRecord plan_of(std::vector<std::string> argv, const std::vector<std::uint64_t>& seeds = {1, 2, 3}) {
  results::PlanRecord plan;
  plan.id = 7;
  plan.suite = "history";
  plan.argv = std::move(argv);
  for (const std::uint64_t seed : seeds) plan.lines.push_back({.cell = "a", .seed = seed, .digest = ""});
  return plan;
}

EffectResult open_effect(const std::string& name) {
  EffectResult effect;
  effect.contrast = simple_contrast(name, "b", "a");
  effect.verdict = FeatureVerdict::kInconclusive;
  return effect;
}

SeedsForVerdict known(int seeds) {
  return {.status = Status::kKnown, .have = 3, .seeds = seeds, .min_seeds = seeds, .max_seeds = seeds};
}

std::vector<std::string> commands(const std::vector<OfferedStep>& steps) {
  std::vector<std::string> commands;
  for (const OfferedStep& step : steps) commands.push_back(step.command);
  return commands;
}

const std::vector<CellMeasures>& done() {
  static const std::vector<CellMeasures> cells = {made_cell("a", {3.1, 3.2, 3.3}), made_cell("b", {3.1, 3.2, 3.3})};
  return cells;
}

TEST(NextSteps, OffersTheFewestSeedsThatMayDecideWithTheirPrice) {
  const std::vector<EffectResult> effects = {open_effect("x"), open_effect("y"), open_effect("z")};
  const std::vector<OfferedStep> steps =
      offered_steps(plan_of({"nanobench", "run", "s.json", "--seeds", "3", "--db", "my db", "--fresh", "--json"}),
                    done(), effects, {known(20), known(8), known(8)}, {{"a", 10.0}, {"b", 14.0}});
  EXPECT_EQ(commands(steps), (std::vector<std::string>{"run s.json --db 'my db' --seeds 8", "report --plan 7 --open"}));
  EXPECT_EQ(steps[0].gain, (StepGain{.kind = StepGain::Kind::kVerdicts, .seconds = 120.0, .changes = {"y", "z"}}))
      << "5 more runs of each cell: 5 * 24 s";
  EXPECT_EQ(steps[1].gain, StepGain{}) << "the page";
}

TEST(NextSteps, WithoutAKnownTimeThereIsNoPrice) {
  const std::vector<OfferedStep> steps =
      offered_steps(plan_of({"nanobench", "run", "s.json"}), done(), {open_effect("x")}, {known(8)}, {{"a", 10.0}});
  EXPECT_EQ(steps[0].gain, (StepGain{.kind = StepGain::Kind::kVerdicts, .changes = {"x"}}));
}

TEST(NextSteps, SeedsThatAreAListStayAList) {
  const std::vector<OfferedStep> steps = offered_steps(
      plan_of({"nanobench", "run", "s.json", "--seeds=4,7,9"}, {4, 7, 9}), done(), {open_effect("x")}, {known(5)}, {});
  EXPECT_EQ(steps[0].command, "run s.json --seeds 4,7,9,10,11");
}

TEST(NextSteps, OneSeedIsOfferedThree) {
  const std::vector<CellMeasures> cells = {made_cell("a", {3.1}), made_cell("b", {3.2})};
  const std::vector<OfferedStep> steps =
      offered_steps(plan_of({"nanobench", "run", "s.json"}, {1}), cells, {open_effect("x")},
                    {SeedsForVerdict{.status = Status::kOneSeed, .have = 1}}, {});
  EXPECT_EQ(steps[0].command, "run s.json --seeds 3");
  EXPECT_EQ(steps[0].gain.kind, StepGain::Kind::kFirstVerdicts);
}

TEST(NextSteps, NothingIsOfferedWithinNoiseNorToAPlanOfLooksNorToOtherCommands) {
  const std::vector<std::string> page = {"report --plan 7 --open"};
  EXPECT_EQ(commands(offered_steps(plan_of({"nanobench", "run", "s.json"}), done(), {open_effect("x")},
                                   {SeedsForVerdict{.status = Status::kWithinNoise, .have = 3}}, {})),
            page);
  results::PlanRecord looks = plan_of({"nanobench", "run", "s.json", "--until-decided"});
  looks.sequential = results::SequentialLook{};
  EXPECT_EQ(commands(offered_steps(looks, done(), {open_effect("x")}, {known(8)}, {})), page);
  EXPECT_EQ(
      commands(offered_steps(plan_of({"nanobench", "gate", "s.json"}), done(), {open_effect("x")}, {known(8)}, {})),
      page);
}

TEST(NextSteps, AFailureComesFirstThenTheMissingRuns) {
  std::vector<CellMeasures> cells = done();
  cells[0].planned = 4;
  cells[1].runs[2].run.result->outcome = core::RunOutcome::kCrashed;
  const std::vector<OfferedStep> steps =
      offered_steps(plan_of({"nanobench", "run", "s.json", "--seeds", "4", "--fresh"}), cells, {open_effect("x")},
                    {known(8)}, {{"a", 30.0}, {"b", 30.0}});
  EXPECT_EQ(commands(steps), (std::vector<std::string>{"show 1003", "run s.json --seeds 4", "report --plan 7 --open"}));
  EXPECT_EQ(steps[0].gain, (StepGain{.kind = StepGain::Kind::kWhyFailed, .run_id = 1003}));
  EXPECT_EQ(steps[1].gain.kind, StepGain::Kind::kMissingRuns);
}

/// The only test of these sentences: all others compare values.
TEST(NextSteps, SayWhatTheyGive) {
  using Kind = StepGain::Kind;
  EXPECT_EQ(text_of(StepGain{.kind = Kind::kWhyFailed, .run_id = 7}),
            "why run 7 failed, and the files with its output");
  EXPECT_EQ(text_of(StepGain{.kind = Kind::kMissingRuns}), "makes the runs that are missing");
  EXPECT_EQ(text_of(StepGain{.kind = Kind::kFirstVerdicts, .seconds = 120.0}),
            "about 2 min 00 s; first verdicts, which need a spread over seeds");
  EXPECT_EQ(text_of(StepGain{.kind = Kind::kVerdicts, .seconds = 120.0, .changes = {"a", "b", "c", "d"}}),
            "about 2 min 00 s; may decide a, b, c and 1 more");
  EXPECT_EQ(text_of(StepGain{}), "the page with charts and every interval; --out report.html writes it to a file");
}

TEST(NextSteps, TerminalsPrintThemLastAndNeverBreakACommand) {
  Document document{.title = "Title"};
  const std::string command = "run " + std::string(100, 'x');
  document.next = {{.command = command, .gain = "about 4 min; may decide record17"}};
  const std::string text = render_terminal(document, {.width = 40, .program = "./nanobench"});
  EXPECT_TRUE(text.ends_with("\nNext:\n  ./nanobench " + command + "\n      about 4 min; may decide record17\n"))
      << text;
  document.next.clear();
  const std::string without = render_terminal(document, {.width = 40, .program = "./nanobench"});
  EXPECT_EQ(without.find(command), std::string::npos);
  EXPECT_TRUE(text.starts_with(without)) << "nothing else is printed for them, nor a title without any";
}

}  // namespace
}  // namespace nanobench::reports
