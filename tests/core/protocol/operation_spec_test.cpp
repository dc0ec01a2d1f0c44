#include "core/protocol/operation_spec.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/protocol/run_spec.h"
#include "tests/core/base/refusal_support.h"

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

Refused refusal(const Json& json) {
  const Refused refused = refusal_of([&] { read_operation_spec(json, "s.json"); });
  EXPECT_EQ(refused.code, ErrorCode::kInvalidArgument);
  return refused;
}

TEST(OperationSpec, SurvivesTheFile) {
  const OperationSpec read = read_operation_spec(to_json(spec()), "s.json");
  EXPECT_EQ(to_json(read), to_json(spec()));
  EXPECT_FALSE(read.arms[0].config.attention.split_full_blocks);
  EXPECT_EQ(read.arms[1].size("T"), 2048);
  EXPECT_EQ(read.arms[1].size_or("H", 6), 6);
  EXPECT_REFUSAL(read.arms[1].size("H"), Reason::kMissingKey, "H");
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
  EXPECT_REFUSED(refusal(json), Reason::kUnknownName, "/op");
  EXPECT_TRUE(refusal(json).names("\"attention\"")) << refusal(json).message;
  json = to_json(spec());
  json["metric"] = "beauty";
  EXPECT_REFUSED(refusal(json), Reason::kUnknownName, "/metric");
  EXPECT_TRUE(refusal(json).names("time_ms")) << refusal(json).message;
  json = to_json(spec());
  json["arms"] = Json::array();
  EXPECT_REFUSED(refusal(json), Reason::kWrongLength, "/arms");
  json = to_json(spec());
  json["arms"][1]["name"] = "before";
  EXPECT_REFUSED(refusal(json), Reason::kRepeated, "/arms");
  json = to_json(spec());
  json["arms"][0]["shapes"]["T"] = 0;
  EXPECT_REFUSED(refusal(json), Reason::kOutOfRange, "/arms/0/shapes/T");
  json = to_json(spec());
  json["arms"][0]["colour"] = 1;
  EXPECT_REFUSED(refusal(json), Reason::kUnknownKey, "/arms/0/colour");
}

TEST(OperationSpec, CountersAreNamedByArmAndMetric) {
  EXPECT_EQ(operation_counter("before", "bytes"), "operation/before/bytes");
}

}  // namespace
}  // namespace nanobench::core
