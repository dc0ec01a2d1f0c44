#include "core/base/step_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// One step of 10 ms: forward 6 (attention 4, of which a product 1; linear 1), optimizer 3 (adam 3), 1 outside.
std::vector<Span> one_step() {
  using enum SpanKind;
  return {
      {"mm", "forward", kOp, 0, 2 * kMs, 3 * kMs, 1 * kMs, 8e6, 100},
      {"attention", "forward", kOp, 0, 1 * kMs, 5 * kMs, 3 * kMs, 6e6, 50},
      {"linear", "forward", kOp, 0, 5 * kMs, 6 * kMs, 1 * kMs, 2e6, 10},
      {"forward", "forward", kPhase, 0, 0, 6 * kMs, 1 * kMs, 0, 0},
      {"adam", "optimizer", kOp, 0, 6 * kMs, 9 * kMs, 3 * kMs, 0, 7},
      {"elsewhere", "optimizer", kOp, 1, 6 * kMs, 9 * kMs, 3 * kMs, 1e9, 7},
      {"optimizer", "optimizer", kPhase, 0, 6 * kMs, 9 * kMs, 0, 0, 0},
      {"step", "", kStep, 0, 0, 10 * kMs, 1 * kMs, 0, 0},
  };
}

TEST(StepProfile, SumsByPhaseAndOp) {
  std::vector<Span> spans = one_step();
  for (Span span : one_step()) {  // a second step, later
    span.start_ns += 20 * kMs;
    span.end_ns += 20 * kMs;
    spans.push_back(span);
  }
  const StepProfile profile = summarize_spans(spans, 0);
  EXPECT_EQ(profile.steps, 2);
  EXPECT_DOUBLE_EQ(profile.steps_ms, 20);
  EXPECT_DOUBLE_EQ(profile.other_ms, 2);
  EXPECT_DOUBLE_EQ(profile.unaccounted_ms(), 4);
  EXPECT_DOUBLE_EQ(profile.flops(), 2 * 16e6) << "another thread's work is not in the rows";
  ASSERT_EQ(profile.phases.size(), 2U);
  EXPECT_EQ(profile.phases[0].phase, "forward");
  EXPECT_DOUBLE_EQ(profile.phases[0].total_ms, 12);
  EXPECT_DOUBLE_EQ(profile.phases[0].self_ms, 2);
  EXPECT_DOUBLE_EQ(profile.phases[0].flops, 32e6);
  ASSERT_EQ(profile.ops.size(), 4U);
  const auto attention =
      std::find_if(profile.ops.begin(), profile.ops.end(), [](const OpProfile& op) { return op.op == "attention"; });
  ASSERT_NE(attention, profile.ops.end());
  EXPECT_EQ(attention->calls, 2);
  EXPECT_DOUBLE_EQ(attention->total_ms, 8);
  EXPECT_DOUBLE_EQ(attention->self_ms, 6);
  EXPECT_DOUBLE_EQ(attention->bytes, 100);
  for (std::size_t i = 1; i < profile.ops.size(); ++i) EXPECT_GE(profile.ops[i - 1].self_ms, profile.ops[i].self_ms);
}

TEST(StepProfile, SelfTimesAndWhatNoOpTookAreTheWholeStep) {
  const StepProfile profile = summarize_spans(one_step(), 0);
  double ms = profile.unaccounted_ms();
  for (const OpProfile& op : profile.ops) ms += op.self_ms;
  EXPECT_DOUBLE_EQ(ms, profile.steps_ms);
}

TEST(StepProfile, JsonHasRatesAndSharesAndReadsBack) {
  StepProfile profile = summarize_spans(one_step(), 0);
  profile.sgemm_gflops = 123.5;
  const Json json = to_json(profile);
  EXPECT_EQ(json.at("schema_version"), kProfileSchemaVersion);
  EXPECT_DOUBLE_EQ(json.at("gflops").get<double>(), 1.6);
  EXPECT_DOUBLE_EQ(json.at("phases").at(0).at("share").get<double>(), 0.6);
  EXPECT_DOUBLE_EQ(json.at("ops").at(0).at("share").get<double>(), 0.3);
  EXPECT_EQ(to_json(read_step_profile(json, "p.json")), json);
  profile.gpu_gflops = 7e5;
  EXPECT_EQ(to_json(read_step_profile(to_json(profile), "p.json")).at("gpu_gflops"), 7e5);
  const StepProfile nothing = summarize_spans({}, 0);
  EXPECT_TRUE(to_json(nothing).at("gflops").is_null()) << "no time, no rate";
  EXPECT_EQ(to_json(read_step_profile(to_json(nothing), "p.json")), to_json(nothing));
}

TEST(StepProfile, ForeignJsonIsNamed) {
  for (const char* text : {"[]", "{}", R"({"schema_version": 2})", R"({"schema_version": 1, "steps": "x"})"}) {
    try {
      read_step_profile(parse_json(text, "p.json"), "p.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
      EXPECT_NE(std::string(error.what()).find("p.json"), std::string::npos) << error.what();
    }
  }
}

TEST(ChromeTrace, IsTheEventFormatWithNamesAndSummary) {
  std::vector<Span> spans = one_step();
  for (Span& span : spans) {
    span.start_ns += 77 * kMs;
    span.end_ns += 77 * kMs;
  }
  const std::vector<std::string> threads = {"main", "thread 1"};
  const StepProfile summary = summarize_spans(spans, 0);
  const Json trace = parse_json(chrome_trace(spans, threads, "engine", summary), "trace");
  EXPECT_EQ(trace.at("nanobench"), to_json(summary));
  std::size_t complete = 0;
  std::vector<std::string> names;
  for (const Json& event : trace.at("traceEvents")) {
    EXPECT_TRUE(event.contains("pid") && event.contains("tid"));
    if (event.at("ph") == "M") names.push_back(event.at("args").at("name"));
    if (event.at("ph") != "X") continue;
    ++complete;
    EXPECT_GE(event.at("ts").get<double>(), 0);
    if (event.at("name") != "attention") continue;
    EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), 1000) << "microseconds after the first span";
    EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 4000);
    EXPECT_EQ(event.at("cat"), "op");
    EXPECT_EQ(event.at("args").at("flops"), 6e6);
  }
  EXPECT_EQ(complete, spans.size());
  EXPECT_EQ(names, (std::vector<std::string>{"engine", "main", "thread 1"}));
}

}  // namespace
}  // namespace nanobench::core
