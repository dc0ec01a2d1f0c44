#include "reports/kinds/sections.h"

#include <gtest/gtest.h>

#include "core/base/text.h"
#include "reports/render/render.h"
#include "tests/reports/made_cells.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

TEST(DisturbedRuns, AreNamedWithTheirReasonAndHowFarTheyStandApart) {
  std::vector<CellMeasures> cells = {made_cell("base", {3.0, 3.1, 3.2, 3.3}), made_cell("x", {3.0})};
  cells[0].runs[2].step_ms = 150.0;
  cells[0].runs[2].disturbance = "the load was 9.0 when it began";
  cells[1].runs[0].disturbance = "the processor slowed down for heat";
  cells[0].runs[3].disturbance = "it failed anyway";
  cells[0].runs[3].run.result->outcome = core::RunOutcome::kCrashed;
  Document document;
  document.sections.push_back(disturbance_section(cells).value());
  const core::OrderedJson rows = to_json(document).at("tables").at("disturbed_runs");
  ASSERT_EQ(rows.size(), 2U) << rows;
  EXPECT_EQ(rows[0].at("cell"), "base");
  EXPECT_EQ(rows[0].at("seed"), 3);
  EXPECT_EQ(rows[0].at("run"), 1003);
  EXPECT_EQ(rows[0].at("reason"), "the load was 9.0 when it began");
  EXPECT_EQ(rows[0].at("change"), 0.5) << "against the median of the quiet ones";
  EXPECT_EQ(rows[1].at("change"), nullptr) << "no quiet run to hold it against";
}

TEST(DisturbedRuns, AQuietMachineHasNoTable) {
  EXPECT_FALSE(disturbance_section({made_cell("base", {3.0, 3.1})}));
}

TEST(ShellWords, AreTakenAsTheyAre) {
  EXPECT_EQ(shell_words({"nanobench", "run", "a b.json", "--set", "x=1", "it's", "", "$(rm)"}),
            "nanobench run 'a b.json' --set x=1 'it'\\''s' '' '$(rm)'");
}

class ProvenanceSection : public results::StoreTest {
 protected:
  /// The first of the commands that reproduce.
  std::string first_command(const std::vector<std::string>& argv) const {
    const results::Store store(file());
    results::PlanRecord plan;
    plan.suite = "s";
    plan.argv = argv;
    return provenance_section(store, plan, {}).tables.at(0).rows.at(0).at(1).text;
  }
};

TEST_F(ProvenanceSection, CommandsThatTrainSayHowItIsDoneAnew) {
  EXPECT_EQ(first_command({"/opt/bin/nanobench", "run", "s.json"}), "nanobench run s.json --fresh");
  EXPECT_EQ(first_command({"nanobench", "claims", "--measure", "--db", "a b.db"}),
            "nanobench claims --measure --db 'a b.db' --fresh");
  EXPECT_EQ(first_command({"nanobench", "ablate", "--fresh"}), "nanobench ablate --fresh");
  EXPECT_EQ(first_command({"nanobench", "gate", "s.json"}).find("gate"), std::string::npos) << "it makes other plans";
}

}  // namespace
}  // namespace nanobench::reports
