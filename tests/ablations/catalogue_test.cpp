#include "ablations/catalogue.h"

#include <fstream>

#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;
using core::Json;

Json feature_json() {
  return Json::parse(R"({"id": "mlp_width", "title": "Width of the MLP", "introduced": {"analyses": ["000"]},
      "values": {"four": {"model": {"mlp_ratio": 4}}, "two": {"model": {"mlp_ratio": 2}}},
      "before": "four", "after": "two", "kind": "numerics", "text": "How wide the MLP is."})");
}

class CatalogueFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) /
            ("nb_catalogue_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Refused overlay_error(ErrorCode code) {
    return error_of(code, [&] { catalogue_.overlay(root_); });
  }

  std::filesystem::path root_;
  Catalogue catalogue_ = embedded_catalogue();
};

TEST_F(CatalogueFolder, AddsAndReplacesEntries) {
  write("features/mlp_width.json", feature_json().dump());
  Json rotary = feature_json();
  rotary["id"] = "rotary";
  rotary["title"] = "replaced";
  write("features/rotary.json", rotary.dump());
  write("scales/tiny.json", R"({"id": "tiny", "title": "t", "text": "t", "steps_divisor": 100})");
  EXPECT_THROW(catalogue_.overlay(root_), core::Error);  // records set a value of rotary that is gone
  rotary["values"] = {{"full_10000", {{"model", {{"rope", {{"base", 10000}}}}}}},
                      {"half_1024", {{"model", {{"rope", {{"base", 1024}}}}}}}};
  rotary["before"] = "full_10000";
  rotary["after"] = "half_1024";
  write("features/rotary.json", rotary.dump());
  catalogue_.overlay(root_);
  EXPECT_EQ(catalogue_.feature("rotary").title, "replaced");
  EXPECT_TRUE(catalogue_.has_feature("mlp_width"));
  EXPECT_TRUE(catalogue_.has_scale("tiny"));
  EXPECT_TRUE(catalogue_.has_record("record17"));
}

TEST_F(CatalogueFolder, IsUnchangedByABrokenOverlay) {
  write("features/mlp_width.json", feature_json().dump());
  write("features/zz.json", "{");
  overlay_error(ErrorCode::kInvalidArgument);
  EXPECT_FALSE(catalogue_.has_feature("mlp_width"));
}

TEST_F(CatalogueFolder, RefusesAFolderWithNothingInIt) {
  expect_parts(overlay_error(ErrorCode::kNotFound), Reason::kEmpty,
               {root_.string(), "features", "records", "scales", "claims"});
}

TEST_F(CatalogueFolder, RequiresTheIdToBeTheFilesName) {
  write("features/width.json", feature_json().dump());
  expect_parts(overlay_error(ErrorCode::kInvalidArgument), Reason::kOtherName, {"width.json: /id", "mlp_width"});
}

TEST_F(CatalogueFolder, RefusesARecordWhoseParentsGoRound) {
  write("records/a.json", R"({"id": "a", "number": 50, "title": "a", "parent": "b"})");
  write("records/b.json", R"({"id": "b", "number": 51, "title": "b", "parent": "a"})");
  expect_parts(overlay_error(ErrorCode::kInvalidArgument), Reason::kEndless, {"/parent", "a", "b"});
}

TEST_F(CatalogueFolder, RefusesARecordWithAnUnknownParentFeatureOrValue) {
  write("records/a.json", R"({"id": "a", "number": 50, "title": "a", "parent": "recrod17"})");
  expect_parts(overlay_error(ErrorCode::kNotFound), Reason::kUnknownName,
               {"a.json: /parent", "recrod17", "\"record17\""});
  write("records/a.json",
        R"({"id": "a", "number": 50, "title": "a", "parent": "record17", "features": {"rotarry": "x"}})");
  expect_parts(overlay_error(ErrorCode::kInvalidArgument), Reason::kUnknownName,
               {"a.json: /features/rotarry", "\"rotary\""});
  write("records/a.json",
        R"({"id": "a", "number": 50, "title": "a", "parent": "record17", "features": {"rotary": "full_1000"}})");
  expect_parts(overlay_error(ErrorCode::kInvalidArgument), Reason::kUnknownValue,
               {"a.json: /features/rotary", "\"full_10000\""});
}

