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

}  // namespace
}  // namespace nanobench::core
