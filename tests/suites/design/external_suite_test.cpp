#include "suites/design/external_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "core/base/atomic_write.h"
#include "suites/design/plan.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Reason;
using core::Refused;

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

Refused external_refusal(const Json& json) {
  return core::refusal_of([&] { make_external_matrix(read_suite(json, "s.json")); });
}

/// In a folder of its own: files of the working folder are sources of a trainer whose suite lies there.
class ExternalDesign : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::current_path(folder_.path());
    core::write_file_atomically("train.sh", "");
  }
  void TearDown() override { std::filesystem::current_path(before_); }
  const std::filesystem::path before_ = std::filesystem::current_path();
  const core::TemporaryFolder folder_{"design"};
};

/// Three features of two values, and a fourth of three.
Json designed(const std::string& design, const Json& more = Json::object()) {
  Json json = {{"name", "mine"},
               {"design", design},
               {"engine",
                {{"command", {"train", "{feature:a}", "{feature:b}", "{feature:c}", "{feature:width}"}},
                 {"features",
                  {{"a", {{"values", {"0", "1"}}}},
                   {"b", {{"values", {"0", "1"}}}},
                   {"c", {{"values", {"0", "1"}}}},
                   {"width", {{"values", {"32", "64", "128"}}}}}}}}};
  json.update(more);
  return json;
}

Matrix external_suite_matrix_of(const Json& json) {
  return make_external_matrix(read_suite(json, "s.json"));
}

/// "effect: +cell -cell" with the coefficients where they are not one.
std::vector<std::string> contrasts_of(const Matrix& matrix) {
  std::vector<std::string> all;
  for (const results::PlanContrast& contrast : matrix.contrasts) {
    std::string text = contrast.effect + ":";
    for (const auto& [cell, weight] : contrast.coefficients) {
      text += weight == 1 ? " +" : weight == -1 ? " -" : weight > 0 ? " +c " : " -c ";
      text += cell;
    }
    all.push_back(text);
  }
  return all;
}

using Texts = std::vector<std::string>;

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
    Matrix matrix = make_external_matrix(suite);
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
  EXPECT_EQ(results::changes_text(plan.matrix.cells[1].changes), "lr: 0.2 -> 0.1");
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

TEST(ExternalWarmup, IsPartOfTheConfigurationOnlyWhereItIsAskedFor) {
  const auto cell_with = [](const Json& warmup) {
    Json json = suite_json();
    if (!warmup.is_null()) json["engine"]["warmup"] = warmup;
    return external_configuration(external_suite_matrix_of(json).cells.front().external);
  };
  const Json without = cell_with(nullptr);
  EXPECT_EQ(cell_with(false), without);
  EXPECT_EQ(cell_with(0), without);
  EXPECT_EQ(cell_with(true), cell_with(1));
  EXPECT_NE(cell_with(1), without);
  EXPECT_NE(cell_with(2), cell_with(1));
  for (const Json& wrong : {Json(-1), Json(101), Json("yes"), Json(1.5)}) {
    Json json = suite_json();
    json["engine"]["warmup"] = wrong;
    EXPECT_EQ(external_refusal(json).subject, "/engine/warmup") << wrong << external_refusal(json).message;
  }
}

TEST_F(ExternalDesign, LeaveOneOutAndAddOneIn) {
  const Json chosen =
      Json::parse(R"({"features": ["a", {"id": "width", "value": "64"}], "base": {"features": {"b": "0"}}})");
  const Matrix out = external_suite_matrix_of(designed("leave_one_out", chosen));
  EXPECT_EQ(labels_of(out), (Texts{"base", "without a", "width = 64"}));
  EXPECT_EQ(contrasts_of(out), (Texts{"a: +base -without a", "width over 64: +base -width = 64"}));
  EXPECT_EQ(out.cells[0].features.at("b"), "0");
  EXPECT_EQ(out.cells[2].external.at("command"), Json({"train", "1", "0", "1", "64"}));
  const Matrix in = external_suite_matrix_of(designed("add_one_in", chosen));
  EXPECT_EQ(labels_of(in), (Texts{"base", "with a", "width = 64"}));
  EXPECT_EQ(contrasts_of(in), (Texts{"a: -base +with a", "width=64: -base +width = 64"}));
  EXPECT_EQ(in.cells[0].features,
            (std::map<std::string, std::string>{{"a", "0"}, {"b", "0"}, {"c", "1"}, {"width", "32"}}));
  const Matrix idle = external_suite_matrix_of(designed("leave_one_out", {{"base", {{"features", {{"a", "0"}}}}}}));
  EXPECT_EQ(labels_of(idle), (Texts{"base", "without b", "without c", "without width"}));
  ASSERT_EQ(idle.messages.size(), 1U);
  EXPECT_EQ(idle.messages[0].kind, core::MessageKind::kLeftOut);
  EXPECT_EQ(idle.messages[0].subject, "without a");
}

