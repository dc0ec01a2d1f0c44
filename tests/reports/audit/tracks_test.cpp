#include "reports/audit/tracks.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace nanobench::reports {
namespace {

TEST(Tracks, ArePartsOfThePath) {
  EXPECT_EQ(track_of("records/track_2_medium/2025-01-18/a.txt"), 2);
  EXPECT_EQ(track_of("/x/track_3/a.txt"), 3);
  EXPECT_EQ(track_of("/x/track_1_short/../track_3_optimization"), 3);
  for (const char* path : {"/x/logs/a.txt", "/x/track_4_other", "/x/track_", "/x/track_22/a.txt", "/x/soundtrack_2"})
    EXPECT_EQ(track_of(path), std::nullopt) << path;
}

TEST(Tracks, HaveATargetAndARule) {
  EXPECT_EQ(rule_of_track(1).target, 3.28);
  EXPECT_EQ(rule_of_track(2).target, 2.92);
  EXPECT_EQ(rule_of_track(2).rule, AuditRule::kT);
  EXPECT_EQ(rule_of_track(3).target, 3.28);
  EXPECT_EQ(rule_of_track(3).rule, AuditRule::kZ);
  EXPECT_THROW(rule_of_track(0), core::Error);
  EXPECT_THROW(rule_of_track(4), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
