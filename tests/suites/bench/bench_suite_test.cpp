#include "suites/bench/bench_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/base/error.h"
#include "results/identity.h"

namespace nanobench::suites {
namespace {

std::vector<std::string> labels_of(const Bench& bench) {
  std::vector<std::string> labels;
  for (const BenchCell& cell : bench.cells) labels.push_back(cell.label);
  return labels;
}

BenchRequest request_of(const std::vector<std::string>& commands) {
  BenchRequest request;
  for (const std::string& text : commands) request.commands.push_back({.text = text, .words = {}, .name = ""});
  return request;
}

TEST(BenchSuite, CellsAreCommandsTimesParameters) {
  BenchRequest request = request_of({"./a {n}", "./b {n}"});
  request.parameters = {read_bench_parameter("n=1,2")};
  const Bench bench = make_bench(request);
  EXPECT_EQ(labels_of(bench), (std::vector<std::string>{"./a 1", "./a 2", "./b 1", "./b 2"}));
  EXPECT_EQ(bench.cells[3].command.words, (std::vector<std::string>{"./b", "2"}));
  EXPECT_EQ(bench.reference, 0U);
}

TEST(BenchSuite, AValueStaysOneWord) {
  BenchRequest request = request_of({"./a '{n}' {n}{n}"});
  request.parameters = {read_bench_parameter("n=x y,'")};
  const Bench bench = make_bench(request);
  EXPECT_EQ(bench.cells[0].command.words, (std::vector<std::string>{"./a", "x y", "x yx y"}));
  EXPECT_EQ(bench.cells[1].command.words, (std::vector<std::string>{"./a", "'", "''"}));
}

TEST(BenchSuite, LabelsAreUnique) {
  BenchRequest request = request_of({"./a", "./a", "./b"});
  request.prepare = {"echo {n}"};
  request.parameters = {read_bench_parameter("n=1,2")};
  request.commands[2].name = "B{n}";
  EXPECT_EQ(labels_of(make_bench(request)),
            (std::vector<std::string>{"./a (n=1)", "./a (n=2)", "./a (n=1) #2", "./a (n=2) #2", "B1", "B2"}));
}

TEST(BenchSuite, HooksAreForAllOrForEach) {
  BenchRequest request = request_of({"./a", "./b"});
  request.prepare = {"p"};
  request.conclude = {"c", "d"};
  const Bench bench = make_bench(request);
  EXPECT_EQ(bench.cells[1].prepare->words, std::vector<std::string>{"p"});
  EXPECT_EQ(bench.cells[0].conclude->words, std::vector<std::string>{"c"});
  EXPECT_EQ(bench.cells[1].conclude->words, std::vector<std::string>{"d"});
  EXPECT_FALSE(bench.cells[0].setup);
  request.cleanup = {"1", "2", "3"};
  EXPECT_THROW(make_bench(request), core::Error);
}

TEST(BenchSuite, AShellGetsTheTextAsItIs) {
  BenchRequest request = request_of({"echo {n} | cat"});
  request.parameters = {read_bench_parameter("n=1")};
  EXPECT_THROW(make_bench(request), core::Error);
  request.uses_shell = true;
  EXPECT_EQ(make_bench(request).cells[0].command.words, (std::vector<std::string>{"sh", "-c", "echo 1 | cat"}));
}

TEST(BenchSuite, ReferenceByNumberAndByName) {
  BenchRequest request = request_of({"./a", "./b"});
  request.commands[1].name = "new";
  for (const char* reference : {"2", "new"}) {
    request.reference = reference;
    EXPECT_EQ(make_bench(request).reference, 1U);
  }
  request.reference = "3";
  EXPECT_THROW(make_bench(request), core::Error);
}

TEST(BenchSuite, RefusesWhatCannotBe) {
  EXPECT_THROW(make_bench({}), core::Error);
  const auto refused = [](const std::function<void(BenchRequest&)>& change) {
    BenchRequest request = request_of({"./a"});
    make_bench(request);
    change(request);
    EXPECT_THROW(make_bench(request), core::Error);
  };
  refused([](BenchRequest& request) { request.runs = 0; });
  refused([](BenchRequest& request) { request.runs = 10001; });
  refused([](BenchRequest& request) { request.warmup = -1; });
  refused([](BenchRequest& request) { request.min_runs = 2000; });
  refused([](BenchRequest& request) {
    request.commands[0].text = "./a {n}";
    request.parameters = {read_bench_parameter("n=1:101")};
    request.runs = 10000;
  });
  refused([](BenchRequest& request) { request.margin = 0.0; });
  refused([](BenchRequest& request) { request.margin = std::nan(""); });
  refused([](BenchRequest& request) { request.turn = std::chrono::milliseconds(100); });  // with whom?
  refused([](BenchRequest& request) {
    request.commands[0].text = "./a {n}";
    request.parameters = {read_bench_parameter("n=1:65")};
    request.turn = std::chrono::milliseconds(100);
  });
  refused([](BenchRequest& request) { request.parameters = {read_bench_parameter("n=1")}; });
  refused([](BenchRequest& request) { request.commands[0].text = ""; });
}

TEST(BenchSuite, EveryRoundHasEveryCellInAnOrderOfTheSeed) {
  const auto order = bench_order(5, 40, 7);
  ASSERT_EQ(order.size(), 40U);
  std::set<std::vector<std::size_t>> distinct;
  for (const std::vector<std::size_t>& round : order) {
    EXPECT_EQ(std::set<std::size_t>(round.begin(), round.end()).size(), 5U);
    distinct.insert(round);
  }
  EXPECT_GT(distinct.size(), 20U) << "it is drawn anew each round";
  EXPECT_EQ(bench_order(5, 40, 7), order);
  EXPECT_NE(bench_order(5, 40, 8), order);
  const auto fewer = bench_order(5, 3, 7);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), order.begin())) << "more rounds change no earlier one";
}

