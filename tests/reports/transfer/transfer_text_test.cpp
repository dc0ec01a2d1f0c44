#include "reports/transfer/transfer_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

/// The only test of these sentences: all others compare values.
TEST(TransferText, SaysWhyAPublishedTimeDoesNotCount) {
  using Kind = PublishedLimit::Kind;
  EXPECT_EQ(text_of(PublishedLimit{.kind = Kind::kOtherScript}), "logs of another script");
  EXPECT_EQ(text_of(PublishedLimit{.kind = Kind::kOtherBase, .base = "record30, qk_norm=off"}),
            "measured in record30, qk_norm=off");
  PublishedLimit together{.kind = Kind::kOtherChanges, .others = {"a", "b", "c", "d"}};
  EXPECT_EQ(text_of(together), "together with a, b, c and 1 more");
  together.others = {"a"};
  together.has_other_settings = true;
  EXPECT_EQ(text_of(together), "together with a, settings without a feature");
}

}  // namespace
}  // namespace nanobench::reports
