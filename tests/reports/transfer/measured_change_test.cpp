#include "reports/transfer/measured_change.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

using core::ErrorCode;
using results::Store;

struct MadePlan {
  std::string suite = "loo";
  std::string scale = "nano";
  std::string engine = "nanobench-train";
  std::string dtype = "float32";
  double effect = -0.01;  ///< of the later value, nats
  int seeds = 3;
};

class MeasuredChanges : public results::StoreTest {
 protected:
  /// A base and a cell without rotary. Returns the plan's number.
  static std::int64_t add(Store& store, const MadePlan& made) {
    results::NewPlan plan;
    const std::string mark = std::to_string(store.plans().size());
    plan.digest = "plan" + mark;
    plan.suite = made.suite;
    plan.design = results::Design::kLeaveOneOut;
    plan.scale = made.scale;
    plan.data_name = "synthetic";
    for (const char* cell : {"record17", "without rotary"})
      plan.cells.push_back(
          {.label = cell, .record = "record17", .changes = {}, .features = {}, .config_digest = cell + mark});
    plan.contrasts = {{.effect = "rotary",
                       .kind = results::ContrastKind::kSimple,
                       .meaning = "",
                       .coefficients = {{"record17", 1.0}, {"without rotary", -1.0}},
                       .aliases = {},
                       .factors = {{"rotary", "rotary", "full_10000", "half_1024"}}}};
    for (int seed = 1; seed <= made.seeds; ++seed) {
      for (const results::PlanCell& cell : plan.cells) {
        results::NewRun run =
            new_run(mark + cell.label + std::to_string(seed), cell.label, static_cast<std::uint64_t>(seed));
        run.scale = made.scale;
        run.engine = made.engine;
        run.dtype = made.dtype;
        const std::int64_t id = claim(store, run);
        const double noise = 0.0001 * (seed % 2 == 0 ? 1.0 : -1.0) * (cell.label == "record17" ? 1.0 : -1.0);
        store.finish_run(id, completed(3.3 + (cell.label == "record17" ? made.effect : 0.0) + noise));
        plan.lines.push_back({static_cast<std::int64_t>(plan.lines.size()), cell.label,
                              static_cast<std::uint64_t>(seed), run.digest, id});
      }
    }
    return store.ensure_plan(plan);
  }
};

TEST_F(MeasuredChanges, AreReadWithTheirEffectsAndSources) {
  Store store(file());
  const std::int64_t plan = add(store, {});
  const std::vector<MeasuredChange> changes = read_measured_changes({&store});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].key, (ChangeKey{"rotary", "full_10000", "half_1024", "record17", ""}));
  EXPECT_EQ(changes[0].scale, "nano");
  EXPECT_EQ(changes[0].plan_id, plan);
  EXPECT_NEAR(*changes[0].effect.loss.value, -0.01, 0.0002);
  EXPECT_EQ(changes[0].effect.loss.verdict, Verdict::kImproved);
  EXPECT_EQ(changes[0].sources, (std::map<std::string, double>{{"record170", 1.0}, {"without rotary0", -1.0}}));
}

TEST_F(MeasuredChanges, TheNewestPlanOfEachScaleCounts) {
  Store store(file());
  add(store, {.effect = -0.01});
  add(store, {.scale = "smoke", .effect = -0.02});
  add(store, {.suite = "again", .effect = -0.03});
  add(store, {.suite = "unfinished", .seeds = 0});
  const std::vector<MeasuredChange> changes = read_measured_changes({&store});
  ASSERT_EQ(changes.size(), 2U);
  for (const MeasuredChange& change : changes)
    EXPECT_NEAR(*change.effect.loss.value, change.scale == "smoke" ? -0.02 : -0.03, 0.0002) << change.scale;
  const auto first = read_measured_changes({&store}, {.suites = {"loo"}, .plans = {}});
  EXPECT_EQ(first.size(), 2U);
  EXPECT_NEAR(*std::find_if(first.begin(), first.end(), [](const auto& change) { return change.scale == "nano"; })
                   ->effect.loss.value,
              -0.01, 0.0002);
  EXPECT_EQ(read_measured_changes({&store}, {.suites = {}, .plans = {2}}).size(), 1U);
}

TEST_F(MeasuredChanges, SimulationsAreAScaleOfTheirOwnAndTrainersHaveNone) {
  Store store(file());
  add(store, {.engine = "mock"});
  add(store, {.dtype = "external"});
  const std::vector<MeasuredChange> changes = read_measured_changes({&store});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].scale, "nano (mock)");
}

TEST_F(MeasuredChanges, SeveralDatabasesAreOneList) {
  Store store(file());
  add(store, {});
  Store other(folder_ / "other.db");
  add(other, {.scale = "mini"});
  const std::vector<MeasuredChange> changes = read_measured_changes({&store, &other});
  ASSERT_EQ(changes.size(), 2U);
  const ablations::Catalogue catalogue = ablations::Catalogue::embedded(ablations::CatalogueParts::kWithoutClaims);
  EXPECT_EQ(scales_of(changes, catalogue), (std::vector<std::string>{"nano", "mini"}));
}

TEST_F(MeasuredChanges, UnknownNamesAreRefused) {
  Store store(file());
  add(store, {});
  EXPECT_NE(message_of(ErrorCode::kNotFound, [&] { read_measured_changes({&store}, {.suites = {"lo"}, .plans = {}}); })
                .find(core::suggestion("lo", {"loo"})),
            std::string::npos);
  message_of(ErrorCode::kNotFound, [&] { read_measured_changes({&store}, {.suites = {}, .plans = {99}}); });
}

}  // namespace
}  // namespace nanobench::reports