TEST(BenchSuite, RoundsFitTheBudget) {
  BenchRequest request;
  EXPECT_EQ(rounds_within_budget(request, 1, 0.1), 30);
  EXPECT_EQ(rounds_within_budget(request, 2, 0.2), 30) << "the budget is for each command";
  EXPECT_EQ(rounds_within_budget(request, 1, 60.0), 10);
  EXPECT_EQ(rounds_within_budget(request, 1, 0.0), 1000);
  request.runs = 4;
  EXPECT_EQ(rounds_within_budget(request, 1, 0.1), 4);
}

TEST(BenchSuite, ThePlanHasALineForEachRunAndAContrastForEachOther) {
  BenchRequest request = request_of({"./a", "./b", "./c"});
  request.reference = "2";
  const Bench bench = make_bench(request);
  const results::NewPlan plan = bench_plan(bench, 4, "now", {"nanobench", "bench"});
  ASSERT_EQ(plan.lines.size(), 12U);
  std::set<std::string> digests;
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    EXPECT_EQ(plan.lines[i].seed, i / 3 + 1);
    EXPECT_EQ(plan.lines[i].position, static_cast<std::int64_t>(i));
    digests.insert(plan.lines[i].digest);
  }
  EXPECT_EQ(digests.size(), 12U);
  ASSERT_EQ(plan.contrasts.size(), 2U);
  EXPECT_EQ(plan.contrasts[0].coefficients, (std::map<std::string, double>{{"./a", 1.0}, {"./b", -1.0}}));
  EXPECT_EQ(plan.digest, results::plan_digest(plan));
  EXPECT_NE(bench_plan(bench, 4, "later", {}).digest, plan.digest) << "nothing is reused";
}

TEST(BenchSuite, TheConfigurationIsWhatRuns) {
  BenchRequest request = request_of({"./a"});
  const std::string digest = make_bench(request).cells[0].config_digest;
  request.margin = 0.05;
  request.warmup = 3;
  request.commands[0].name = "other";
  EXPECT_EQ(make_bench(request).cells[0].config_digest, digest);
  request.commands.push_back({.text = "./b", .words = {}, .name = ""});
  EXPECT_EQ(make_bench(request).cells[0].config_digest, digest);
  request.turn = std::chrono::milliseconds(100);
  EXPECT_NE(make_bench(request).cells[0].config_digest, digest) << "a pause leaves its mark on a time";
  request.turn.reset();
  request.input = "file";
  EXPECT_NE(make_bench(request).cells[0].config_digest, digest);
}

}  // namespace
}  // namespace nanobench::suites
