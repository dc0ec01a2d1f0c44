#include "core/protocol/operation_spec.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/protocol/run_spec.h"

namespace nanobench::core {
namespace {

OperationSpec spec() {
  OperationSpec made;
  made.op = "attention";
  made.metric = "time_ms";
  made.arms.resize(2);
  made.arms[0].name = "before";
  made.arms[0].shapes = {{"T", 1024}};
  made.arms[0].config.attention.split_full_blocks = false;
  made.arms[1].name = "after";
  made.arms[1].shapes = {{"T", 2048}};
  return made;
}

std::string refusal(const Json& json) {
  try {
    read_operation_spec(json, "s.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(OperationSpec, SurvivesTheFile) {
  const OperationSpec read = read_operation_spec(to_json(spec()), "s.json");
  EXPECT_EQ(to_json(read), to_json(spec()));
  EXPECT_FALSE(read.arms[0].config.attention.split_full_blocks);
  EXPECT_EQ(read.arms[1].size("T"), 2048);
  EXPECT_EQ(read.arms[1].size_or("H", 6), 6);
  EXPECT_THROW(read.arms[1].size("H"), Error);
}

TEST(OperationSpec, IsPartOfARunSpec) {
  RunSpec run;
  run.run_id = "r";
  run.operation = spec();
  run.config = run.operation->arms.back().config;
  const RunSpec read = read_run_spec(to_json(run), "s.json");
  ASSERT_TRUE(read.operation);
  EXPECT_EQ(to_json(*read.operation), to_json(spec()));
  EXPECT_FALSE(read_run_spec(to_json(RunSpec{.run_id = "r"}), "s.json").operation);
}

TEST(OperationSpec, RefusesWhatNobodyCanMeasure) {
  Json json = to_json(spec());
  json["op"] = "atention";
  EXPECT_NE(refusal(json).find("\"attention\""), std::string::npos) << refusal(json);
  json = to_json(spec());
  json["metric"] = "beauty";
  EXPECT_NE(refusal(json).find("time_ms"), std::string::npos);
  json = to_json(spec());
  json["arms"] = Json::array();
  EXPECT_NE(refusal(json).find("one or two"), std::string::npos);
  json = to_json(spec());
  json["arms"][1]["name"] = "before";
  EXPECT_NE(refusal(json).find("names of their own"), std::string::npos);
  json = to_json(spec());
  json["arms"][0]["shapes"]["T"] = 0;
  EXPECT_NE(refusal(json).find("/arms/0/shapes"), std::string::npos) << refusal(json);
  json = to_json(spec());
  json["arms"][0]["colour"] = 1;
  EXPECT_NE(refusal(json).find("colour"), std::string::npos);
}

TEST(OperationSpec, CountersAreNamedByArmAndMetric) {
  EXPECT_EQ(operation_counter("before", "bytes"), "operation/before/bytes");
}

}  // namespace
}  // namespace nanobench::core
