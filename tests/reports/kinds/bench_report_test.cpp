// The report of `bench` from runs with known times.
#include <gtest/gtest.h>

#include <cmath>

#include "reports/kinds/kinds.h"
#include "results/metric.h"
#include "suites/bench/bench_suite.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

using results::Store;

/// Wall milliseconds of one command, by round; 0: the run failed.
using Times = std::vector<double>;

class BenchReport : public results::StoreTest {
 protected:
  Document report_of(const std::vector<Times>& commands, double margin = 0.01,
                     std::optional<std::size_t> planned = {}) {
    suites::BenchRequest request;
    request.margin = margin;
    for (std::size_t i = 0; i < commands.size(); ++i)
      request.commands.push_back({.text = "./" + std::string(1, static_cast<char>('a' + i)), .words = {}, .name = ""});
    const suites::Bench bench = suites::make_bench(request);
    Store store(file());
    const std::size_t rounds = planned.value_or(commands.front().size());
    const results::NewPlan plan = suites::bench_plan(bench, rounds, "n", {"nanobench", "bench", "./a", "./b"});
    const std::int64_t id = store.ensure_plan(plan, true);
    for (const results::PlanLine& line : plan.lines) {
      const auto cell = static_cast<std::size_t>(line.cell.back() - 'a');
      if (line.seed > commands[cell].size()) continue;
      const double ms = commands[cell][line.seed - 1];
      const std::int64_t run =
          store.add_finished_runs({finished(bench.cells[cell], line, ms)}, results::this_process()).front().run_id;
      store.answer_line(id, line.position, run);
    }
    return bench_report(store, store.plan(id), /*has_runs=*/true);
  }

  static const Table& table_of(const Document& document, const std::string& id) {
    for (const Section& section : document.sections) {
      for (const Table& table : section.tables) {
        if (table.id == id) return table;
      }
    }
    throw std::runtime_error("no table " + id);
  }

  static const TableCell& cell_at(const Table& table, std::size_t row, const std::string& key) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].key == key) return table.rows.at(row).at(i);
    }
    throw std::runtime_error("no column " + key);
  }

  static std::string word_of(const Document& document, std::size_t row = 0) {
    return cell_at(table_of(document, "contrasts"), row, "verdict").value.at("word").get<std::string>();
  }

 private:
  results::FinishedRun finished(const suites::BenchCell& cell, const results::PlanLine& line, double ms) {
    results::FinishedRun run{.run = new_run(line.digest, line.cell, line.seed), .result = {}, .batch = {}};
    run.run.record.reset();
    run.run.config = cell.config;
    run.run.config_digest = cell.config_digest;
    if (ms <= 0.0) {
      run.result.message = "exit code 3";
      return run;
    }
    run.result = {.outcome = core::RunOutcome::kCompleted,
                  .message = "",
                  .final_val_loss = {},
                  .train_ms = ms,
                  .steps = 1,
                  .timed_steps = 1,
                  .peak_bytes = 1 << 20,
                  .exit_code = 0};
    run.batch.samples[results::kUserMs] = {{1, ms / 2}};
    run.batch.samples[results::kSystemMs] = {{1, ms / 4}};
    return run;
  }
};

TEST_F(BenchReport, TimesOfEachCommand) {
  const Document document = report_of({{10, 12, 14}, {20, 24, 28}});
  const Table& table = table_of(document, "commands");
  EXPECT_DOUBLE_EQ(cell_at(table, 0, "wall_ms").value.at("mean").get<double>(), 12.0);
  EXPECT_DOUBLE_EQ(cell_at(table, 0, "wall_ms").value.at("sd").get<double>(), 2.0);
  EXPECT_EQ(cell_at(table, 1, "range_ms").value.at("min"), 20.0);
  EXPECT_EQ(cell_at(table, 1, "range_ms").value.at("median"), 24.0);
  EXPECT_EQ(cell_at(table, 1, "range_ms").value.at("max"), 28.0);
  EXPECT_DOUBLE_EQ(cell_at(table, 0, "user_ms").value.at("mean").get<double>(), 6.0);
  EXPECT_DOUBLE_EQ(cell_at(table, 0, "system_ms").value.at("mean").get<double>(), 3.0);
  EXPECT_EQ(table_of(document, "runs").rows.size(), 6U);
}

TEST_F(BenchReport, TheRatioIsPairedOverRounds) {
  // The machine is slow in round 2, for both: the ratio is 2 in each round but for a little noise.
  const Document document = report_of({{10, 100, 10, 10}, {20.1, 199, 20, 19.9}});
  const core::OrderedJson ratio = cell_at(table_of(document, "contrasts"), 0, "time_ratio").value;
  EXPECT_NEAR(ratio.at("value").get<double>(), 2.0, 0.01);
  EXPECT_GT(ratio.at("low").get<double>(), 1.9);
  EXPECT_LT(ratio.at("high").get<double>(), 2.1);
  EXPECT_EQ(word_of(document), "slower");
}

