// Promises that hold for every entry of the embedded catalogue.
#include <map>
#include <set>

#include "ablations/patch.h"
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::Json;

bool is_sentence(const std::string& text) {
  return text.size() > 20 && text.back() == '.';
}

TEST(CatalogueContract, HoldsTheRecordsAndScalesThatAreNamedInTheDesign) {
  for (int number = 1; number <= 21; ++number) {
    EXPECT_TRUE(embedded_catalogue().has_record("record" + std::to_string(number)));
  }
  for (const char* scale : {"smoke", "nano", "mini", "official_brief", "official_short", "official"}) {
    EXPECT_TRUE(embedded_catalogue().has_scale(scale)) << scale;
  }
  EXPECT_TRUE(embedded_catalogue().has_record("record21b"));
  EXPECT_GE(embedded_catalogue().features().size(), 90U);
}

TEST(CatalogueContract, FeaturesSayWhatTheyAre) {
  for (const Feature* feature : embedded_catalogue().all_features()) {
    EXPECT_FALSE(feature->title.empty()) << feature->id;
    EXPECT_TRUE(is_sentence(feature->text)) << feature->id;
    EXPECT_EQ(feature->source, "ablations/features/" + feature->id + ".json");
    if (!feature->changes.empty()) {
      EXPECT_TRUE(feature->introduced_record || !feature->analyses.empty())
          << feature->id << " is a documented change, so \"introduced\" says of which record or analysis";
    }
    for (const std::string& analysis : feature->analyses) {
      EXPECT_TRUE((std::set<std::string>{"000", "001", "002", "003", "004"}.contains(analysis)))
          << feature->id << " names the analysis " << analysis;
    }
  }
}

/// A feature names an analysis because a claim of it speaks of the feature, and no other.
TEST(CatalogueContract, TheAnalysesOfAFeatureAreThoseOfItsClaims) {
  std::map<std::string, std::set<std::string>> analyses;
  for (const Claim* claim : embedded_catalogue().claims()) {
    for (const std::string& feature : claim->features) analyses[feature].insert(claim->analysis);
  }
  for (const Feature* feature : embedded_catalogue().all_features()) {
    const std::vector<std::string> expected(analyses[feature->id].begin(), analyses[feature->id].end());
    EXPECT_EQ(feature->analyses, expected) << feature->source << ": /introduced/analyses";
  }
  EXPECT_GT(analyses.size(), 60U);
}

/// Scales have their own interval, as their runs have too few steps for the records'; and smoke has one micro-step
/// only.
bool scale_decides(const Feature& feature, const Scale& scale) {
  if (feature.needs.micro_steps > 1 && scale.id == "smoke") return true;
  return feature.id == "validation_interval" && scale.val_every.has_value();
}

TEST(CatalogueContract, WhatNeedsMoreMicroStepsThanThereAreIsRefused) {
  const FeaturePoint point{&embedded_catalogue().feature("gradient_sync"), "every_micro_step"};
  const ResolveRequest request = point.request("smoke");
  const Refused message = error_of(core::ErrorCode::kUnavailable, [&] { resolve(embedded_catalogue(), request); });
  expect_parts(message, Reason::kTooFewMicroSteps, {"gradient_sync=every_micro_step", " 2 ", " 1;"});
}

TEST(CatalogueContract, EveryValueResolvesAtEveryScaleAndTakesEffect) {
  for (const FeaturePoint& point : all_feature_points(embedded_catalogue())) {
    for (const Scale* scale : embedded_catalogue().scales()) {
      if (scale_decides(*point.feature, *scale)) continue;
      SCOPED_TRACE(point.name() + " at " + scale->id);
      Resolved resolved;
      ASSERT_NO_THROW(resolved = resolve(embedded_catalogue(), point.request(scale->id)));
      ASSERT_TRUE(resolved.effective.contains(point.feature->id));
      EXPECT_EQ(resolved.effective.at(point.feature->id), point.value);
      EXPECT_NO_THROW(core::check_train_config(resolved.config, "resolved"));
    }
  }
}

TEST(CatalogueContract, BeforeAndAfterDifferInDigestAtEveryScale) {
  for (const Feature* feature : embedded_catalogue().features()) {
    for (const Scale* scale : embedded_catalogue().scales()) {
      if (scale_decides(*feature, *scale)) continue;
      const auto digest = [&](const std::string& value) {
        return resolve(embedded_catalogue(), FeaturePoint{feature, value}.request(scale->id)).config.digest();
      };
      EXPECT_NE(digest(feature->before), digest(feature->after)) << feature->id << " at " << scale->id;
    }
  }
}

TEST(CatalogueContract, ValuesOfAFeatureExcludeEachOther) {
  for (const FeaturePoint& point : all_feature_points(embedded_catalogue())) {
    const Json config(core::to_json(resolve(embedded_catalogue(), point.request("official")).config));
    for (const FeatureValue& other : point.feature->values) {
      if (other.name == point.value) continue;
      EXPECT_FALSE(leaves_unchanged(config, other.patch)) << point.name() << " looks like " << other.name;
    }
  }
}

