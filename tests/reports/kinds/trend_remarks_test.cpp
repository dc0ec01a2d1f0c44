#include "reports/kinds/trend_remarks.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(TrendRemarks, HaveASentenceEach) {
  using Kind = TrendRemark::Kind;
  const TrendRemark newest{
      .kind = Kind::kNewestFailed, .cell = "a", .revision = "1a2b3c4", .failure = "diverged", .count = 1, .of = 3};
  EXPECT_EQ(text_of(newest), "a: 1 of 3 runs of its newest revision, 1a2b3c4, failed (diverged).");
  EXPECT_EQ(text_of(TrendRemark{.kind = Kind::kEarlierFailed, .count = 2}),
            "2 runs of earlier revisions failed: no values, but counted in the column runs.");
  EXPECT_EQ(text_of(TrendRemark{.kind = Kind::kDisturbed, .count = 1}),
            "1 run was disturbed by other work on the machine: losses count, times are doubtful.");
  const TrendRemark newer{.kind = Kind::kNewerLeftOut, .cell = "a", .others = {{OtherCondition::Kind::kHost, "there"}}};
  EXPECT_EQ(text_of(newer), "Newer runs of a are left out (the host there): this report does not show them.");
  EXPECT_EQ(text_of(TrendRemark{}),
            "Revisions appear in the order of their first runs, which may differ from the order of the history.");
  EXPECT_EQ(
      text_of(TrendRemark{.kind = Kind::kUncommitted, .count = 1}),
      "1 revision has uncommitted changes (+dirty). Each such program counts as a revision of its own, apart from "
      "the clean one.");
  EXPECT_EQ(text_of(TrendRemark{.kind = Kind::kPrograms, .count = 2}),
            "2 revisions were measured with more than one program (another compiler or other options); its programs "
            "count as one.");
  EXPECT_EQ(text_of(TrendRemark{.kind = Kind::kRowsLeftOut, .count = 40}),
            "40 rows of steady series left out. --cell shows those of one cell; every other format shows all of them.");
}

TEST(TrendRemarks, NameWhatDiffers) {
  using enum OtherCondition::Kind;
  EXPECT_EQ(conditions_text({{kImported}}), "imported logs, whose dates are unknown");
  EXPECT_EQ(conditions_text({{kEngine, "mock"}, {kScale, "smoke"}, {kConfiguration}, {kData}}),
            "the engine mock, the scale smoke, another configuration, other data");
  EXPECT_EQ(conditions_text({{kDtype, "bfloat16"}, {kHardware, "a laptop"}, {kThreads, "1"}, {kThreads, "2"}}),
            "numbers in bfloat16, the machine a laptop, 1 thread, 2 threads");
  EXPECT_EQ(conditions_text({{kHost, "there"}, {kGpu, "H100"}, {kGpu, ""}}), "the host there, the GPU H100, no GPU");
}

}  // namespace
}  // namespace nanobench::reports
