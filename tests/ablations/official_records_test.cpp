// The records against their real configurations in the golden data, field by field.
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/ablations/golden_records.h"

namespace nanobench::ablations {
namespace {

class OfficialRecord : public testing::TestWithParam<int> {};

TEST_P(OfficialRecord, EqualsItsRealConfiguration) {
  const std::string id = "record" + std::to_string(GetParam());
  const std::filesystem::path file = golden_record(GetParam());
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no golden data at " << file << "; set NANOBENCH_SHARED";
  core::TrainConfig expected = core::read_train_config_file(file.string());
  core::TrainConfig actual = resolve(embedded_catalogue(), {.record = id}).config;
  EXPECT_EQ(actual.digest(), expected.digest());
  actual.name = expected.name;
  const core::Json difference =
      core::Json::diff(core::Json(core::to_json(expected)), core::Json(core::to_json(actual)));
  EXPECT_TRUE(difference.empty()) << difference.dump(2);
}

INSTANTIATE_TEST_SUITE_P(TwelveToEighteen, OfficialRecord, testing::Range(12, 19));

TEST(OfficialRecord17, IsTheDefaultConfiguration) {
  const core::TrainConfig defaults;
  EXPECT_EQ(resolve_record(embedded_catalogue(), "record17").digest(), defaults.digest());
}

TEST(RecordLadder, TurningAllFeaturesOfARecordBackGivesItsParent) {
  for (const Record* record : embedded_catalogue().records()) {
    if (!record->parent) continue;
    const core::TrainConfig parent = resolve_record(embedded_catalogue(), *record->parent);
    ResolveRequest request{.record = record->id};
    for (const auto& [id, unused] : record->features) {
      request.settings[id] = *feature_value_at(parent, embedded_catalogue().feature(id));
    }
    const core::TrainConfig back = resolve(embedded_catalogue(), request).config;
    EXPECT_EQ(back.digest(), parent.digest())
        << record->id << ": "
        << core::Json::diff(core::Json(core::to_json(parent)), core::Json(core::to_json(back))).dump(2);
  }
}

}  // namespace
}  // namespace nanobench::ablations