TEST_F(ExternalDesign, HistoryIsALadderAndCellsStandAlone) {
  const Json cells = Json::parse(R"({"cells": [{"label": "first"}, {"label": "then a", "values": {"a": "1"}},
                                               {"label": "then b", "values": {"b": "1"}}]})");
  const Matrix ladder = external_suite_matrix_of(designed("history", cells));
  EXPECT_EQ(contrasts_of(ladder), (Texts{"then a: -first +then a", "then b: -then a +then b"}));
  EXPECT_EQ(ladder.cells[0].external.at("command"), Json({"train", "0", "0", "0", "32"}));
  EXPECT_EQ(ladder.cells[2].external.at("command"), Json({"train", "1", "1", "0", "32"}));
  const Matrix alone = external_suite_matrix_of(designed("cells", cells));
  EXPECT_EQ(contrasts_of(alone), (Texts{"then a: -first +then a", "then b: -first +then b"}));
  EXPECT_EQ(alone.cells[0].features.at("a"), "1") << "what is not named is as in the base";
  EXPECT_EQ(alone.messages.size(), 2U) << "the same command three times is said";
}

TEST_F(ExternalDesign, FactorialFractionSweepPairs) {
  const Matrix full = external_suite_matrix_of(designed("factorial", {{"features", {"a", "b"}}}));
  EXPECT_EQ(labels_of(full), (Texts{"none", "b", "a", "a + b"}));
  ASSERT_EQ(full.contrasts.size(), 3U);
  EXPECT_EQ(full.contrasts[0].effect, "a");
  EXPECT_EQ(full.contrasts[0].kind, results::ContrastKind::kMain);
  EXPECT_EQ(full.contrasts[0].coefficients.at("a + b"), 0.5);
  const Matrix levels = external_suite_matrix_of(
      designed("factorial", Json::parse(R"({"features": ["a", {"id": "width", "values": ["32", "64", "128"]}]})")));
  EXPECT_EQ(levels.cells.size(), 6U);
  EXPECT_EQ(levels.cells[1].label, "a=0, width=64");

  const Matrix half =
      external_suite_matrix_of(designed("fractional_factorial", {{"features", {"a", "b", "c"}}, {"runs", 4}}));
  EXPECT_EQ(half.cells.size(), 4U);
  EXPECT_EQ(half.contrasts[0].aliases, Texts{"b x c"});
  ASSERT_GE(half.messages.size(), 1U);
  EXPECT_NE(half.messages[0].text.find(" III"), std::string::npos) << half.messages[0].text;

  const Matrix sweep = external_suite_matrix_of(
      designed("sweep", Json::parse(R"({"axes": [{"feature": "width", "values": ["32", "128", "64"]}]})")));
  EXPECT_EQ(labels_of(sweep), (Texts{"width=32", "width=128", "width=64"}));
  EXPECT_EQ(contrasts_of(sweep), (Texts{"width=128: +width=128 -width=32", "width=64: -width=32 +width=64"}));

  const Matrix pairs = external_suite_matrix_of(designed("pairs", {{"features", {"a", "b"}}}));
  EXPECT_EQ(labels_of(pairs), (Texts{"base", "without a", "without b", "without a, without b"}));
  EXPECT_EQ(contrasts_of(pairs)[0], "a: +base -without a");
  EXPECT_EQ(contrasts_of(pairs)[2], "a x b: +base -without a +without a, without b -without b");
}

TEST_F(ExternalDesign, ArmsAreRunsOfTheirOwn) {
  const Suite suite = read_suite(designed("a_a", {{"arms", 3}}), "s.json");
  const Matrix matrix = make_external_matrix(suite);
  EXPECT_EQ(labels_of(matrix), (Texts{"base A", "base B", "base C"}));
  EXPECT_EQ(matrix.contrasts[1].kind, results::ContrastKind::kNoise);
  EXPECT_TRUE(matrix.messages.empty());
  const Plan plan = make_plan(suite, matrix, {}, external_engine(suite, {"adapter"}), {.cpu_model = "test"});
  std::set<std::string> digests;
  for (const PlannedRun& run : plan.runs) digests.insert(run.digest);
  EXPECT_EQ(digests.size(), 3U);
}

