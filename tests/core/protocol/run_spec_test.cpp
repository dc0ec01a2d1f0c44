#include "core/protocol/run_spec.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::core {
namespace {

RunSpec sample_spec() {
  RunSpec spec;
  spec.run_id = "record17/seed2";
  spec.seed = 2;
  spec.dtype = Dtype::kFloat64;
  spec.threads = 3;
  spec.train_shards = {"/data/a.bin", "/data/b.bin"};
  spec.val_shards = {"/data/v.bin"};
  return spec;
}

Refused spec_refusal(const Json& json) {
  const Refused refused = refusal_of([&] { read_run_spec(json, "run.json"); });
  EXPECT_EQ(refused.message.rfind("run.json", 0), 0U) << refused.message;
  return refused;
}

TEST(RunSpec, RoundTrips) {
  RunSpec spec = sample_spec();
  spec.init_file = "/init.safetensors";
  spec.trace_file = "trace.json";
  spec.profile_file = "profile.json";
  spec.save_file = "/w/step_{step}.safetensors";
  spec.resume_file = "/w/step_000125.safetensors";
  spec.pin_threads = true;
  spec.kernels = KernelChoice::kReference;
  spec.mock = {{"crash_rate", 0.5}};
  const RunSpec read = read_run_spec(to_json(spec), "run.json");
  EXPECT_EQ(to_json(read), to_json(spec));
  EXPECT_EQ(read.profile_file, "profile.json");
  EXPECT_EQ(read.save_file, spec.save_file);
  EXPECT_EQ(read.resume_file, spec.resume_file);
  EXPECT_TRUE(read.pin_threads);
  EXPECT_EQ(read.kernels, KernelChoice::kReference);
  EXPECT_EQ(read.config.digest(), spec.config.digest());
}

TEST(RunSpec, MetricsThatAreAskedFor) {
  RunSpec spec = sample_spec();
  spec.metrics = {AskedMetric::kHealth};
  spec.health_every = 25;
  const RunSpec read = read_run_spec(to_json(spec), "run.json");
  EXPECT_EQ(read.metrics, spec.metrics);
  EXPECT_EQ(read.health_every, 25);
  EXPECT_FALSE(to_json(sample_spec()).contains("metrics")) << "an older engine runs what asks for none";
  Json json = to_json(spec);
  json["metrics"] = {"helth"};
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kUnknownName, "/metrics");
  EXPECT_TRUE(spec_refusal(json).names("\"health\"")) << spec_refusal(json).message;
  json = to_json(spec);
  json["health_every"] = 0;
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kOutOfRange, "/health_every");
  json = to_json(spec);
  json.erase("metrics");
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kInactive, "/health_every");
}

TEST(RunSpec, OptionalFieldsMayBeAbsent) {
  const RunSpec read = read_run_spec(to_json(sample_spec()), "run.json");
  EXPECT_FALSE(read.init_file);
  EXPECT_FALSE(read.trace_file);
  EXPECT_FALSE(read.profile_file);
  EXPECT_FALSE(read.save_file);
  EXPECT_FALSE(read.resume_file);
  EXPECT_FALSE(read.pin_threads);
  EXPECT_EQ(read.kernels, KernelChoice::kFused);
  EXPECT_TRUE(read.mock.is_null());
}

TEST(RunSpec, MetricsAreWrittenOnlyWhereTheyAreAskedFor) {
  RunSpec spec = sample_spec();
  EXPECT_FALSE(to_json(spec).contains("metrics"));
  spec.metrics = {AskedMetric::kLossByTokenFrequency, AskedMetric::kLossAtPosition};
  Json json = to_json(spec);
  EXPECT_EQ(json.at("metrics"), Json({"loss_at_position", "loss_by_token_frequency"}));
  EXPECT_EQ(read_run_spec(json, "run.json").metrics, spec.metrics);
  json["metrics"] = {"loss_at_positio"};
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kUnknownName, "/metrics");
  EXPECT_TRUE(spec_refusal(json).names("\"loss_at_position\"")) << spec_refusal(json).message;
}

TEST(RunSpec, OtherProtocolVersionIsRefused) {
  Json json = to_json(sample_spec());
  json["protocol"] = kProtocolVersion + 1;
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kUnavailable, Reason::kOtherVersion, "/protocol");
}

TEST(RunSpec, ErrorsNameThePlace) {
  Json json = to_json(sample_spec());
  json["dtype"] = "float16";
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kUnknownName, "/dtype");
  json = to_json(sample_spec());
  json["kernels"] = "quick";
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kUnknownName, "/kernels");
  json = to_json(sample_spec());
  json["trainshards"] = Json::array();
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kUnknownKey, "/trainshards");
  EXPECT_TRUE(spec_refusal(json).names("\"train_shards\"")) << spec_refusal(json).message;
  json = to_json(sample_spec());
  json["config"]["model"]["num_layers"] = -1;
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kOutOfRange, "/model/num_layers");
  json = to_json(sample_spec());
  json["seed"] = -1;
  EXPECT_REFUSED_AS(spec_refusal(json), ErrorCode::kInvalidArgument, Reason::kOutOfRange, "/seed");
}

TEST(RunSpec, NamesItsEvaluations) {
  RunSpec spec{.run_id = "r"};
  EXPECT_FALSE(to_json(spec).contains("evaluations"));
  EXPECT_FALSE(to_json(spec).contains("only_evaluates"));
  spec.evaluations = {{.name = "a", .file = "/a.bin", .digest = "12", .best_accuracy = 0.5},
                      {.name = "b_2", .file = "/b.bin", .digest = "34"}};
  spec.init_file = "/model.safetensors";
  spec.only_evaluates = true;
  const Json json = to_json(spec);
  const RunSpec read = read_run_spec(json, "r.json");
  EXPECT_EQ(read.evaluations, spec.evaluations);
  EXPECT_TRUE(read.only_evaluates);
  Json twice = json;
  twice["evaluations"][1]["name"] = "a";
  EXPECT_REFUSAL(read_run_spec(twice, "r.json"), Reason::kRepeated, "/1/name");
  Json without = json;
  without.erase("init_file");
  EXPECT_REFUSAL(read_run_spec(without, "r.json"), Reason::kUnmet, "/only_evaluates") << "nothing to evaluate";
}

}  // namespace
}  // namespace nanobench::core