TEST_F(CatalogueFolder, RefusesAConflictThatOneSideOnlyStates) {
  Json feature = feature_json();
  feature["conflicts"] = {{{"when", {"two"}}, {"feature", "activation"}, {"values", {"gelu"}}}};
  write("features/mlp_width.json", feature.dump());
  expect_parts(overlay_error(ErrorCode::kInvalidArgument), Reason::kOneSided,
               {"mlp_width.json: /conflicts/0", "activation"});
}

TEST_F(CatalogueFolder, RefusesARequirementOfSomethingUnknown) {
  Json feature = feature_json();
  feature["requires"] = {{{"feature", "activation"}, {"values", {"gellu"}}}};
  write("features/mlp_width.json", feature.dump());
  expect_parts(overlay_error(ErrorCode::kInvalidArgument), Reason::kUnknownValue,
               {"mlp_width.json: /requires/0", "\"gelu\""});
}

TEST(ReadFeature, NamesFileAndPointerOfWhatIsWrong) {
  const auto message = [](const std::function<void(Json&)>& spoil) {
    Json json = feature_json();
    spoil(json);
    return error_of(ErrorCode::kInvalidArgument, [&] { read_feature(json, "f.json"); });
  };
  expect_parts(message([](Json& f) { f["titel"] = "x"; }), Reason::kUnknownKey, {"f.json: /titel", "\"title\""});
  expect_parts(message([](Json& f) { f.erase("text"); }), Reason::kMissingKey, {"f.json", "\"text\""});
  expect_parts(message([](Json& f) { f["kind"] = "speed"; }), Reason::kUnknownName,
               {"f.json: /kind", "numerics", "speed"});
  expect_parts(message([](Json& f) { f["before"] = "six"; }), Reason::kUnknownName,
               {"f.json: /before", "six", "\"four\""});
  expect_parts(message([](Json& f) { f["after"] = "four"; }), Reason::kSameValue, {"f.json: /after"});
  expect_parts(message([](Json& f) { f["values"].erase("two"); }), Reason::kTooFewValues, {"f.json: /values"});
  expect_parts(message([](Json& f) { f["values"]["two"]["model"]["mlp_ration"] = 3; }), Reason::kUnknownKey,
               {"f.json: /values/two/model/mlp_ration", "\"mlp_ratio\""});
  expect_parts(message([](Json& f) { f["values"]["two"]["model"]["mlp_ratio"] = Json::object(); }), Reason::kWrongType,
               {"f.json: /values/two/model/mlp_ratio: "});
  expect_parts(message([](Json& f) { f["values"]["two"]["model"] = 3; }), Reason::kWrongType,
               {"f.json: /values/two/model: "});
  expect_parts(message([](Json& f) {
                 f["requires"] = {{{"feature", "rotary"}}};
               }),
               Reason::kEmpty, {"f.json: /requires/0/values"});
  expect_parts(message([](Json& f) {
                 f["requires"] = {{{"feature", "mlp_width"}, {"values", {"two"}}}};
               }),
               Reason::kSameValue, {"f.json: /requires/0/feature"});
  expect_parts(message([](Json& f) { f["introduced"]["records"] = 3; }), Reason::kUnknownKey,
               {"f.json: /introduced/records", "\"record\""});
  expect_parts(message([](Json& f) { f["introduced"]["seeds"] = Json::array({"000"}); }), Reason::kUnknownKey,
               {"f.json: /introduced/seeds"});
}

