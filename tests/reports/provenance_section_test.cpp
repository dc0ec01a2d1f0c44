#include "reports/kinds/provenance_section.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

TEST(ShellWords, AreTakenAsTheyAre) {
  EXPECT_EQ(shell_words({"nanobench", "run", "a b.json", "--set", "x=1", "it's", "", "$(rm)"}),
            "nanobench run 'a b.json' --set x=1 'it'\\''s' '' '$(rm)'");
}

}  // namespace
}  // namespace nanobench::reports
