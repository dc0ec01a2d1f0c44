// `nanobench compare` from the outside.
#include <gtest/gtest.h>

#include <map>

#include "core/base/json.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

std::string suite(const std::string& name, const std::string& seeds) {
  return R"({"name": ")" + name + R"(", "design": "history", "records": ["record12", "record13"], "scale": "smoke",
    "seeds": )" +
         seeds + R"(, "threads": 1, "engine": {"mock": {"steps": 6, "loss_sigma": 0.0002, "step_cv": 0.0001,
    "cells": {"record13": {"step_ms": 5, "effect": 0.1}}}}})";
}

std::map<std::string, std::string> verdicts(const ProgramResult& result) {
  std::map<std::string, std::string> found;
  const core::Json report = core::parse_json(result.out, "stdout");
  EXPECT_EQ(report.at("kind"), "compare");
  for (const core::Json& row : report.at("tables").at("checks"))
    found[row.at("cell").get<std::string>() + "/" + row.at("metric").get<std::string>()] = row.at("verdict");
  return found;
}

class Compare : public testing::Test {
 protected:
  Compare() : shell_("compare") {
    for (const char* seeds : {"[1, 2, 3]", "[4, 5, 6]"}) {
      shell_.write("s.json", suite("s", seeds));
      EXPECT_EQ(shell_.run({"run", "s.json", "--quiet"}).exit_code, 0);
    }
  }
  CommandLine shell_;
};

TEST_F(Compare, TwoCellsShowWhatWasPlanted) {
  const ProgramResult result = shell_.run({"compare", "record12", "record13", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto found = verdicts(result);
  EXPECT_EQ(found.at("record12 against record13/loss"), "regressed");
  EXPECT_EQ(found.at("record12 against record13/training clock"), "improved");
  const core::Json report = core::parse_json(result.out, "stdout");
  EXPECT_NEAR(report.at("tables").at("checks").at(0).at("change").get<double>(), 0.1, 0.001);
}

TEST_F(Compare, PlansAndDatabasesAreComparedCellByCell) {
  const auto plans = verdicts(shell_.run({"compare", "plan:1", "plan:2", "--json", "--margin", "loss=0.01"}));
  EXPECT_EQ(plans.size(), 6U);
  EXPECT_EQ(plans.at("record13/loss"), "unchanged") << "other seeds of the same configuration";
  std::filesystem::copy_file(shell_.database(), shell_.work() / "other.db");
  const auto databases = verdicts(shell_.run({"compare", "plan:2", "other.db", "--json"}));
  EXPECT_EQ(databases.at("record12/loss"), "unchanged");
}

TEST_F(Compare, TwoDatabasesNeedNoThird) {
  std::filesystem::copy_file(shell_.database(), shell_.work() / "a.db");
  std::filesystem::rename(shell_.database(), shell_.work() / "b.db");
  const ProgramResult result = shell_.run({"compare", "a.db", "b.db", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(verdicts(result).size(), 6U);
  EXPECT_FALSE(std::filesystem::exists(shell_.database())) << "none is made either";
  shell_.write("broken.db", "SQLite form");
  EXPECT_EQ(shell_.run({"compare", "a.db", "b.db"}, "NANOBENCH_DB=broken.db").exit_code, 0);
  expect_refusals(shell_, {{{"compare", "a.db", "b.db", "--db", "absent.db"}, "absent.db does not exist"},
                           {{"compare", "a.db", "plan:1"}, "results.db does not exist"},
                           {{"compare", "a.db", "broken.db"}, "database broken.db is not an SQLite file"},
                           {{"compare", "a.db", "nowhere.db"}, "database nowhere.db does not exist"},
                           {{"compare", "a.db", "b.db", "--suite", "other"}, "no results of the suite other"}});
}

TEST_F(Compare, EveryFormIsWritten) {
  const std::vector<std::string> asked = {"compare", "record12", "record13"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return shell_.run(more);
  };
  for (const auto& [file, begin] : std::map<std::string, std::string>{
           {"c.html", "<!DOCTYPE html>"}, {"c.md", "# "}, {"c.json", "{"}, {"c.csv", "cell,"}}) {
    const ProgramResult result = with({"--out", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "") << file;
    EXPECT_TRUE(read_text(shell_.work() / file).starts_with(begin)) << read_text(shell_.work() / file).substr(0, 80);
  }
  EXPECT_EQ(with({"--format", "md"}).out, read_text(shell_.work() / "c.md"));
  EXPECT_EQ(with({"--json"}).out, read_text(shell_.work() / "c.json"));
  expect_refusals(shell_, {{{"compare", "record12", "record13", "--format", "htm"}, "did you mean \"html\""},
                           {{"compare", "record12", "record13", "--out", "c.txt"}, "add --format"},
                           {{"compare", "record12", "record13", "--out", "none/c.md"}, "none"}});
}

TEST_F(Compare, OneRunProvesNothing) {
  const auto found = verdicts(shell_.run({"compare", "1", "2", "--json"}));
  for (const auto& [check, verdict] : found) EXPECT_EQ(verdict, "inconclusive") << check;
}

TEST_F(Compare, RevisionsAreFoundByTheirBegin) {
  const core::Json exported = core::parse_json(shell_.run({"export", "--format", "json"}).out, "stdout");
  const std::string text = exported.dump();
  const std::size_t at = text.find("\"git_revision\":\"");
  if (at == std::string::npos) GTEST_SKIP() << "built outside a repository";
  const std::string revision = text.substr(at + 16, 8);
  const auto found = verdicts(shell_.run({"compare", revision, revision, "--json"}));
  EXPECT_EQ(found.at("record12/loss"), "unchanged");
  EXPECT_EQ(found.size(), 6U);
}

TEST_F(Compare, BadInputIsOneSentence) {
  shell_.write("t.json", suite("t", "[1]"));
  expect_refusals(shell_, {{{"compare", "record21", "record12"}, "did you mean \"record12\""},
                           {{"compare", "plan:x", "record12"}, "plan:N"},
                           {{"compare", "99", "1"}, "99"},
                           {{"compare", "plan:1", "plan:77"}, "77"},
                           {{"compare", "s.json", "record12"}, "s.json"},
                           {{"compare", "1234567890", "record12"}, "1234567890"}});
}

}  // namespace
}  // namespace nanobench::tools
