// The records against their real configurations in the golden data, field by field.
#include <algorithm>

#include "core/config/settings_reference.h"
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/golden/golden_data.h"

namespace nanobench::ablations {
namespace {

/// Every setting of `expected` that `actual` has otherwise, as "pointer: expected, got". Settings that `expected` does
/// not have are free.
std::string differences(const core::Json& expected, const core::Json& actual, const std::string& pointer = "") {
  if (!expected.is_object()) {
    return expected == actual ? "" : "\n" + pointer + ": expected " + expected.dump() + ", got " + actual.dump();
  }
  std::string text;
  for (const auto& [key, value] : expected.items()) {
    text += actual.contains(key) ? differences(value, actual.at(key), pointer + "/" + key)
                                 : "\n" + pointer + "/" + key + ": expected " + value.dump() + ", got nothing";
  }
  return text;
}

class OfficialRecord : public testing::TestWithParam<int> {};

TEST_P(OfficialRecord, EqualsItsRealConfiguration) {
  core::Json expected = core::read_json_file(golden_record(GetParam()));
  expected.erase("name");
  EXPECT_GT(expected.flatten().size(), 60U);
  const core::TrainConfig actual =
      resolve(embedded_catalogue(), {.record = "record" + std::to_string(GetParam())}).config;
  EXPECT_EQ(differences(expected, core::Json(core::to_json(actual))), "");
}

INSTANTIATE_TEST_SUITE_P(FourToFortyOne, OfficialRecord, testing::Range(4, 42));

TEST(OfficialRecord17, IsTheDefaultConfiguration) {
  const core::TrainConfig record17 = resolve_record(embedded_catalogue(), "record17");
  core::TrainConfig defaults;
  defaults.name = record17.name;
  // The defaults round nothing, so that a run without a record is one in its own number type.
  defaults.precision = record17.precision;
  // The same sequences in other words, and ways of the loader and of communication that change no number.
  defaults.data.val_sequence_length = defaults.data.sequence_length;
  defaults.data.loader.storage = core::ShardStorage::kPinned;
  defaults.data.loader.fetch = core::FetchTime::kAfterBackward;
  defaults.data.loader.token_dtype = core::TokenDtype::kInt32;
  defaults.distributed.gather_buffer = core::GatherBuffer::kSeparate;
  EXPECT_EQ(differences(core::Json(core::to_json(defaults)), core::Json(core::to_json(record17))), "");
  EXPECT_EQ(record17.digest(), defaults.digest());
}

/// Stores and older engines know records 1 to 21 by these digests, and by no setting that came later.
TEST(StableRecords, KeepTheirDigestsAndSettings) {
  const core::Json digests = core::read_json_file(NANOBENCH_SOURCE_DIR "/tests/ablations/first_digests.json");
  EXPECT_EQ(digests.size(), 5U * 21U);
  for (const auto& [name, digest] : digests.items()) {
    const std::size_t slash = name.find('/');
    const core::TrainConfig config =
        resolve(embedded_catalogue(), {.record = name.substr(slash + 1), .scale = name.substr(0, slash)}).config;
    EXPECT_EQ(core::Json(config.digest()), digest) << name;
    const core::Json changed = core::changed_settings(config).flatten();
    for (const auto& [pointer, value] : changed.items()) {
      const bool is_known = std::any_of(core::first_settings().begin(), core::first_settings().end(),
                                        [&](const auto& first) { return pointer.starts_with(first.first); });
      EXPECT_TRUE(is_known) << name << ": " << pointer;
    }
  }
}

/// Values at `parent` of the features that `record` sets. One without a value there belongs to a setting that goes too,
/// such as Muon's features with Muon.
FeatureSettings values_before(const Record& record, const core::TrainConfig& parent) {
  FeatureSettings values;
  for (const auto& [id, unused] : record.features) {
    const std::optional<std::string> value = feature_value_at(parent, embedded_catalogue().feature(id));
    if (value) values[id] = *value;
  }
  return values;
}

TEST(RecordLadder, TurningAllFeaturesOfARecordBackGivesItsParent) {
  for (const Record* record : embedded_catalogue().records()) {
    if (!record->parent) continue;
    SCOPED_TRACE(record->id);
    const core::TrainConfig parent = resolve_record(embedded_catalogue(), *record->parent);
    ResolveRequest request{.record = record->id, .settings = values_before(*record, parent)};
    request.processes = 8;  // as on 8 GPUs, so that features of communication can be set
    core::TrainConfig back;
    ASSERT_NO_THROW(back = resolve(embedded_catalogue(), request).config);
    back.distributed.processes = 1;
    EXPECT_EQ(back.digest(), parent.digest())
        << core::Json::diff(core::Json(core::to_json(parent)), core::Json(core::to_json(back))).dump(2);
  }
}

TEST(RecordLadder, FeaturesDescribeEverythingThatARecordChanges) {
  for (const Record* record : embedded_catalogue().records()) {
    EXPECT_EQ(record->parent.has_value(), record->id != "record1");
    EXPECT_EQ(record->parent.has_value(), record->patch.empty()) << record->id;
  }
}

}  // namespace
}  // namespace nanobench::ablations