TEST_F(ExternalDesign, CopiesOfOneRunAreNoted) {
  Json json = designed("a_a", {{"arms", 2}, {"seeds", {1, 2}}});
  const auto notes = [&] { return core::texts_of(external_suite_matrix_of(json).messages); };
  ASSERT_EQ(notes().size(), 1U);
  EXPECT_NE(notes()[0].find("{seed}"), std::string::npos) << notes()[0];
  json["engine"]["env"]["SEED"] = "{seed}";
  EXPECT_TRUE(notes().empty());
  json["engine"]["env"].erase("SEED");
  json["seeds"] = {1};
  EXPECT_TRUE(notes().empty()) << "one run has no copy";
}

TEST_F(ExternalDesign, WhatCannotBeIsSaidWithItsPlace) {
  struct Case {
    const char* design;
    const char* more;
    Reason reason;
    const char* place;
    const char* subject;
  };
  for (const Case& item :
       {Case{"factorial", R"({"features": ["a", "bb"]})", Reason::kUnknownName, "/features/1", "bb"},
        {"leave_one_out", R"({"features": [{"id": "a", "value": "7"}]})", Reason::kUnknownValue, "/features/0", "7"},
        {"leave_one_out", R"({"features": ["a", {"id": "a", "value": "0"}]})", Reason::kRepeated, "/features/1",
         "without a"},
        {"leave_one_out", R"({"base": {"features": {"a": "2"}}})", Reason::kUnknownValue, "/base/features/a", "2"},
        {"sweep", R"({"axes": [{"path": "/lr", "values": [1, 2]}]})", Reason::kExcluded, "/axes/0/path",
         "/axes/0/path"},
        {"sweep", R"({"axes": [{"feature": "a", "values": ["0", "2"]}]})", Reason::kUnknownValue, "/axes/0", "2"},
        {"sweep", R"({})", Reason::kEmpty, "/axes", "/axes"},
        {"pairs", R"({"features": ["a"]})", Reason::kTooFewFeatures, "/features", "2"},
        {"fractional_factorial", R"({"features": ["a", "b"], "runs": 3})", Reason::kNoPowerOfTwo, "/runs", "3"},
        {"a_a", R"({"features": ["a"]})", Reason::kUnknownKey, "/features", "/features"},
        {"a_a", R"({"scale": "nano"})", Reason::kUnknownKey, "/scale", "/scale"}}) {
    const Refused refused = external_refusal(designed(item.design, Json::parse(item.more)));
    EXPECT_REFUSED(refused, item.reason, item.subject) << item.more;
    EXPECT_TRUE(refused.begins("s.json: " + std::string(item.place) + ": ")) << refused.message;
  }
}

TEST(ExternalSuiteErrors, AShellWouldReadValuesAsCode) {
  const auto command = [](const Json& words) {
    Json json = designed("a_a");
    json["engine"]["features"] = {{"x", {{"values", {"1; rm -rf .", "2"}}}}};
    json["engine"]["command"] = words;
    return external_refusal(json);
  };
  EXPECT_REFUSED(command({"sh", "-c", "train {feature:x}"}), Reason::kReadAsCode, "/engine/command");
  EXPECT_REFUSED(command({"/usr/bin/env", "bash", "-ec", "train {feature:x}"}), Reason::kReadAsCode, "/engine/command");
  EXPECT_FALSE(command({"sh", "-c", "train \"$1\" {seed}", "sh", "{feature:x}"}).is_refused);
  EXPECT_FALSE(command({"python3", "-c", "{feature:x}"}).is_refused) << "no shell";
}

TEST(ExternalSuiteErrors, TextsThatNoProcessCanBeGiven) {
  Json json = designed("a_a");
  json["engine"]["env"] = {{"A=B", "x"}};
  EXPECT_REFUSED(external_refusal(json), Reason::kBadName, "/engine/env");
  json["engine"]["env"] = {{"A", std::string("x\0y", 3)}};
  EXPECT_REFUSED(external_refusal(json), Reason::kHoldsNul, "/engine/env");
  json["engine"]["env"] = {{"A", "x"}};
  EXPECT_FALSE(external_refusal(json).is_refused);
}

