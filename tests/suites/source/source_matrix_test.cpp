// Suites whose features are changes of a trainer's source: cells, identities, and designs that need what does not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "suites/design/external_suite.h"
#include "suites/design/plan.h"
#include "tests/suites/source/toy_repository.h"

namespace nanobench::suites {
namespace {

using core::Json;

class SourceMatrix : public ToyRepository {
 protected:
  void SetUp() override {
    ToyRepository::SetUp();
    if (const char* before = std::getenv("XDG_CACHE_HOME"); before != nullptr) cache_before_ = before;
    setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
  }
  void TearDown() override {
    if (cache_before_.empty()) {
      unsetenv("XDG_CACHE_HOME");
    } else {
      setenv("XDG_CACHE_HOME", cache_before_.c_str(), 1);
    }
  }
  static Json replacement(const std::string& old_text, const std::string& new_text) {
    return {{"replace", Json::array({{{"file", "train.py"}, {"old", old_text}, {"new", new_text}}})}};
  }
  static Json toggle(const Json& off) {
    return {{"values", {{"off", off}, {"on", Json::object()}}}, {"before", "off"}, {"after", "on"}};
  }
  Matrix matrix(const std::string& design, const Json& features) const {
    const Json json = {{"name", "toy"},
                       {"design", design},
                       {"engine", {{"command", {"sh", "train.py"}}, {"source", "toy"}, {"features", features}}}};
    return make_external_matrix(read_suite(json, (place_.path() / "s.json").string()));
  }
  /// Two that meet, and one that meets neither.
  static Json meeting() {
    return {{"a", toggle(replacement("lr = 1", "lr = 2"))},
            {"b", toggle(replacement("lr = 1", "lr = 3"))},
            {"c", toggle(replacement("momentum = 1", "momentum = 2"))}};
  }
  static std::set<std::string> labels(const Matrix& matrix) {
    std::set<std::string> all;
    for (const Cell& cell : matrix.cells) all.insert(cell.label);
    return all;
  }
  static std::size_t count(const Matrix& matrix, core::MessageKind kind) {
    return static_cast<std::size_t>(std::count_if(matrix.messages.begin(), matrix.messages.end(),
                                                  [&](const auto& message) { return message.kind == kind; }));
  }
  std::string cache_before_;
};

TEST_F(SourceMatrix, EachCellHasItsTree) {
  const Matrix leave = matrix("leave_one_out", meeting());
  ASSERT_EQ(labels(leave), (std::set<std::string>{"base", "without a", "without b", "without c"}));
  std::set<std::string> trees, configurations, folders;
  for (const Cell& cell : leave.cells) {
    trees.insert(cell.external.at("tree").get<std::string>());
    folders.insert(cell.external.at("folder").get<std::string>());
    configurations.insert(config_digest(cell));
  }
  EXPECT_EQ(trees.size(), 4U);
  EXPECT_EQ(folders.size(), 4U);
  EXPECT_EQ(configurations.size(), 4U);
}

TEST_F(SourceMatrix, ConfigurationsStayWhenTheSourceMovesOn) {
  const Matrix before = matrix("leave_one_out", meeting());
  write("model.py", "layers = 3\n");
  commit("another model");
  const Matrix after = matrix("leave_one_out", meeting());
  for (std::size_t i = 0; i < before.cells.size(); ++i) {
    EXPECT_EQ(config_digest(before.cells[i]), config_digest(after.cells[i]));
    EXPECT_NE(before.cells[i].external.at("tree"), after.cells[i].external.at("tree"));
  }
}

TEST_F(SourceMatrix, ACommitThatChangesNoFileChangesNoTree) {
  const Matrix before = matrix("leave_one_out", meeting());
  git({"commit", "-q", "--allow-empty", "-m", "nothing"});
  const Matrix after = matrix("leave_one_out", meeting());
  for (std::size_t i = 0; i < before.cells.size(); ++i)
    EXPECT_EQ(before.cells[i].external.at("tree"), after.cells[i].external.at("tree"));
}

TEST_F(SourceMatrix, TheSuiteAndItsPatchesAreNoPartOfTheSource) {
  std::filesystem::rename(patch("lr.patch", "lr = 1", "lr = 2"), folder_ / "lr.patch");
  const auto base_tree = [&](const std::string& title) {
    const Json json = {
        {"name", "toy"},
        {"title", title},
        {"design", "leave_one_out"},
        {"engine",
         {{"command", {"sh", "train.py"}}, {"source", "."}, {"features", {{"a", toggle({{"patch", "lr.patch"}})}}}}}};
    write("suite.json", json.dump());
    git({"add", "suite.json", "lr.patch"});
    return make_external_matrix(read_suite_file(folder_ / "suite.json")).cells.front().external.at("tree");
  };
  const Json before = base_tree("one");
  EXPECT_EQ(base_tree("two"), before);
  write("lr.patch", read(folder_ / "lr.patch") + "\n");
  EXPECT_EQ(base_tree("two"), before);
}

TEST_F(SourceMatrix, CombinationsThatMeetAreLeftOut) {
  const Matrix pairs = matrix("pairs", meeting());
  EXPECT_EQ(pairs.cells.size(), 6U) << "of 1 + 3 + 3, a with b is missing";
  EXPECT_EQ(count(pairs, core::MessageKind::kLeftOut), 1U);
  const Matrix factorial = matrix("factorial", meeting());
  EXPECT_EQ(factorial.cells.size(), 6U) << "of 8, two have both";
  EXPECT_THROW(matrix("add_one_in", meeting()), core::Error) << "its base has both";
}

TEST_F(SourceMatrix, EqualTreesAreNoted) {
  const Matrix twins = matrix("leave_one_out", {{"a", toggle(replacement("lr = 1", "lr = 2"))},
                                                {"again", toggle(replacement("lr = 1\n", "lr = 2\n"))}});
  EXPECT_EQ(count(twins, core::MessageKind::kSameRun), 1U);
}

TEST_F(SourceMatrix, WhatCannotBeMeantIsRefused) {
  const auto error_of = [&](const Json& engine) -> std::string {
    try {
      const Json json = {{"name", "toy"}, {"design", "leave_one_out"}, {"engine", engine}};
      read_suite(json, (place_.path() / "s.json").string());
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "";
  };
  const Json command = {"sh", "train.py"}, one = {{"a", toggle(replacement("lr = 1", "lr = 2"))}};
  EXPECT_EQ(error_of({{"command", command}, {"source", "toy"}, {"features", one}}), "");
  EXPECT_NE(error_of({{"command", command}, {"features", one}}), "") << "a change without a source";
  EXPECT_NE(error_of({{"command", command}, {"source", "toy"}, {"sources", {"train.py"}}, {"features", one}}), "");
  EXPECT_NE(error_of({{"command", command}, {"source", {{"folder", "toy"}, {"link", {"../data"}}}}, {"features", one}}),
            "");
  EXPECT_NE(
      error_of(
          {{"command", command}, {"source", "toy"}, {"features", {{"a", toggle({{"patch", "x"}, {"revert", "y"}})}}}}),
      "")
      << "two changes in one value";
  Json mixed = toggle(replacement("lr = 1", "lr = 2"));
  mixed["values"]["on"] = "text";
  EXPECT_NE(error_of({{"command", command}, {"source", "toy"}, {"features", {{"a", mixed}}}}), "");
}

}  // namespace
}  // namespace nanobench::suites