Json not_applicable_json() {
  return Json::parse(
      R"({"id": "guard_skipping", "title": "Compiler guards", "introduced": {"record": 16, "analyses": ["000"]},
      "changes": [{"record": 16, "id": "skip-guard-eval"}], "kind": "systems",
      "not_applicable": "Nothing here is compiled at run time.", "text": "Guards of compiled code are skipped."})");
}

TEST(ReadFeature, APatchMayTakeAGroupOfSettingsAway) {
  Json json = feature_json();
  json["values"]["two"] = {{"precision", {{"head", "activations"}, {"fp8", nullptr}}}};
  EXPECT_NO_THROW(read_feature(json, "f.json"));
}

TEST(ReadFeature, KeepsChangesAndNeeds) {
  Json json = feature_json();
  json["changes"] = {{{"record", 15}, {"id", "ve-mirror-6"}}, {{"record", 16}, {"id", "x"}}};
  json["needs"] = {{"processes", 2}};
  const Feature feature = read_feature(json, "f.json");
  ASSERT_EQ(feature.changes.size(), 2U);
  EXPECT_EQ(feature.changes[0].record, 15);
  EXPECT_EQ(feature.changes[0].id, "ve-mirror-6");
  EXPECT_EQ(feature.needs.processes, 2);
  EXPECT_EQ(feature.needs.ranks, 2) << "processes imply ranks";
  EXPECT_EQ(feature.needs.threads, 1);
  json["needs"] = {{"threads", 3}};
  EXPECT_EQ(read_feature(json, "f.json").needs.threads, 3);
}

TEST(ReadFeature, RefusesBadChangesAndNeeds) {
  const auto message = [](const std::string& key, const Json& value) {
    Json json = feature_json();
    json[key] = value;
    return error_of(ErrorCode::kInvalidArgument, [&] { read_feature(json, "f.json"); });
  };
  expect_parts(message("changes", "ve"), Reason::kWrongType, {"f.json: /changes: "});
  expect_parts(message("changes", Json::array({{{"record", 15}}})), Reason::kMissingKey,
               {"f.json: /changes/0: ", "\"id\""});
  expect_parts(message("changes", Json::array({{{"record", 15}, {"id", "x"}, {"from", 3}}})), Reason::kUnknownKey,
               {"f.json: /changes/0/from"});
  expect_parts(message("needs", {{"rank", 2}}), Reason::kUnknownKey, {"f.json: /needs/rank", "\"ranks\""});
  expect_parts(message("needs", {{"processes", 0}}), Reason::kOutOfRange, {"f.json: /needs/processes"});
  expect_parts(message("needs", {{"processes", 4}, {"ranks", 2}}), Reason::kOutOfRange, {"f.json: /needs/ranks"});
}

TEST(ReadFeature, ANotApplicableEntryHasAReasonAndNoValues) {
  const Feature feature = read_feature(not_applicable_json(), "f.json");
  EXPECT_FALSE(feature.is_applicable());
  EXPECT_TRUE(feature.values.empty());
  expect_parts(error_of(ErrorCode::kUnavailable, [&] { feature.value("on"); }), Reason::kNotApplicable,
               {"guard_skipping", "Nothing here is compiled at run time."});
  Json json = not_applicable_json();
  json["before"] = "on";
  expect_parts(error_of(ErrorCode::kInvalidArgument, [&] { read_feature(json, "f.json"); }), Reason::kExcluded,
               {"f.json: /before: "});
  json = not_applicable_json();
  json["not_applicable"] = "";
  expect_parts(error_of(ErrorCode::kInvalidArgument, [&] { read_feature(json, "f.json"); }), Reason::kEmpty,
               {"f.json: /not_applicable: "});
}

