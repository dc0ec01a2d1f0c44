// Impossible combinations are refused with the reason and with what asked for them.
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;
using core::Json;

/// A feature with two values, each a patch.
void add(Catalogue& catalogue, const std::string& id, const Json& before, const Json& after) {
  catalogue.add_feature({{"id", id},
                         {"title", "t"},
                         {"introduced", Json::object()},
                         {"kind", "numerics"},
                         {"text", "t."},
                         {"before", "old"},
                         {"after", "new"},
                         {"values", {{"old", before}, {"new", after}}}},
                        id);
}

TEST(Blame, ValueTablesOnLayersThatDoNotExist) {
  const Refused message = error_of(ErrorCode::kInvalidArgument, [] {
    resolve(embedded_catalogue(), {.settings = {{"value_embeddings", "tables_12"}},
                                   .patch = {{"model", {{"num_layers", 6}}}},
                                   .patch_source = "s.json: /base/patch"});
  });
  expect_parts(
      message, Reason::kUnmet,
      {"/model/value_embeddings/layer_map", " 6,", " 12", "value_embeddings=tables_12", "s.json: /base/patch"});
}

TEST(Blame, AWindowBelowABlockWithBlockWindows) {
  Catalogue catalogue = embedded_catalogue();
  add(catalogue, "narrow_window", {{"attention", {{"window", {{"schedule", {{"quantum_tokens", 128}}}}}}}},
      {{"attention", {{"window", {{"schedule", {{"quantum_tokens", 64}}}}}}}});
  for (const char* scale : {"official", "nano"}) {
    const Refused message = error_of(ErrorCode::kInvalidArgument, [&] {
      resolve(catalogue, {.settings = {{"narrow_window", "new"}}, .scale = scale});
    });
    expect_parts(message, Reason::kUnmet,
                 {"/attention/window/schedule", "block_size", " 128", "64", "narrow_window=new"});
  }
}

TEST(Blame, HeadsThatDoNotDivideAmongKeyValueHeads) {
  Catalogue catalogue = embedded_catalogue();
  add(catalogue, "four_pairs", {{"model", {{"num_kv_heads", 6}}}}, {{"model", {{"num_kv_heads", 4}}}});
  const Refused message = error_of(ErrorCode::kInvalidArgument, [&] {
    resolve(catalogue, {.settings = {{"four_pairs", "new"}}});
  });
  expect_parts(message, Reason::kUnmet, {"/model/num_kv_heads", "6", "4", "four_pairs=new"});
}

TEST(Blame, ATiedHeadWithUnpaddedTables) {
  Catalogue catalogue = embedded_catalogue();
  add(catalogue, "tied", {{"model", {{"tied_head", false}}}}, {{"model", {{"tied_head", true}}}});
  const Refused alone = error_of(ErrorCode::kConflict, [&] { resolve(catalogue, {.settings = {{"tied", "new"}}}); });
  expect_parts(alone, Reason::kExcluded, {"/model/tied_head", "vocab_pad_embeddings", "tied=new"});
  add(catalogue, "short_tables", {{"model", {{"vocab_pad_embeddings", true}}}},
      {{"model", {{"vocab_pad_embeddings", false}}}});
  const Refused both = error_of(ErrorCode::kConflict, [&] {
    resolve(catalogue, {.record = "record18", .settings = {{"tied", "new"}, {"short_tables", "new"}}});
  });
  expect_parts(both, Reason::kExcluded, {"short_tables=new", "tied=new"});
}

TEST(Blame, NamesTheRecordWhenNobodyElseTouchedThePlace) {
  const Refused message = error_of(ErrorCode::kInvalidArgument, [] {
    const Json layers = {{"model", {{"value_embeddings", {{"layer_map", Json::array({0, 1})}}}}}};
    resolve(embedded_catalogue(), {.patch = layers, .patch_source = "the patch"});
  });
  expect_parts(message, Reason::kUnmet, {" 12,", " 2;", "the patch"});
  Catalogue catalogue = embedded_catalogue();  // a scale of one's own that does not divide
  catalogue.add_scale(core::parse_json(R"({"id": "odd", "title": "t", "text": "t.", "context_divisor": 3})", "odd"),
                      "odd");
  const Refused scale = error_of(ErrorCode::kInvalidArgument, [&] { resolve(catalogue, {.scale = "odd"}); });
  expect_parts(scale, Reason::kNoMultiple, {"odd", "attention/block_size", "128"});
}

TEST(Blame, NamesTheSettingThatAScaleCannotDivide) {
  Catalogue catalogue = embedded_catalogue();
  add(catalogue, "five_heads", {{"model", {{"num_heads", 6}}}}, {{"model", {{"num_heads", 8}, {"num_kv_heads", 8}}}});
  const Refused message = error_of(ErrorCode::kInvalidArgument, [&] {
    resolve(catalogue, {.settings = {{"five_heads", "new"}}, .scale = "nano"});
  });
  expect_parts(message, Reason::kNoMultiple, {"/model/num_heads", "nano", "num_heads", " 3,", " 8 ", "five_heads=new"});
}

TEST(Blame, SaysForWhomASettingWasPulledIn) {
  Catalogue catalogue = embedded_catalogue();
  add(catalogue, "pulled", {{"model", {{"num_kv_heads", 6}}}}, {{"model", {{"num_kv_heads", 4}}}});
  catalogue.add_feature(
      core::parse_json(R"({"id": "puller", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.",
      "before": "a", "after": "b", "values": {"a": {"model": {"mlp_ratio": 4}}, "b": {"model": {"mlp_ratio": 2}}},
      "requires": [{"when": ["b"], "feature": "pulled", "values": ["new"]}]})",
                       "puller"),
      "puller");
  const Refused message = error_of(ErrorCode::kInvalidArgument, [&] {
    resolve(catalogue, {.settings = {{"puller", "b"}}});
  });
  expect_parts(message, Reason::kUnmet, {"pulled=new", "puller=b"});
}

TEST(Blame, NamesProcessesThatDoNotFit) {
  const Refused message = error_of(ErrorCode::kInvalidArgument, [] {
    resolve(embedded_catalogue(),
            {.patch = {{"distributed", {{"processes", 8}}}}, .patch_source = "the patch", .ranks = 6});
  });
  expect_parts(message, Reason::kUnmet, {"6 ", " 8 ", "the patch"});
}

}  // namespace
}  // namespace nanobench::ablations