TEST_F(ExternalSuiteTest, TheSourcesArePartOfTheIdentityAndNotOfTheConfiguration) {
  std::filesystem::create_directories(folder_ / "lib" / "__pycache__");
  write("lib/model.py", "one");
  write("lib/.hidden", "one");
  Json json = suite_json();
  json["engine"]["sources"] = {"lib"};
  const Plan before = plan_of(json);
  write("lib/.hidden", "two");
  write("lib/__pycache__/model.pyc", "two");
  EXPECT_EQ(digests(plan_of(json)), digests(before));
  write("lib/model.py", "two");
  const Plan after = plan_of(json);
  EXPECT_NE(digests(after), digests(before));
  EXPECT_NE(after.engine.version, before.engine.version);
  EXPECT_EQ(config_digest(after.matrix.cells[0]), config_digest(before.matrix.cells[0]))
      << "another state of the trainer is compared with, not another configuration";
  json["engine"]["sources"] = {"nowhere"};
  EXPECT_THROW(plan_of(json), core::Error);
}

TEST_F(ExternalSuiteTest, SettingsAndSourcesOfEveryKindCountAndOutputsDoNot) {
  const Json json = suite_json();
  std::vector<std::string> before = digests(plan_of(json));
  const auto counts = [&](const std::string& name) {
    write(name, "more");
    const std::vector<std::string> after = digests(plan_of(json));
    const bool differ = after != before;
    before = after;
    return differ;
  };
  for (const char* name : {"a.ini", "lr.conf", "a.gin", "a.properties", "a.R", "x.env", "rules.mk", "a.awk", "conf",
                           "Dockerfile", "a.proto", "a.j2"})
    EXPECT_TRUE(counts(name)) << name;
  for (const char* name : {"log.txt", "metrics.json", "weights.params", "table.csv", "latest", ".hidden.conf"})
    EXPECT_FALSE(counts(name)) << name;
}

TEST_F(ExternalSuiteTest, SourcesThroughALinkToAFolderCount) {
  for (const char* version : {"v1", "v2", "data"}) std::filesystem::create_directories(folder_ / "else" / version);
  std::filesystem::create_directories(folder_ / "trainer");
  write("trainer/train.py", "");
  write("else/v1/model.py", "one");
  write("else/v2/model.py", "two");
  for (int i = 0; i < 2001; ++i) write("else/data/" + std::to_string(i) + ".py", "");
  Json json = suite_json();
  json["engine"]["folder"] = "trainer";
  const auto link_to = [&](const char* name, const std::filesystem::path& target) {
    std::filesystem::remove(folder_ / "trainer" / name);
    std::filesystem::create_directory_symlink(target, folder_ / "trainer" / name);
    return digests(plan_of(json));
  };
  const std::vector<std::string> none = digests(plan_of(json)), one = link_to("current", "../else/v1");
  EXPECT_NE(one, none);
  EXPECT_NE(link_to("current", "../else/v2"), one) << "it leads elsewhere";
  EXPECT_EQ(link_to("current", "../else/v1"), one);
  write("else/v1/model.py", "changed");
  const std::vector<std::string> changed = digests(plan_of(json));
  EXPECT_NE(changed, one);
  EXPECT_EQ(link_to("data", "../else/data"), changed) << "more than code has";
  EXPECT_EQ(link_to("above", ".."), changed);
}

TEST_F(ExternalSuiteTest, ProgramsWithoutAnEndingAreSources) {
  const Json json = suite_json();
  std::vector<std::string> before = digests(plan_of(json));
  const auto counts = [&](const std::string& name, const std::string& text) {
    write(name, text);
    const std::vector<std::string> after = digests(plan_of(json));
    return std::exchange(before, after) != after;
  };
  EXPECT_TRUE(counts("launch", "#!/bin/sh\nexec ./program\n"));
  EXPECT_TRUE(counts("launch", "#!/bin/sh\nexec ./other\n"));
  EXPECT_TRUE(counts("program", "\x7f\x45LF one"));
  EXPECT_FALSE(counts("output", "loss 3.2\n"));
  EXPECT_FALSE(counts("cache.so", "\x7f\x45LF two")) << "compilers leave such files behind";
}

TEST_F(ExternalSuiteTest, PythonThatDoesNotTellWhatItLoadsIsNoted) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"python3", "-I", "train.py"}, "-I"},
      {{"python3.11", "-u", "-sE", "train.py"}, "-sE"},
      {{"sh", "-c", "exec /usr/bin/python3 -S train.py"}, "-S"},
      {{"python3", "-u", "train.py", "-I"}, ""},
      {{"python3", "-cimport Ex"}, ""},
      {{"python3", "-m", "torch.distributed.run", "-E"}, ""},
      {{"./train", "-I"}, ""}};
  for (const auto& [command, option] : commands) EXPECT_EQ(silencing_option(command), option) << command[1];
  Json json = suite_json();
  const std::vector<std::string> words = {"-I", "outside the trainer's folder"};
  EXPECT_FALSE(says(plan_of(json).matrix, core::MessageKind::kNote, "", words));
  json["engine"]["command"] = {"python3", "-I", "train.sh", "{feature:lr}"};
  EXPECT_TRUE(says(plan_of(json).matrix, core::MessageKind::kNote, "", words));
}

