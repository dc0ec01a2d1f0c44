#include "results/published_records.h"

#include <gtest/gtest.h>

#include <set>

namespace nanobench::results {
namespace {

TEST(PublishedRecords, AreTheWholeTableInItsOrder) {
  const std::vector<PublishedRecord>& records = published_records();
  EXPECT_EQ(records.front().number, 1);
  EXPECT_EQ(records.back().number, 89);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(ids.insert(records[i].id).second) << records[i].id;
    EXPECT_EQ(records[i].date.size(), 10U);
    EXPECT_GT(records[i].minutes, 1);
    if (i > 0) {
      EXPECT_GE(records[i].number, records[i - 1].number);
    }
  }
}

TEST(PublishedRecords, KnowTheRecordBefore) {
  const PublishedRecord* softcap = find_published_record("2025-01-04_SoftCap");
  ASSERT_NE(softcap, nullptr);
  EXPECT_EQ(softcap->number, 18);
  EXPECT_EQ(softcap->minutes, 3.4);
  EXPECT_EQ(record_before(*softcap)->id, "17");
  EXPECT_EQ(record_before(*find_published_record("2025-05-24_FasterReduce"))->id, "21-latest-torch");
  EXPECT_EQ(record_before(*find_published_record("2025-02-01_RuleTweak")), nullptr) << "an old record, timed again";
  EXPECT_EQ(record_before(published_records().front()), nullptr);
  EXPECT_EQ(find_published_record("2025-01-04"), nullptr);
}

}  // namespace
}  // namespace nanobench::results
