/// What the tests of `nanobench gate` and `nanobench baseline` share: small suites on the mock engine, and checks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "results/check.h"
#include "results/store.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {

/// `mock` replaces the usual settings of the same names: {"effect": 0.01}.
inline std::string gate_suite(const std::string& mock = "{}", const std::string& records = R"(["record12"])",
                              const std::string& name = "g", const std::string& seeds = "[1, 2, 3, 4]") {
  core::Json suite = {{"name", name},
                      {"design", "history"},
                      {"records", core::Json::parse(records)},
                      {"scale", "smoke"},
                      {"seeds", core::Json::parse(seeds)},
                      {"threads", 1},
                      {"engine", {{"mock", {{"steps", 6}, {"loss_sigma", 0.0002}, {"step_cv", 0.001}}}}}};
  suite["engine"]["mock"].merge_patch(core::Json::parse(mock));
  return suite.dump();
}

/// The margins with which the usual settings pass.
inline std::vector<std::string> gate_words(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"gate", "g.json", "--margin", "loss=0.002", "--margin", "time=0.01", "--quiet"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// Candidate g.json against base.json, in turn.
inline ProgramResult gate_in_turn(const CommandLine& shell, const std::string& candidate, const std::string& baseline,
                                  std::vector<std::string> words = {}, const std::string& environment = "") {
  shell.write("g.json", candidate);
  shell.write("base.json", baseline);
  words.insert(words.begin(), {"--baseline-suite", "base.json"});
  return shell.run(gate_words(words), environment);
}

/// Metrics with this verdict, in any cell.
inline std::set<std::string> metrics_with(const core::Json& report, const std::string& verdict) {
  std::set<std::string> metrics;
  for (const core::Json& row : report.at("tables").at("checks")) {
    if (row.at("verdict") == verdict) metrics.insert(row.at("metric").get<std::string>());
  }
  return metrics;
}

inline long count_of(const std::string& text, const std::string& part) {
  long count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// One clear sentence on standard error, nothing on standard output.
inline void expect_usage_error(const ProgramResult& result, const std::string& words) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(count_of(result.err, "\n"), 1) << result.err;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
}

/// Every planned run of all plans completed exactly once; nothing is running.
inline void expect_each_run_once(const CommandLine& shell, std::size_t plans, std::size_t runs) {
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  const auto completed = store.runs({.outcome = core::RunOutcome::kCompleted});
  std::set<std::string> digests;
  for (const results::RunRecord& run : completed) digests.insert(run.digest);
  EXPECT_EQ(completed.size(), runs);
  EXPECT_EQ(digests.size(), runs) << "a run was made twice";
  EXPECT_TRUE(store.runs({.is_running = true}).empty());
  EXPECT_EQ(store.plans().size(), plans);
  for (const auto& summary : store.plans()) {
    for (const results::PlanLine& line : store.plan(summary.id).lines) {
      ASSERT_TRUE(line.run_id.has_value()) << line.cell << " seed " << line.seed;
      EXPECT_TRUE(store.run(*line.run_id).is_completed());
    }
  }
  EXPECT_TRUE(results::check_store(shell.database()).is_fine());
}

}  // namespace nanobench::tools