TEST(CatalogueContract, EveryFeatureHasAValueAtItsBase) {
  for (const Feature* feature : embedded_catalogue().features()) {
    EXPECT_TRUE(feature_value_at(resolve_record(embedded_catalogue(), feature->base), *feature)) << feature->id;
  }
}

TEST(CatalogueContract, RecordsHaveOneRootAndTheirFeaturesTakeEffect) {
  for (const Record* record : embedded_catalogue().records()) {
    EXPECT_EQ(embedded_catalogue().lineage(record->id).front()->id, "record1");
    const FeatureSettings values =
        feature_values_at(embedded_catalogue(), resolve_record(embedded_catalogue(), record->id));
    for (const auto& [id, value] : record->features) EXPECT_EQ(values.at(id), value) << record->id << " " << id;
    if (record->parent) {
      const FeatureSettings before =
          feature_values_at(embedded_catalogue(), resolve_record(embedded_catalogue(), *record->parent));
      for (const auto& [id, value] : record->features) {
        if (!before.contains(id)) continue;  // it came with another optimiser or schedule
        EXPECT_NE(before.at(id), value) << record->id << " sets " << id << " to what its parent has";
      }
    }
  }
}

/// The clock over the timed steps of the published run.
double timed_seconds(const PublishedFigures& published, std::int64_t untimed_steps) {
  return *published.step_avg_ms * static_cast<double>(*published.steps - untimed_steps) / 1000;
}

TEST(CatalogueContract, RecordsRideWithTheirPublishedFigures) {
  for (const Record* record : embedded_catalogue().records()) {
    EXPECT_FALSE(record->changes.empty()) << record->id;
    const PublishedFigures& published = record->published;
    EXPECT_TRUE(published.minutes.has_value()) << record->id;
    EXPECT_NE(published.source.find("modded-nanogpt"), std::string::npos);
    const bool has_log = published.steps && published.step_avg_ms && published.final_val_loss;
    EXPECT_TRUE(has_log || record->note.starts_with("No log")) << record->id << " has no log; its note must say so";
    EXPECT_TRUE(!published.is_of_another_script || is_sentence(record->note))
        << record->id << " has a log of another script; its note must say how that differs";
    if (!has_log) continue;
    const core::TrainConfig config = resolve_record(embedded_catalogue(), record->id);
    EXPECT_EQ(config.schedule.total_steps(), config.run.stop_after) << record->id;
    EXPECT_TRUE(*published.steps == config.run.stop_after || published.is_of_another_script)
        << record->id << " has other steps than its log";
    EXPECT_EQ(*published.tokens_per_step, config.data.tokens_per_step()) << record->id;
    if (published.train_seconds) {
      EXPECT_NEAR(*published.train_seconds, timed_seconds(published, config.run.untimed_steps), 0.2) << record->id;
    } else {  // the step time of #2 and #3 was made from the minutes, that of #1 was not
      EXPECT_LE(record->number, 3);
      EXPECT_NEAR(*published.minutes, timed_seconds(published, 0) / 60, 0.7) << record->id;
    }
  }
}

TEST(CatalogueContract, EveryRecordResolvesAtEveryScaleAndSaysWhatItLost) {
  for (const Record* record : embedded_catalogue().records()) {
    for (const Scale* scale : embedded_catalogue().scales()) {
      SCOPED_TRACE(record->id + " at " + scale->id);
      Resolved resolved;
      ASSERT_NO_THROW(resolved = resolve(embedded_catalogue(), {.record = record->id, .scale = scale->id}));
      EXPECT_EQ(resolved.scale_notes.empty(), scale->id == "official");
      EXPECT_EQ(resolved.config.model.num_layers, 12);
      EXPECT_GT(resolved.config.run.stop_after, resolved.config.run.untimed_steps + 10);
    }
  }
}

/// resolve() relies on this where it asks whether a setting has an effect.
TEST(CatalogueContract, ScalesChangeNumbersAlone) {
  int numbers = 0;
  for (const Record* record : embedded_catalogue().records()) {
    const core::TrainConfig official = resolve_record(embedded_catalogue(), record->id);
    const Json before = core::to_plain_json(official).flatten();
    for (const Scale* scale : embedded_catalogue().scales()) {
      SCOPED_TRACE(record->id + " at " + scale->id);
      const Json after = core::to_plain_json(apply_scale(official, *scale).config).flatten();
      ASSERT_EQ(before.size(), after.size());
      for (const auto& [pointer, value] : before.items()) {
        ASSERT_TRUE(after.contains(pointer)) << pointer;
        if (after.at(pointer) == value) continue;
        EXPECT_TRUE(value.is_number() && after.at(pointer).is_number()) << pointer;
        ++numbers;
      }
    }
  }
  EXPECT_GT(numbers, 1000);
}

}  // namespace
}  // namespace nanobench::ablations
