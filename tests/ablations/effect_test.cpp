// A setting that cannot act is refused with the reason; one that the record has anyway is only said.
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;

constexpr const char* kCommon = R"("title": "t", "introduced": {}, "text": "t.", )";

/// Gradient buckets need two processes, the place of the loader two ranks, the prefetch two threads; the number of
/// untimed steps is the scale's at nano; a rank count too.
Catalogue catalogue_with_idle_features() {
  Catalogue catalogue = embedded_catalogue();
  const auto add = [&](const std::string& id, const std::string& members) {
    catalogue.add_feature(core::parse_json("{\"id\": \"" + id + "\", " + kCommon + members + "}", id), id);
  };
  add("buckets", R"("kind": "systems", "before": "copies", "after": "views", "needs": {"processes": 2},
      "values": {"copies": {"distributed": {"buckets": "copies"}}, "views": {"distributed": {"buckets": "views"}}})");
  add("places", R"("kind": "numerics", "before": "each", "after": "one", "needs": {"ranks": 2},
      "values": {"each": {"data": {"loader": {"position": "per_rank"}}}, "one": {"data": {"loader": {"position": "global"}}}})");
  add("fetching", R"("kind": "systems", "before": "now", "after": "ahead", "needs": {"threads": 2},
      "values": {"now": {"data": {"loader": {"fetch": "step_start"}}}, "ahead": {"data": {"loader": {"fetch": "after_forward"}}}})");
  add("free_steps", R"("kind": "systems", "before": "none", "after": "ten",
      "values": {"none": {"run": {"untimed_steps": 0}}, "ten": {"run": {"untimed_steps": 10}},
                 "twenty": {"run": {"untimed_steps": 20}}})");
  return catalogue;
}

Refused effect_refusal(ResolveRequest request) {
  return error_of(ErrorCode::kUnavailable, [&] { resolve(catalogue_with_idle_features(), request); });
}

TEST(Needs, ProcessesRanksAndThreads) {
  expect_parts(effect_refusal({.settings = {{"buckets", "copies"}}, .scale = "nano"}), Reason::kTooFewProcesses,
               {"buckets=copies", " 2 processes", " 1;", "--processes 2"});
  expect_parts(effect_refusal({.settings = {{"buckets", "copies"}}, .scale = "nano", .ranks = 2}),
               Reason::kTooFewProcesses, {"2 processes"});
  expect_parts(effect_refusal({.settings = {{"places", "one"}}, .scale = "nano"}), Reason::kTooFewProcesses,
               {"places=one", "2 ranks", "--ranks 2"});
  expect_parts(effect_refusal({.settings = {{"fetching", "ahead"}}, .scale = "nano", .threads = 1}),
               Reason::kTooFewProcesses, {"fetching=ahead", "2 threads", " 1;"});
}

TEST(Needs, AreMetByWhatIsAskedFor) {
  const Catalogue catalogue = catalogue_with_idle_features();
  const Resolved copies = resolve(catalogue, {.settings = {{"buckets", "copies"}}, .scale = "nano", .processes = 2});
  EXPECT_EQ(copies.config.distributed.buckets, core::BucketStorage::kCopies);
  EXPECT_EQ(copies.config.distributed.processes, 2);
  EXPECT_NO_THROW(resolve(catalogue, {.settings = {{"places", "one"}}, .scale = "nano", .ranks = 2}));
  EXPECT_NO_THROW(resolve(catalogue, {.settings = {{"places", "one"}}})) << "the official run has eight ranks";
  EXPECT_NO_THROW(resolve(catalogue, {.settings = {{"fetching", "ahead"}}, .scale = "nano"}))
      << "how many threads is not known here";
  EXPECT_NO_THROW(resolve(catalogue, {.settings = {{"fetching", "ahead"}}, .scale = "nano", .threads = 2}));
}