TEST_F(ExternalSuiteTest, WhatGitSaysIsKept) {
  Suite suite = read_suite(suite_json(), (folder_ / "s.json").string());
  const auto plan = [&] {
    const Matrix matrix = make_external_matrix(suite);
    return make_plan(suite, matrix, {}, external_engine(suite, {"adapter"}), {.cpu_model = "test"});
  };
  const Plan before = plan();
  suite.external->revision = "abc";
  EXPECT_EQ(digests(plan()), digests(before)) << "the bytes count, not the commit";
  EXPECT_EQ(plan().runs[0].spec.external.at("revision"), "abc");
  suite.external->tree = "def";
  EXPECT_NE(digests(plan()), digests(before));
}

TEST_F(ExternalSuiteTest, TheFolderIsSeenFromTheFile) {
  Json json = suite_json();
  json["engine"]["folder"] = "sub/..";
  EXPECT_EQ(plan_of(json).runs[0].spec.external.at("folder"), folder_.string());
  json["engine"]["log_file"] = "log {cell} {seed} {{}}";
  EXPECT_EQ(plan_of(json).runs[0].spec.external.at("log_file").get<std::string>().substr(0, 4), "log ");
  for (const PlannedRun& run : plan_of(json).runs) {
    if (run.cell != 0) continue;
    EXPECT_EQ(run.spec.external.at("log_file"), "log base " + std::to_string(run.seed) + " {}");
  }
}

TEST(ExternalSuiteErrors, NameThePlaceAndTheRemedy) {
  const auto with = [](const std::function<void(Json&)>& change) {
    Json json = suite_json();
    change(json);
    return external_refusal(json);
  };
  EXPECT_FALSE(with([](Json&) {}).is_refused);
  const Refused misspelt = with([](Json& j) { j["engine"]["command"][0] = "{feature:rl}"; });
  EXPECT_REFUSED(misspelt, Reason::kUnknownName, "/engine/command");
  EXPECT_TRUE(misspelt.names("\"lr\"")) << misspelt.message;
  EXPECT_REFUSED(with([](Json& j) { j["engine"]["command"] = Json::array(); }), Reason::kEmpty, "/engine/command");
  const Refused unused = with([](Json& j) { j["engine"]["command"][2] = "x"; });
  EXPECT_REFUSED(unused, Reason::kUnused, "/engine/features");
  EXPECT_TRUE(unused.names("{feature:lr}")) << unused.message;
  EXPECT_REFUSED(with([](Json& j) { j["engine"]["log"] = "tqdm"; }), Reason::kUnknownName, "/engine/log");
  const std::string after = "/engine/features/opt/after";
  EXPECT_REFUSED(with([](Json& j) { j["engine"]["features"]["opt"]["after"] = "sgd"; }), Reason::kUnknownName, after);
  EXPECT_REFUSED(with([](Json& j) { j["engine"]["features"]["opt"]["after"] = "adam"; }), Reason::kSameValue, after);
  EXPECT_REFUSED(with([](Json& j) { j["scale"] = "nano"; }), Reason::kUnknownKey, "/scale") << "no scale of ours";
  EXPECT_REFUSED(with([](Json& j) { j["design"] = "history"; }), Reason::kMissingKey, "/cells");
  EXPECT_REFUSED(with([](Json& j) { j["base"] = {{"record", "record17"}}; }), Reason::kUnknownKey, "/base/record");
  EXPECT_REFUSED(with([](Json& j) { j["design"] = "cells"; }), Reason::kMissingKey, "/cells");
  const auto with_cells = [&](const char* cells) {
    return with([&](Json& j) {
      j["design"] = "cells";
      j["cells"] = Json::parse(cells);
    });
  };
  EXPECT_REFUSED(with_cells(R"([{"label": "a"}, {"label": "a"}])"), Reason::kRepeated, "/cells");
  EXPECT_REFUSED(with_cells(R"([{"label": "a", "values": {"lr": "7"}}])"), Reason::kUnknownName, "/cells/0/values/lr");
}

}  // namespace
}  // namespace nanobench::suites
