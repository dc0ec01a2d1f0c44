// Any setting on any record: it acts, or it is refused with a reason, or it is what the record has and that is said.
#include <cstdint>
#include <map>
#include <set>

#include "core/base/random.h"
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;

std::string described(const ResolveRequest& request) {
  std::string text = request.record + " at " + request.scale;
  for (const auto& [id, value] : request.settings) text += " " + id + "=" + value;
  return text;
}

/// A refusal says why, and is the user's to mend.
void expect_reason(const core::Error& error, const ResolveRequest& request) {
  const bool is_users = error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kUnavailable ||
                        error.code() == ErrorCode::kInvalidArgument;
  EXPECT_TRUE(is_users) << described(request) << ": " << error.what();
  const std::string text = error.what();
  bool is_named = false;
  for (const auto& [id, unused] : request.settings) is_named |= text.find(id) != std::string::npos;
  EXPECT_TRUE(is_named) << described(request) << ": " << text;
}

struct Tally {
  int acting = 0;
  int idle = 0;
  int refused = 0;
};

/// A record without settings.
struct Base {
  FeatureSettings effective;
  std::string digest;

  Base() = default;
  Base(const std::string& record, const std::string& scale) {
    const Resolved resolved = resolve(embedded_catalogue(), {.record = record, .scale = scale});
    effective = resolved.effective;
    digest = resolved.config.digest();
  }
};

void try_one(const ResolveRequest& request, const Base& base, Tally& tally) {
  Resolved resolved;
  try {
    resolved = resolve(embedded_catalogue(), request);
  } catch (const core::Error& error) {
    ++tally.refused;
    return expect_reason(error, request);
  }
  EXPECT_NO_THROW(core::check_train_config(resolved.config, "resolved")) << described(request);
  for (const auto& [id, value] : request.settings) {
    const auto found = resolved.effective.find(id);
    EXPECT_EQ(found == resolved.effective.end() ? "no value" : found->second, value) << described(request);
  }
  if (resolved.config.digest() != base.digest) {
    ++tally.acting;
    return;
  }
  ++tally.idle;
  for (const auto& [id, value] : request.settings) {
    EXPECT_EQ(base.effective.at(id), value) << described(request) << ": silently does nothing";
  }
}

constexpr std::size_t kShares = 8;  // of the records, so that they run side by side

class ShareOfRecords : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ShareOfRecords, EveryValueActsOrIsRefused) {
  Tally tally;
  std::set<std::string> seen;  // records that changed kernels alone are the one before under another name
  for (const Record* record : embedded_catalogue().records()) {
    const Base base(record->id, "nano");
    if (!seen.insert(base.digest + core::Json(base.effective).dump()).second) continue;
    if (seen.size() % kShares != GetParam()) continue;
    for (const Feature* feature : embedded_catalogue().features()) {
      for (const std::string& value : feature->value_names()) {
        ResolveRequest request;
        request.record = record->id;
        request.settings = {{feature->id, value}};
        request.scale = "nano";
        try_one(request, base, tally);
      }
    }
  }
  EXPECT_GT(tally.acting, tally.refused) << "most settings act on most records";
}

INSTANTIATE_TEST_SUITE_P(Toggling, ShareOfRecords, ::testing::Range(std::size_t{0}, kShares));

TEST(Toggling, RandomCombinationsActOrAreRefused) {
  const std::vector<const Record*> records = embedded_catalogue().records();
  const std::vector<const Feature*> features = embedded_catalogue().features();
  const std::vector<const Scale*> scales = embedded_catalogue().scales();
  std::map<std::string, Base> bases;
  core::SplitMix64 random(20240520);
  Tally tally;
  for (int i = 0; i < 600; ++i) {
    ResolveRequest request;
    request.record = records[random.below(records.size())]->id;
    request.scale = scales[random.below(scales.size())]->id;
    for (std::size_t count = 2 + random.below(4); request.settings.size() < count;) {
      const Feature& feature = *features[random.below(features.size())];
      const std::vector<std::string> values = feature.value_names();
      request.settings[feature.id] = values[random.below(values.size())];
    }
    const std::string key = request.record + request.scale;
    if (!bases.contains(key)) bases[key] = Base(request.record, request.scale);
    try_one(request, bases.at(key), tally);
  }
  EXPECT_GT(tally.acting, 100);
  EXPECT_GT(tally.refused, 10);
}

}  // namespace
}  // namespace nanobench::ablations
