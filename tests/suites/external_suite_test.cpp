#include "suites/external_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "ablations/catalogue.h"
#include "suites/plan.h"

namespace nanobench::suites {
namespace {

using core::Json;

Json suite_json() {
  return {{"name", "mine"},
          {"design", "leave_one_out"},
          {"seeds", {1, 2}},
          {"engine",
           {{"command", {"sh", "train.sh", "--lr={feature:lr}", "{seed}", "{{x}}"}},
            {"env", {{"OPT", "{feature:opt}-{cell}"}}},
            {"features",
             {{"lr", {{"values", {"0.1", "0.2"}}}},
              {"opt", {{"values", {{"adam", "A {seed}"}, {"muon", "M"}}}, {"before", "adam"}, {"after", "muon"}}}}}}}};
}

std::string error_of(const Json& json) {
  try {
    read_suite(json, "s.json");
  } catch (const core::Error& error) {
    return error.what();
  }
  return "";
}

class ExternalSuiteTest : public testing::Test {
 protected:
  ExternalSuiteTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nanobench-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    write("train.sh", "echo one");
  }
  ~ExternalSuiteTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Plan plan_of(const Json& json) const {
    const Suite suite = read_suite(json, (folder_ / "s.json").string());
    Matrix matrix = make_matrix(suite, ablations::Catalogue::embedded());
    const core::DataSet data = prepare_data(suite, matrix, folder_);
    return make_plan(suite, matrix, data, external_engine(suite, {"adapter"}), {.cpu_model = "test"});
  }
  static std::vector<std::string> digests(const Plan& plan) {
    std::vector<std::string> all;
    for (const PlannedRun& run : plan.runs) all.push_back(run.digest);
    std::sort(all.begin(), all.end());
    return all;
  }
  std::filesystem::path folder_;
};

TEST_F(ExternalSuiteTest, FillsInValuesSeedAndCell) {
  const Plan plan = plan_of(suite_json());
  ASSERT_EQ(plan.matrix.cells.size(), 3U);
  ASSERT_EQ(plan.runs.size(), 6U);
  EXPECT_EQ(plan.matrix.cells[1].label, "without lr");
  EXPECT_EQ(plan.matrix.cells[1].changed, "lr: 0.2 -> 0.1");
  for (const PlannedRun& run : plan.runs) {
    const Json& external = run.spec.external;
    const std::string label = plan.cell_of(run).label;
    EXPECT_EQ(external.at("command").at(2), label == "without lr" ? "--lr=0.1" : "--lr=0.2");
    EXPECT_EQ(external.at("command").at(3), std::to_string(run.seed));
    EXPECT_EQ(external.at("command").at(4), "{x}");
    EXPECT_EQ(external.at("env").at("OPT"), (label == "without opt" ? "A {seed}-" : "M-") + label);
    EXPECT_EQ(external.at("folder"), folder_.string());
  }
}

TEST_F(ExternalSuiteTest, TheIdentityIsWhatRunsNotWhereOrUnderWhichName) {
  const std::vector<std::string> before = digests(plan_of(suite_json()));
  Json renamed = suite_json();
  renamed["name"] = "another";
  EXPECT_EQ(digests(plan_of(renamed)), before);
  Json other = suite_json();
  other["engine"]["features"]["lr"]["values"][1] = "0.3";
  EXPECT_NE(digests(plan_of(other)), before);
  write("train.sh", "echo two");
  EXPECT_NE(digests(plan_of(suite_json())), before) << "the script is part of what runs";
}

TEST_F(ExternalSuiteTest, AddOneInAndListedCells) {
  Json json = suite_json();
  json["design"] = "add_one_in";
  const Plan added = plan_of(json);
  EXPECT_EQ(added.matrix.cells[0].features.at("opt"), "adam");
  EXPECT_EQ(added.matrix.cells[2].features.at("opt"), "muon");
  json["design"] = "cells";
  json["cells"] = Json::parse(R"([{"label": "as is"}, {"label": "slow", "values": {"lr": "0.1"}}])");
  const Plan listed = plan_of(json);
  ASSERT_EQ(listed.matrix.cells.size(), 2U);
  EXPECT_EQ(listed.matrix.cells[0].features.at("lr"), "0.2");
  EXPECT_EQ(listed.matrix.cells[1].features.at("lr"), "0.1");
  const results::NewRun stored = stored_run(listed, listed.runs.front());
  EXPECT_EQ(stored.engine, "external");
  EXPECT_FALSE(stored.record);
  EXPECT_NE(stored.config.find("train.sh"), std::string::npos);
}

TEST(ExternalSuiteErrors, NameThePlaceAndTheRemedy) {
  const auto with = [](const std::function<void(Json&)>& change) {
    Json json = suite_json();
    change(json);
    return error_of(json);
  };
  EXPECT_EQ(with([](Json&) {}), "");
  EXPECT_NE(with([](Json& j) { j["engine"]["command"][0] = "{feature:rl}"; }).find("did you mean"), std::string::npos);
  EXPECT_NE(with([](Json& j) { j["engine"]["command"] = Json::array(); }).find("/engine/command"), std::string::npos);
  EXPECT_NE(with([](Json& j) { j["engine"]["command"][2] = "x"; }).find("it would change nothing"), std::string::npos);
  EXPECT_NE(with([](Json& j) { j["engine"]["log"] = "tqdm"; }).find("/engine/log"), std::string::npos);
  EXPECT_NE(with([](Json& j) { j["engine"]["features"]["opt"]["after"] = "sgd"; }).find("none of the values"),
            std::string::npos);
  EXPECT_NE(with([](Json& j) { j["engine"]["features"]["opt"]["after"] = "adam"; }).find("same value"),
            std::string::npos);
  EXPECT_NE(with([](Json& j) { j["scale"] = "nano"; }).find("scale"), std::string::npos) << "no scale of ours";
  EXPECT_NE(with([](Json& j) { j["design"] = "history"; }).find("/design"), std::string::npos);
  EXPECT_NE(with([](Json& j) { j["design"] = "cells"; }).find("cells"), std::string::npos);
  EXPECT_NE(with([](Json& j) {
              j["design"] = "cells";
              j["cells"] = Json::parse(R"([{"label": "a"}, {"label": "a"}])");
            }).find("twice"),
            std::string::npos);
  EXPECT_NE(with([](Json& j) {
              j["design"] = "cells";
              j["cells"] = Json::parse(R"([{"label": "a", "values": {"lr": "7"}}])");
            }).find("/cells/0/values/lr"),
            std::string::npos);
}

}  // namespace
}  // namespace nanobench::suites