TEST_F(BenchReport, EveryVerdict) {
  const Times base = {10, 10.1, 9.9, 10, 10.05, 9.95};
  EXPECT_EQ(word_of(report_of({base, {5, 5.1, 4.9, 5, 5.05, 4.95}})), "faster");
}

TEST_F(BenchReport, TheSameWithinTheMargin) {
  const Times base = {10, 10.1, 9.9, 10, 10.05, 9.95};
  EXPECT_EQ(word_of(report_of({base, {10.02, 10.09, 9.92, 9.98, 10.06, 9.93}}, 0.05)), "same");
}

TEST_F(BenchReport, NoiseIsOpen) {
  EXPECT_EQ(word_of(report_of({{10, 14, 9, 12}, {12, 11, 13, 9}})), "open");
}

TEST_F(BenchReport, FewRoundsAreOpen) {
  const Document document = report_of({{10, 10.1}, {20, 20.1}});
  EXPECT_EQ(word_of(document), "open");
}

TEST_F(BenchReport, HolmCoversAllCommands) {
  const Times base = {10, 10.1, 9.9, 10, 10.05, 9.95}, near = {10.3, 10.1, 10.3, 10.1, 10.4, 10.15};
  const Document alone = report_of({base, near}, 0.001);
  const double p = cell_at(table_of(alone, "contrasts"), 0, "verdict").value.at("p").get<double>();
  std::filesystem::remove(file());
  const Document several = report_of({base, near, near, near}, 0.001);  // twins count once in the spread
  EXPECT_NEAR(cell_at(table_of(several, "contrasts"), 0, "verdict").value.at("p").get<double>(), 3.0 * p, 1e-9);
}

TEST_F(BenchReport, FailuresAndMissingRunsAreWarnings) {
  const Document document = report_of({{10, 11, 12}, {0, 0}}, 0.01, 5);
  EXPECT_EQ(cell_at(table_of(document, "commands"), 1, "n").value.at("failed"), 2);
  EXPECT_EQ(cell_at(table_of(document, "commands"), 0, "n").value.at("planned"), 5);
  EXPECT_EQ(word_of(document), "no result");
  EXPECT_EQ(document.warnings.size(), 2U);
}

TEST_F(BenchReport, AColdFirstRunAndOutliersWarn) {
  EXPECT_EQ(report_of({{10, 10.1, 9.9, 10, 10.2, 9.8}}).warnings.size(), 0U);
  std::filesystem::remove(file());
  const Document cold = report_of({{30, 10.1, 9.9, 10, 10.2, 9.8}});
  ASSERT_EQ(cold.warnings.size(), 1U);
  EXPECT_NE(cold.warnings.front().find("--warmup"), std::string::npos);
  std::filesystem::remove(file());
  const Document later = report_of({{10, 10.1, 30, 10, 10.2, 9.8}});
  ASSERT_EQ(later.warnings.size(), 1U);
  EXPECT_EQ(later.warnings.front().find("--warmup"), std::string::npos);
}

TEST_F(BenchReport, ShortTimesWarn) {
  EXPECT_EQ(report_of({{2, 2.1, 1.9, 2}}).warnings.size(), 1U);
}

TEST_F(BenchReport, OneCommandHasNoContrast) {
  const Document document = report_of({{1500, 1600, 1550}});
  for (const Section& section : document.sections) {
    for (const Table& table : section.tables) EXPECT_NE(table.id, "contrasts");
  }
  EXPECT_NE(document.headline.find("1.550 s"), std::string::npos) << document.headline;
}

/// The measurement that is offered; "" if only the page is.
std::string next_of(const Document& document) {
  return document.next.size() < 2 ? "" : document.next.front().command;
}

TEST_F(BenchReport, WhatIsOpenNamesTheNextMeasurement) {
  const Document few = report_of({{10, 10.4}, {10.5, 10.7}});
  EXPECT_NE(next_of(few).find("bench --runs 10 ./a ./b"), std::string::npos) << next_of(few);
  std::filesystem::remove(file());
  const Document noisy = report_of({{10, 10.4, 9.9, 10.2}, {10.1, 10.2, 10.2, 10.1}});
  ASSERT_EQ(word_of(noisy), "open");
  EXPECT_NE(next_of(noisy).find("bench --runs "), std::string::npos) << next_of(noisy);
  std::filesystem::remove(file());
  const Document decided = report_of({{10, 10.1, 9.9}, {20, 20.1, 19.9}});
  EXPECT_EQ(next_of(decided), "");
}

TEST_F(BenchReport, TheRoundsThatItNamesGrowWithTheNoise) {
  const auto rounds = [&](double noise) {
    std::filesystem::remove(file());
    const Document document = report_of({{10, 10, 10, 10}, {10 + noise, 10 - noise, 10 - noise, 10 + noise}}, 0.02);
    return cell_at(table_of(document, "contrasts"), 0, "decides").text;
  };
  const std::string little = rounds(0.2), more = rounds(0.4);
  EXPECT_NE(little, more);
  EXPECT_NE(little.find("if there is no difference"), std::string::npos) << little;
  EXPECT_NE(rounds(5.0).find("more than 1000"), std::string::npos);
}

}  // namespace
}  // namespace nanobench::reports