TEST(Needs, AGpu) {
  expect_parts(
      effect_refusal({.settings = {{"expandable_segments", "off"}}, .scale = "nano", .device = core::kCpuDevice}),
      Reason::kNeedsGpu, {"expandable_segments=off", "--device cuda"});
  expect_parts(effect_refusal({.scale = "nano",
                               .patch = {{"gpu", {{"step_graph", true}}}},
                               .patch_source = "s.json: /base/patch",
                               .device = core::kCpuDevice}),
               Reason::kNeedsGpu, {"s.json: /base/patch: /gpu"});
  const Catalogue& catalogue = embedded_catalogue();
  for (const auto& device : {std::optional(core::kGpuDevice), std::optional<core::DeviceChoice>()}) {
    const Resolved resolved =
        resolve(catalogue, {.settings = {{"expandable_segments", "off"}}, .scale = "nano", .device = device});
    EXPECT_FALSE(resolved.config.gpu.expandable_segments);
  }
  EXPECT_NO_THROW(
      resolve(catalogue, {.settings = {{"expandable_segments", "on"}}, .scale = "nano", .device = core::kCpuDevice}))
      << "what the record has is only said";
}

TEST(Needs, WhatTheRecordHasIsOnlySaid) {
  const Resolved resolved =
      resolve(catalogue_with_idle_features(), {.settings = {{"buckets", "views"}}, .scale = "nano"});
  ASSERT_EQ(resolved.messages.size(), 1U);
  EXPECT_EQ(resolved.messages[0].kind, core::MessageKind::kAlreadySet);
  EXPECT_EQ(resolved.messages[0].subject, "buckets");
}

TEST(Effect, ASettingThatTheScaleOverrulesIsRefusedWithTheReason) {
  expect_parts(effect_refusal({.settings = {{"free_steps", "twenty"}}, .scale = "nano"}), Reason::kNoEffect,
               {"free_steps=twenty", "nano", "20 -> 5"});
  const Catalogue catalogue = catalogue_with_idle_features();
  EXPECT_EQ(resolve(catalogue, {.settings = {{"free_steps", "twenty"}}}).config.run.untimed_steps, 20);
  EXPECT_EQ(resolve(catalogue, {.settings = {{"free_steps", "none"}}, .scale = "nano"}).config.run.untimed_steps, 0);
}

TEST(Effect, ASettingThatThePatchOverrulesIsRefused) {
  expect_parts(effect_refusal({.settings = {{"logit_softcap", "15"}},
                               .patch = {{"model", {{"logit_softcap", 20}}}},
                               .patch_source = "s.json: /base/patch"}),
               Reason::kNoEffect, {"logit_softcap=15", "s.json: /base/patch"});
  expect_parts(effect_refusal({.settings = {{"unet_skips", "off"}},
                               .patch = {{"model", {{"unet_skips", false}}}},
                               .patch_source = "s.json: /base/patch"}),
               Reason::kNoEffect, {"unet_skips=off", "s.json: /base/patch"});
}

TEST(Effect, APatchThatTheScaleOverrulesIsRefused) {
  expect_parts(
      effect_refusal({.scale = "nano", .patch = {{"run", {{"val_every", 10}}}}, .patch_source = "s.json: /base/patch"}),
      Reason::kNoEffect, {"s.json: /base/patch", "nano", "10 -> 25"});
}

TEST(Effect, APartOfAPatchThatTheScaleOverrulesIsSaid) {
  const Resolved resolved =
      resolve(embedded_catalogue(),
              {.scale = "nano", .patch = {{"run", {{"val_every", 10}}}, {"schedule", {{"num_steps", 2000}}}}});
  ASSERT_EQ(resolved.messages.size(), 1U);
  EXPECT_EQ(resolved.messages[0].kind, core::MessageKind::kNoEffect);
  EXPECT_EQ(resolved.messages[0].subject, "/run/val_every");
}

TEST(Effect, ANotApplicableFeatureCannotBeSet) {
  Catalogue catalogue = embedded_catalogue();
  catalogue.add_feature(core::parse_json(R"({"id": "guards", "title": "t", "introduced": {}, "kind": "systems",
      "text": "t.", "not_applicable": "Nothing is compiled at run time."})",
                                         "guards"),
                        "guards");
  expect_parts(error_of(ErrorCode::kUnavailable,
                        [&] {
                          resolve(catalogue, {.settings = {{"guards", "on"}}});
                        }),
               Reason::kNotApplicable, {"guards", "Nothing is compiled at run time."});
  EXPECT_FALSE(resolve(catalogue, {}).effective.contains("guards"));
}

}  // namespace
}  // namespace nanobench::ablations
