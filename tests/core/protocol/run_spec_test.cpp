#include "core/protocol/run_spec.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

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

std::string error_of(const Json& json, ErrorCode code) {
  try {
    read_run_spec(json, "run.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "(no error)";
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
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("health"), std::string::npos);
  json = to_json(spec);
  json["health_every"] = 0;
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("/health_every"), std::string::npos);
  json = to_json(spec);
  json.erase("metrics");
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("/health_every"), std::string::npos);
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
  const std::string message = error_of(json, ErrorCode::kInvalidArgument);
  EXPECT_NE(message.find("/metrics"), std::string::npos) << message;
  EXPECT_NE(message.find("\"loss_at_position\""), std::string::npos) << message;
}

TEST(RunSpec, OtherProtocolVersionIsRefused) {
  Json json = to_json(sample_spec());
  json["protocol"] = kProtocolVersion + 1;
  EXPECT_NE(error_of(json, ErrorCode::kUnavailable).find("/protocol"), std::string::npos);
}

TEST(RunSpec, ErrorsNameThePlace) {
  Json json = to_json(sample_spec());
  json["dtype"] = "float16";
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("run.json: /dtype"), std::string::npos);
  json = to_json(sample_spec());
  json["kernels"] = "quick";
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("run.json: /kernels"), std::string::npos);
  json = to_json(sample_spec());
  json["trainshards"] = Json::array();
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("train_shards"), std::string::npos);
  json = to_json(sample_spec());
  json["config"]["model"]["num_layers"] = -1;
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("/model/num_layers"), std::string::npos);
  json = to_json(sample_spec());
  json["seed"] = -1;
  EXPECT_NE(error_of(json, ErrorCode::kInvalidArgument).find("/seed"), std::string::npos);
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
  EXPECT_THROW(read_run_spec(twice, "r.json"), Error);
  Json without = json;
  without.erase("init_file");
  EXPECT_THROW(read_run_spec(without, "r.json"), Error) << "nothing to evaluate";
}

}  // namespace
}  // namespace nanobench::core
