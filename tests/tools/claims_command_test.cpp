// `nanobench claims`: the ledger without and with a database, and what it refuses. The numbers are tested in
// tests/reports/claims.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

core::Json json_of_success(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json_of(result);
}

std::vector<core::Json> rows_of(const core::Json& document) {
  const core::Json& table = document.at("tables").at("claims");
  return {table.begin(), table.end()};
}

TEST(ClaimsCommand, WithoutADatabaseWhatNeedsNoRunIsSettled) {
  const CommandLine shell("claims_all");
  const core::Json json = json_of_success(shell.run({"claims", "--json"}));
  EXPECT_EQ(json.at("kind"), "claims_ledger");
  const std::vector<core::Json> rows = rows_of(json);
  EXPECT_GE(rows.size(), 175U);
  std::map<std::string, int> verdicts;
  for (const core::Json& row : rows) ++verdicts[row.at("verdict").get<std::string>()];
  EXPECT_GT(verdicts["supported"], 30);
  EXPECT_GT(verdicts["contradicted"], 30);
  EXPECT_GT(verdicts["not measured"], 30);
  for (const core::Json& row : rows) {
    const std::string verdict = row.at("verdict").get<std::string>();
    const bool is_measured = verdict == "supported" || verdict == "contradicted" || verdict == "inconclusive";
    EXPECT_EQ(row.at("measured").is_null(), !is_measured) << row.dump();
    EXPECT_EQ(row.at("remark").at("reason").is_null(), verdict == "supported" || verdict == "contradicted")
        << row.dump();
  }
}

TEST(ClaimsCommand, ClaimsAreChosenByNameAnalysisAndVerdict) {
  const CommandLine shell("claims_chosen");
  const auto ids = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "claims");
    arguments.emplace_back("--json");
    std::set<std::string> found;
    for (const core::Json& row : rows_of(json_of_success(shell.run(arguments))))
      found.insert(row.at("claim").get<std::string>());
    return found;
  };
  EXPECT_EQ(ids({"seed003_value_parameters_halved"}), (std::set<std::string>{"seed003_value_parameters_halved"}));
  for (const std::string& id : ids({"--analysis", "003", "--verdict", "contradicted"}))
    EXPECT_EQ(id.rfind("seed003_", 0), 0U) << id;
  EXPECT_FALSE(ids({"--analysis", "003", "--verdict", "contradicted"}).empty());
  EXPECT_LT(ids({"--verdict", "supported"}).size(), ids({}).size());
}

TEST(ClaimsCommand, WritesPagesMarkdownAndCsv) {
  const CommandLine shell("claims_files");
  for (const char* name : {"c.html", "c.md", "c.csv"}) {
    const std::filesystem::path file = shell.work() / name;
    const ProgramResult result = shell.run({"claims", "--analysis", "003", "--out", file.string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(read_text(file).find("The embeddings for values have half"), std::string::npos) << name;
  }
}

TEST(ClaimsCommand, RefusesWhatIsNotThere) {
  const CommandLine shell("claims_refused");
  const ProgramResult claim = shell.run({"claims", "seed003_value_parameter_halved"});
  EXPECT_EQ(claim.exit_code, 2);
  EXPECT_NE(claim.err.find("seed003_value_parameters_halved"), std::string::npos) << claim.err;
  const ProgramResult analysis = shell.run({"claims", "--analysis", "007"});
  EXPECT_EQ(analysis.exit_code, 2);
  EXPECT_NE(analysis.err.find("000 to 004"), std::string::npos) << analysis.err;
  const ProgramResult verdict = shell.run({"claims", "--verdict", "true"});
  EXPECT_EQ(verdict.exit_code, 2);
  EXPECT_NE(verdict.err.find("not_measured"), std::string::npos) << verdict.err;
  const ProgramResult scale = shell.run({"claims", "--scale", "nanoo"});
  EXPECT_EQ(scale.exit_code, 2);
  EXPECT_NE(scale.err.find("\"nano\""), std::string::npos) << scale.err;
}

}  // namespace
}  // namespace nanobench::tools
