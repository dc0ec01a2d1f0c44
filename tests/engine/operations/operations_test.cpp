#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "engine/operations/measured_operation.h"
#include "engine/operations/operation_cost.h"
#include "engine/operations/operation_run.h"

namespace nanobench::core {
namespace {

class Collected : public MetricSink {
 public:
  void report(const RunEvent& event) override {
    if (const auto* counter = std::get_if<CounterEvent>(&event)) values[counter->name].push_back(counter->value);
    if (std::holds_alternative<HelloEvent>(event)) has_hello = true;
    if (std::holds_alternative<FinishedEvent>(event)) has_finished = true;
  }
  std::map<std::string, std::vector<double>> values;
  bool has_hello = false;
  bool has_finished = false;
};

OperationArm arm(const std::string& name, std::map<std::string, std::int64_t> shapes, const TrainConfig& config = {}) {
  OperationArm made;
  made.name = name;
  made.shapes = std::move(shapes);
  made.config = config;
  return made;
}

Collected run(const std::string& op, const std::string& metric, std::vector<OperationArm> arms) {
  RunSpec spec;
  spec.threads = 2;
  spec.operation.emplace();
  spec.operation->op = op;
  spec.operation->metric = metric;
  spec.operation->arms = std::move(arms);
  Collected sink;
  const std::atomic<bool> stop = false;
  EXPECT_EQ(run_operation(spec, sink, stop), RunOutcome::kCompleted);
  EXPECT_TRUE(sink.has_hello && sink.has_finished);
  return sink;
}

const std::map<std::string, std::int64_t> kAttention = {
    {"T", 512}, {"H", 2}, {"D", 64}, {"window_tokens", 128}, {"document_tokens", 100}};

TrainConfig with(AttentionImplementation implementation) {
  TrainConfig config;
  config.attention.implementation = implementation;
  return config;
}

TrainConfig with(Orthogonalizer orthogonalizer) {
  TrainConfig config;
  config.optimizer.hidden_matrices.orthogonalizer = orthogonalizer;
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kCompute;
  return config;
}

double only(const Collected& sink, const std::string& counter) {
  const auto found = sink.values.find(counter);
  if (found == sink.values.end() || found->second.size() != 1) {
    ADD_FAILURE() << counter << " is not there once";
    return -1;
  }
  return found->second.front();
}

TEST(Operations, TimesTheArmsInTurn) {
  const Collected sink = run("orthogonalize", "time_ms",
                             {arm("before", {{"rows", 32}, {"columns", 64}}, with(Orthogonalizer::kSvd)),
                              arm("after", {{"rows", 32}, {"columns", 64}}, with(Orthogonalizer::kNewtonSchulz))});
  ASSERT_EQ(sink.values.size(), 2U);
  const std::vector<double>& before = sink.values.at("operation/before/time_ms");
  EXPECT_EQ(before.size(), sink.values.at("operation/after/time_ms").size());
  EXPECT_GE(before.size(), 3U);
  EXPECT_GT(*std::min_element(before.begin(), before.end()), 0.0);
}

TEST(Operations, EveryOneRunsAndIsCloseToFloat64) {
  const std::map<std::string, std::map<std::string, std::int64_t>> shapes = {
      {"attention", kAttention},
      {"matrix_product", {{"rows", 64}, {"columns", 48}}},
      {"muon_step", {{"rows", 32}, {"columns", 64}}},
      {"orthogonalize", {{"rows", 64}, {"columns", 32}}},
      {"softcapped_cross_entropy", {{"T", 64}, {"C", 32}, {"V", 97}}}};
  for (const std::string& op : operation_names()) {
    ASSERT_TRUE(shapes.contains(op)) << op << " is not tested";
    TrainConfig config = with(Orthogonalizer::kNewtonSchulz);
    const double error = only(run(op, "error", {arm("after", shapes.at(op), config)}), "operation/after/error");
    EXPECT_GT(error, 0.0) << op;
    EXPECT_LT(error, 1e-4) << op;
    EXPECT_TRUE(make_operation(op, arm("after", shapes.at(op), config), 1).call) << op;
    make_operation(op, arm("after", shapes.at(op), config), 1).call();
  }
}

TEST(Operations, SvdIsThePolarFactorAndNewtonSchulzNearIt) {
  const std::map<std::string, std::int64_t> shape = {{"rows", 48}, {"columns", 96}};
  const Collected sink =
      run("orthogonalize", "distance_to_polar",
          {arm("before", shape, with(Orthogonalizer::kSvd)), arm("after", shape, with(Orthogonalizer::kNewtonSchulz))});
  EXPECT_LT(only(sink, "operation/before/distance_to_polar"), 1e-5);
  EXPECT_GT(only(sink, "operation/after/distance_to_polar"), 0.05);
  EXPECT_LT(only(sink, "operation/after/distance_to_polar"), 0.4);
}

TEST(Operations, DenseAttentionHoldsAllPairs) {
  const auto bytes = [](AttentionImplementation implementation, std::int64_t length) {
    std::map<std::string, std::int64_t> shape = kAttention;
    shape["T"] = length;
    return only(run("attention", "bytes", {arm("after", shape, with(implementation))}), "operation/after/bytes");
  };
  const double pairs = 2.0 * 1024 * 1024 * sizeof(float);  // of two heads
  EXPECT_GE(bytes(AttentionImplementation::kDense, 1024), pairs);
  EXPECT_LT(bytes(AttentionImplementation::kTiled, 1024), pairs);
}

TEST(Operations, KeyValueHeadsAreGroupedAsConfigured) {
  TrainConfig config;
  config.model.num_kv_heads = 3;
  EXPECT_EQ(make_operation("attention", arm("a", {{"T", 128}, {"H", 6}, {"D", 32}}, config), 1).call()[2].size(1), 3);
  EXPECT_THROW(make_operation("attention", arm("a", {{"T", 128}, {"H", 3}, {"D", 32}}, config), 1), Error);
}

TEST(Operations, RefuseWhatTheyDoNotHave) {
  RunSpec spec;
  spec.operation.emplace();
  spec.operation->op = "attention";
  spec.operation->metric = "distance_to_polar";
  spec.operation->arms = {arm("after", kAttention)};
  Collected sink;
  const std::atomic<bool> stop = false;
  EXPECT_THROW(run_operation(spec, sink, stop), Error);
  spec.operation->metric = "time_ms";
  spec.operation->arms = {arm("after", {{"T", 512}})};
  EXPECT_THROW(run_operation(spec, sink, stop), Error);
  spec.operation->op = "muon_step";
  spec.operation->metric = "gflops";
  spec.operation->arms = {arm("after", {{"rows", 8}, {"columns", 8}})};
  EXPECT_THROW(run_operation(spec, sink, stop), Error);
}

TEST(Operations, StoppedOnesSayThatTheyWereInterrupted) {
  RunSpec spec;
  spec.operation.emplace();
  spec.operation->op = "matrix_product";
  spec.operation->metric = "time_ms";
  spec.operation->arms = {arm("after", {{"rows", 8}, {"columns", 8}})};
  Collected sink;
  const std::atomic<bool> stop = true;
  EXPECT_EQ(run_operation(spec, sink, stop), RunOutcome::kInterrupted);
  EXPECT_FALSE(sink.has_finished);
}

TEST(AllocationMeter, CountsTheMostThatWasHeldAtOnce) {
  const at::Tensor before = at::zeros({1000});
  const AllocationMeter meter;
  { const at::Tensor first = at::zeros({250}); }
  { const at::Tensor second = at::zeros({500}); }
  EXPECT_EQ(meter.peak_bytes(), 500 * 4);
}

TEST(ValgrindCount, ReadsTheTotals) {
  const std::string log =
      "==7== Callgrind, a call-graph generating cache profiler\n"
      "==7== \n"
      "==7== Events    : Ir Dr Dw I1mr D1mr D1mw\n"
      "==7== Collected : 1000 20 30 4 5 6\n"
      "==7== I   refs:      1,000\n";
  const std::map<std::string, double> totals = callgrind_totals(log);
  ASSERT_EQ(totals.size(), 6U);
  EXPECT_EQ(totals.at("Ir"), 1000);
  EXPECT_EQ(totals.at("D1mr") + totals.at("D1mw"), 11);
  EXPECT_TRUE(callgrind_totals("valgrind: command not found\n").empty());
  EXPECT_TRUE(callgrind_totals("==7== Collected : 5\n").empty());
}

}  // namespace
}  // namespace nanobench::core
