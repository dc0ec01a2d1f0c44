#include "reports/kinds/transfer_remarks.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

/// The only test of these sentences: all others compare values.
TEST(TransferRemarks, HaveASentenceEach) {
  using Kind = TransferRemark::Kind;
  EXPECT_EQ(text_of(TransferRemark{.kind = Kind::kRowsLeftOut, .count = 11}),
            "11 rows of changes whose signs are not opposite left out; every other format shows them.");
  EXPECT_EQ(text_of(TransferRemark{.kind = Kind::kPublishedLeftOut, .count = 1}),
            "1 change has a published time that does not count; every other format shows them with the reason.");
  EXPECT_EQ(text_of(TransferRemark{.kind = Kind::kOneScale, .names = {"a", "b"}}),
            "2 changes were measured at one scale only: a, b.");
  const TransferRemark bases{.kind = Kind::kOtherBases,
                             .places = {{.change = "rotary", .base = "record17", .scales = {"smoke"}},
                                        {.change = "rotary", .base = "record41", .scales = {"nano", "half"}},
                                        {.change = "rotary", .base = "record2", .scales = {"nano"}, .group = 1},
                                        {.change = "rotary", .base = "record3", .scales = {"half"}, .group = 1}}};
  EXPECT_EQ(text_of(bases),
            "Not compared, because their bases differ: rotary (record17 at smoke; record41 at nano and half), rotary "
            "(record2 at nano; record3 at half).");
  EXPECT_EQ(text_of(TransferRemark{.kind = Kind::kEqualLosses, .count = 1}),
            "1 change of code alone, whose losses are equal to the bit at both scales, say nothing about the loss and "
            "are left out there.");
  const TransferRemark data{
      .kind = Kind::kOtherData,
      .places = {{.scales = {"smoke"}, .data = {"synthetic"}}, {.scales = {"nano"}, .data = {"a", "b"}}}};
  EXPECT_EQ(text_of(data),
            "The scales were measured on different data (smoke on synthetic; nano on a and b), so what differs between "
            "them is not the scale alone.");
  EXPECT_EQ(
      text_of(TransferRemark{.kind = Kind::kOtherCode, .places = {{.change = "f0", .scales = {"nano"}}}}),
      "Times of different code are left out (f0 at nano): run with --kernels reference to compare operations with "
      "operations.");
  const TransferRemark unconverted{.kind = Kind::kUnconverted,
                                   .places = {{.scales = {"smoke"}, .count = 12}, {.scales = {"nano"}, .count = 11}}};
  EXPECT_EQ(
      text_of(unconverted),
      "Changes without a time at equal loss: 12 at smoke, 11 at nano. The end of their loss curves is too flat or "
      "too noisy to convert loss into time, or their runs give no error.");
}

}  // namespace
}  // namespace nanobench::reports