TEST(Catalogue, NotApplicableEntriesAreListedButNotAmongThoseThatCanBeSet) {
  Catalogue catalogue = embedded_catalogue();
  const std::size_t all = catalogue.all_features().size();
  const std::size_t settable = catalogue.features().size();
  catalogue.add_feature(not_applicable_json(), "f.json");
  catalogue.check();
  EXPECT_EQ(catalogue.all_features().size(), all + 1);
  EXPECT_EQ(catalogue.features().size(), settable);
  EXPECT_TRUE(catalogue.has_feature("guard_skipping"));
}

TEST(Catalogue, RefusesRelationsAndRecordsThatNameAnEntryThatIsNotApplicable) {
  Catalogue catalogue = embedded_catalogue();
  catalogue.add_feature(not_applicable_json(), "f.json");
  Json json = feature_json();
  json["requires"] = {{{"feature", "guard_skipping"}, {"values", {"on"}}}};
  catalogue.add_feature(json, "mlp_width.json");
  expect_parts(error_of(ErrorCode::kInvalidArgument, [&] { catalogue.check(); }), Reason::kNotApplicable,
               {"mlp_width.json: /requires/0", "guard_skipping"});
  catalogue.add_feature(feature_json(), "mlp_width.json");
  catalogue.add_record(core::parse_json(R"({"id": "r", "number": 60, "title": "t", "parent": "record17",
      "features": {"guard_skipping": "on"}})",
                                        "r.json"),
                       "r.json");
  expect_parts(error_of(ErrorCode::kInvalidArgument, [&] { catalogue.check(); }), Reason::kNotApplicable,
               {"r.json: /features/guard_skipping: "});
}

TEST(Catalogue, RefusesAScaleThatHoldsSomethingUnknown) {
  const auto message = [](const std::string& holds) {
    Catalogue catalogue = embedded_catalogue();
    catalogue.add_scale(
        core::parse_json(R"({"id": "t", "title": "t", "text": "t.", "holds": )" + holds + "}", "t.json"), "t.json");
    return error_of(ErrorCode::kInvalidArgument, [&] { catalogue.check(); });
  };
  expect_parts(message(R"({"newton_shulz_precision": "compute"})"), Reason::kUnknownName,
               {"t.json: /holds/newton_shulz_precision", "\"newton_schulz_precision\""});
  expect_parts(message(R"({"newton_schulz_precision": "comput"})"), Reason::kUnknownValue,
               {"t.json: /holds/newton_schulz_precision", "\"compute\""});
}

TEST(ReadRecord, NamesFileAndPointerOfWhatIsWrong) {
  const auto message = [](const std::string& members) {
    return error_of(ErrorCode::kInvalidArgument, [&] {
      read_record(core::parse_json(R"({"id": "r", "number": 3, "title": "t")" + members + "}", "r.json"), "r.json");
    });
  };
  expect_parts(message(R"(, "parrent": "x")"), Reason::kUnknownKey, {"r.json: /parrent", "\"parent\""});
  expect_parts(message(R"(, "patch": {"shedule": {}})"), Reason::kUnknownKey,
               {"r.json: /patch/shedule", "\"schedule\""});
  expect_parts(message(R"(, "features": {"rotary": 3})"), Reason::kWrongType, {"r.json: /features/rotary"});
  expect_parts(message(R"(, "published": {"source": "s", "minuts": 3})"), Reason::kUnknownKey,
               {"r.json: /published/minuts", "\"minutes\""});
}

TEST(Catalogue, ListsInAUsefulOrder) {
  const auto records = embedded_catalogue().records();
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto place = [&](std::size_t r) { return std::pair(records[r]->number, records[r]->id); };
    EXPECT_LT(place(i - 1), place(i)) << "21 before 21b";
  }
  const auto scales = embedded_catalogue().scales();
  EXPECT_EQ(scales.front()->id, "smoke");
  EXPECT_EQ(scales.back()->id, "official");
  const auto features = embedded_catalogue().features();
  EXPECT_FALSE(features.back()->introduced_record.has_value());
}

}  // namespace
}  // namespace nanobench::ablations
