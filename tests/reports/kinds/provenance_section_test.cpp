#include "reports/kinds/sections.h"

#include "core/base/text.h"

#include <gtest/gtest.h>

#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

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
