// The design screening, of our engine and of an external trainer.
#include <gtest/gtest.h>

#include <set>

#include "ablations/screening.h"
#include "design_support.h"
#include "suites/design/external_suite.h"

namespace nanobench::suites {
namespace {

using core::Json;

Matrix screening_of(const Json& features, const Json& more = Json::object()) {
  Json json = {{"name", "t"}, {"design", "screening"}, {"base", {{"record", "record17"}}}, {"scale", "smoke"}};
  if (!features.is_null()) json["features"] = features;
  json.update(more);
  return make_matrix(read_suite(json, "s.json"), catalogue());
}

const Json kSix = {"attention_skip", "rotary", "adam_beta1", "value_mix", "momentum_warmup", "muon_learning_rate"};

TEST(ScreeningMatrix, CellsAreTheBaseWithSomeFeaturesAtTheirEarlierValue) {
  const Matrix matrix = screening_of(kSix);
  ASSERT_EQ(matrix.cells.size(), ablations::screening_size(6));
  EXPECT_EQ(matrix.cells.front().label, "record17");
  EXPECT_TRUE(matrix.cells.front().features.empty());
  EXPECT_TRUE(matrix.contrasts.empty()) << "it judges nothing";
  std::set<std::string> digests, seen;
  for (const Cell& cell : matrix.cells) {
    digests.insert(cell.config.digest());
    for (const auto& [id, value] : cell.features) {
      EXPECT_EQ(value, catalogue().feature(id).before) << cell.label;
      seen.insert(id);
    }
  }
  EXPECT_EQ(digests.size(), matrix.cells.size()) << "each cell is another configuration";
  EXPECT_EQ(seen.size(), 6U);
  const auto skips = [](const Cell& cell) { return !cell.config.model.attention_skip_layers.empty(); };
  for (const Cell& cell : matrix.cells) EXPECT_EQ(skips(cell), !cell.features.contains("attention_skip")) << cell.label;
}

/// Every change in record 17 that smoke can show, whatever they require of each other.
TEST(ScreeningMatrix, AllFeaturesOfARecordAreScreenedOrSaidNotToBe) {
  const Matrix matrix = screening_of(nullptr);
  std::set<std::string> seen;
  for (const Cell& cell : matrix.cells) {
    for (const auto& [id, value] : cell.features) seen.insert(id);
  }
  EXPECT_GT(seen.size(), 50U);
  const Matrix alone = screening_of(nullptr, {{"design", "leave_one_out"}});
  for (const results::PlanContrast& contrast : alone.contrasts) {
    const std::string& id = contrast.factors.front().setting;
    EXPECT_TRUE(seen.contains(id) || says(matrix, MessageKind::kLeftOut, id, {"it can be tested alone"})) << id;
  }
}

TEST(ScreeningMatrix, TheNumberOfCellsCanBeAskedFor) {
  EXPECT_EQ(screening_of(kSix, {{"runs", 8}}).cells.size(), 8U);
  for (const int runs : {0, 3, 1000}) EXPECT_THROW(screening_of(kSix, {{"runs", runs}}), core::Error) << runs;
  EXPECT_THROW(screening_of({"no_such_feature"}), core::Error);
  EXPECT_THROW(screening_of({"expandable_segments"}), core::Error) << "nothing is left to screen";
}

TEST(ScreeningMatrix, ATrainerOfYours) {
  const Json suite = {{"name", "t"},
                      {"design", "screening"},
                      {"engine",
                       {{"command", {"train", "{feature:a}", "{feature:b}", "{feature:c}", "{feature:d}", "{seed}"}},
                        {"features",
                         {{"a", {{"values", {"0", "1"}}}},
                          {"b", {{"values", {"0", "1"}}}},
                          {"c", {{"values", {"0", "1"}}}},
                          {"d", {{"values", {"0", "1"}}}}}}}}};
  const Matrix matrix = make_external_matrix(read_suite(suite, "s.json"));
  ASSERT_EQ(matrix.cells.size(), ablations::screening_size(4));
  EXPECT_EQ(matrix.cells[0].external.at("command"), Json({"train", "1", "1", "1", "1", "{seed}"}));
  std::set<Json> commands;
  for (const Cell& cell : matrix.cells) commands.insert(cell.external.at("command"));
  EXPECT_EQ(commands.size(), matrix.cells.size());
}

}  // namespace
}  // namespace nanobench::suites
