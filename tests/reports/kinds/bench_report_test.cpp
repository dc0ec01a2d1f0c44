// The report of `bench` from runs with known times.
#include <gtest/gtest.h>

#include <cmath>

#include "reports/kinds/bench_words.h"
#include "reports/kinds/kinds.h"
#include "results/metric.h"
#include "suites/bench/bench_suite.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

using results::Store;
using Warning = BenchWarning::Kind;
using Remedy = BenchRemedy::Kind;

/// Wall milliseconds of one command, by round; 0: the run failed.
using Times = std::vector<double>;

class BenchReport : public results::StoreTest {
 protected:
  /// With what it was made from.
  struct Report {
    Document document;
    std::vector<BenchWarning> warnings;
    std::vector<BenchRemedy> remedies;  ///< in the order of the effects
  };

  /// In a store of its own.
  Report whole_report_of(const std::vector<Times>& commands, double margin = 0.01,
                         std::optional<std::size_t> planned = {}) {
    std::filesystem::remove(file());
    Report report{.document = report_of(commands, margin, planned)};
    const Store store(file());
    const results::PlanRecord plan = store.plans().front();
    const BenchData data = bench_data(store, plan);
    report.warnings = bench_warnings(store, data);
    for (const EffectResult& effect : data.effects) report.remedies.push_back(remedy_of(data, effect));
    return report;
  }

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
  const Report report = whole_report_of({{10, 11, 12}, {0, 0}}, 0.01, 5);
  const Document& document = report.document;
  EXPECT_EQ(cell_at(table_of(document, "commands"), 1, "n").value.at("failed"), 2);
  EXPECT_EQ(cell_at(table_of(document, "commands"), 0, "n").value.at("planned"), 5);
  EXPECT_EQ(word_of(document), "no result");
  EXPECT_EQ(report.warnings, (std::vector<BenchWarning>{
                                 {.kind = Warning::kFailed, .commands = {"./b"}, .count = 2, .reason = "exit code 3"},
                                 {.kind = Warning::kUnfinished, .count = 5}}));
  EXPECT_EQ(document.warnings, (std::vector<std::string>{text_of(report.warnings[0]), text_of(report.warnings[1])}));
  EXPECT_EQ(report.remedies, (std::vector<BenchRemedy>{{.kind = Remedy::kMissing, .commands = {"./b"}}}));
}

TEST_F(BenchReport, AColdFirstRunAndOutliersWarn) {
  EXPECT_TRUE(whole_report_of({{10, 10.1, 9.9, 10, 10.2, 9.8}}).document.warnings.empty());
  const Report cold = whole_report_of({{30, 10.1, 9.9, 10, 10.2, 9.8}});
  EXPECT_EQ(cold.warnings, (std::vector<BenchWarning>{{.kind = Warning::kColdStart, .commands = {"./a"}}}));
  EXPECT_EQ(cold.document.warnings, std::vector<std::string>{text_of(cold.warnings[0])});
  const Report later = whole_report_of({{10, 10.1, 30, 10, 10.2, 9.8}});
  EXPECT_EQ(later.warnings,
            (std::vector<BenchWarning>{{.kind = Warning::kOutliers, .commands = {"./a"}, .counts = {1}}}));
}

TEST_F(BenchReport, ShortTimesWarn) {
  EXPECT_EQ(whole_report_of({{2, 2.1, 1.9, 2}}).warnings,
            (std::vector<BenchWarning>{{.kind = Warning::kBrief, .commands = {"./a"}}}));
}

TEST_F(BenchReport, OneCommandHasNoContrast) {
  const Document document = report_of({{1500, 1600, 1550}});
  for (const Section& section : document.sections) {
    for (const Table& table : section.tables) EXPECT_NE(table.id, "contrasts");
  }
  EXPECT_DOUBLE_EQ(cell_at(table_of(document, "commands"), 0, "wall_ms").value.at("mean").get<double>(), 1550.0);
  EXPECT_NE(document.headline.find("1.550 s"), std::string::npos) << "from a second on, in seconds";
}

/// The measurement that is offered; "" if only the page is.
std::string next_of(const Document& document) {
  return document.next.size() < 2 ? "" : document.next.front().command;
}

TEST_F(BenchReport, WhatIsOpenNamesTheNextMeasurement) {
  const Document few = report_of({{10, 10.4}, {10.5, 10.7}});
  EXPECT_EQ(next_of(few), "bench --runs 10 ./a ./b");
  std::filesystem::remove(file());
  const Document noisy = report_of({{10, 10.4, 9.9, 10.2}, {10.1, 10.2, 10.2, 10.1}});
  ASSERT_EQ(word_of(noisy), "open");
  EXPECT_NE(next_of(noisy).find("bench --runs "), std::string::npos) << next_of(noisy);
  std::filesystem::remove(file());
  const Document decided = report_of({{10, 10.1, 9.9}, {20, 20.1, 19.9}});
  EXPECT_EQ(next_of(decided), "");
}

TEST_F(BenchReport, TheRoundsThatItNamesGrowWithTheNoise) {
  const auto remedy = [&](double noise) {
    const Report report = whole_report_of({{10, 10, 10, 10}, {10 + noise, 10 - noise, 10 - noise, 10 + noise}}, 0.02);
    EXPECT_EQ(cell_at(table_of(report.document, "contrasts"), 0, "decides").text, text_of(report.remedies.at(0)));
    return report.remedies.at(0);
  };
  const BenchRemedy little = remedy(0.2), more = remedy(0.4);
  EXPECT_EQ(little.kind, Remedy::kEqualRounds) << "if there is no difference";
  EXPECT_EQ(more.kind, Remedy::kEqualRounds);
  EXPECT_GT(little.rounds, 4) << "those that were made do not suffice";
  EXPECT_GT(more.rounds, little.rounds);
  EXPECT_EQ(remedy(5.0), (BenchRemedy{.kind = Remedy::kQuietMachine, .rounds = 1000}));
}

}  // namespace
}  // namespace nanobench::reports
