#include "core/protocol/run_event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

RunEvent round_trip(const RunEvent& event) {
  const std::string line = to_line(event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  return parse_event_line(line);
}

TEST(RunEvent, HelloRoundTrips) {
  const auto event = std::get<HelloEvent>(
      round_trip(HelloEvent{"nanobench-train", "0.1.0 abc", {{"compiler", "g++ \"12\"\n"}}, 2, 123456789012}));
  EXPECT_EQ(event.engine, "nanobench-train");
  EXPECT_EQ(event.environment.at("compiler"), "g++ \"12\"\n");
  EXPECT_EQ(event.threads, 2);
  EXPECT_EQ(event.parameters, 123456789012);
}

TEST(RunEvent, AnEngineThatTakesTurnsSpeaksVersion2) {
  HelloEvent hello{"mock", "1", {}, 1, 2};
  EXPECT_FALSE(std::get<HelloEvent>(round_trip(hello)).turn_steps);
  EXPECT_EQ(Json::parse(to_line(hello)).at("protocol"), 1);
  hello.turn_steps = 1390;
  EXPECT_EQ(std::get<HelloEvent>(round_trip(hello)).turn_steps, 1390);
  EXPECT_EQ(Json::parse(to_line(hello)).at("protocol"), 2);
  EXPECT_EQ(std::get<TurnEvent>(round_trip(TurnEvent{12})).step, 12);
}

TEST(RunEvent, StepKeepsEveryBit) {
  StepEvent step;
  step.step = 17;
  step.loss = 0.1 + 0.2;
  step.step_ms = 1e-17;
  step.window_tokens = 128;
  step.learning_rate_factor = 1.0 / 3.0;
  step.phases_ms = {{"data", 0.25}, {"forward", 10.0 / 7.0}};
  const auto untimed = std::get<StepEvent>(round_trip(step));
  EXPECT_EQ(untimed.loss, step.loss);
  EXPECT_EQ(untimed.step_ms, step.step_ms);
  EXPECT_EQ(untimed.learning_rate_factor, step.learning_rate_factor);
  EXPECT_EQ(untimed.phases_ms, step.phases_ms);
  EXPECT_FALSE(untimed.train_ms);
  step.train_ms = 12345.678901234567;
  EXPECT_EQ(std::get<StepEvent>(round_trip(step)).train_ms, step.train_ms);
}

TEST(RunEvent, SamplesRoundTripAndNameOnlyMetricsThatAreSampled) {
  const SamplesEvent event{.step = 7,
                           .values = {{"health/gradient_norm", 0.1 + 0.2}, {"health/update_ratio/lm_head", NAN}}};
  const auto read = std::get<SamplesEvent>(round_trip(event));
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(read.values.at("health/gradient_norm"), 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(read.values.at("health/update_ratio/lm_head")));
  for (const char* line : {R"({"event": "samples", "step": 1, "values": {"train/loss": 1}})",
                           R"({"event": "samples", "step": 1, "values": {"health/a b": 1}})",
                           R"({"event": "samples", "step": 1, "values": [1]})", R"({"event": "samples", "step": 1})"}) {
    EXPECT_THROW(parse_event_line(line), Error) << line;
  }
}

TEST(RunEvent, NotANumberTravelsAsNull) {
  StepEvent step;
  step.loss = std::numeric_limits<double>::quiet_NaN();
  step.step_ms = std::numeric_limits<double>::infinity();
  EXPECT_NE(to_line(step).find("\"loss\":null"), std::string::npos);
  const auto read = std::get<StepEvent>(round_trip(step));
  EXPECT_TRUE(std::isnan(read.loss));
  EXPECT_TRUE(std::isnan(read.step_ms));
}

TEST(RunEvent, TheOtherKindsRoundTrip) {
  const auto eval = std::get<EvalEvent>(round_trip(EvalEvent{125, 3.5, std::nullopt, 4096}));
  EXPECT_EQ(eval.step, 125);
  EXPECT_EQ(eval.loss, 3.5);
  EXPECT_FALSE(eval.train_ms);
  EXPECT_EQ(std::get<MemoryEvent>(round_trip(MemoryEvent{3, 1LL << 40})).peak_bytes, 1LL << 40);
  EXPECT_EQ(std::get<CounterEvent>(round_trip(CounterEvent{"attention/path/dense", 12})).value, 12);
  EXPECT_EQ(std::get<WarningEvent>(round_trip(WarningEvent{"é \t"})).message, "é \t");
  EXPECT_EQ(std::get<CheckpointEvent>(round_trip(CheckpointEvent{9, "/a b"})).file, "/a b");
  const auto finished = std::get<FinishedEvent>(round_trip(FinishedEvent{10, 4, 99.5, std::nullopt, 7}));
  EXPECT_EQ(finished.timed_steps, 4);
  EXPECT_EQ(finished.train_ms, 99.5);
  EXPECT_FALSE(finished.final_val_loss);
  const auto failed = std::get<FailedEvent>(round_trip(FailedEvent{RunOutcome::kOutOfMemory, "no memory"}));
  EXPECT_EQ(failed.outcome, RunOutcome::kOutOfMemory);
}

TEST(RunEvent, InvalidUtf8IsReplacedNotThrown) {
  EXPECT_NO_THROW(round_trip(WarningEvent{"bad \xff\xfe bytes"}));
}

struct Line {
  Line(const char* line) : text(line) {}
  const char* text;
};

/// In names of tests, where CMake takes brackets for its own.
void PrintTo(const Line& line, std::ostream* out) {
  for (const char c : std::string(line.text)) *out << (c == '[' ? '(' : c == ']' ? ')' : c);
}

class BadEventLine : public testing::TestWithParam<Line> {};

TEST_P(BadEventLine, IsDataLoss) {
  try {
    parse_event_line(GetParam().text);
    FAIL() << "accepted: " << GetParam().text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadEventLine,
    testing::ValuesIn<Line>(
        {"", " ", "garbage", "null", "[]", "{}", "3", R"({"event":"step"})", R"({"event":"unknown"})", R"({"event":7})",
         R"({"event":"eval","step":"x","loss":1,"tokens":1})", R"({"event":"failed","outcome":"sleepy","message":""})",
         R"({"event":"hello","protocol":99,"engine":"e","engine_version":"","environment":{},"threads":1,)"
         R"("parameters":1})",
         R"({"event":"hello","protocol":2,"engine":"e","engine_version":"","environment":{},"threads":1,)"
         R"("parameters":1})",
         R"({"event":"hello","protocol":2,"engine":"e","engine_version":"","environment":{},"threads":1,)"
         R"("parameters":1,"turn_steps":-1})",
         R"({"event":"hello","protocol":2,"engine":"e","engine_version":"","environment":{},"threads":1,)"
         R"("parameters":1,"turn_steps":1e18})",
         R"({"event":"warning","message":"cut)", R"({"event":"memory","step":1,"peak_bytes":1}{})"}));

TEST(RunEvent, CutOrFlippedLinesNeverCrash) {
  const std::string line = to_line(StepEvent{3, 2.5, 10.0, 20.0, 128, 1.0, {{"data", 1.0}}});
  for (std::size_t length = 0; length < line.size(); ++length) {
    EXPECT_THROW(parse_event_line(line.substr(0, length)), Error) << length;
  }
  std::mt19937 random(20240520);
  for (int i = 0; i < 5000; ++i) {
    std::string changed = line;
    changed[random() % changed.size()] = static_cast<char>(random());
    try {
      parse_event_line(changed);
    } catch (const Error&) {
    }
  }
}

TEST(RunOutcome, NamesRoundTrip) {
  for (const auto outcome : {RunOutcome::kCompleted, RunOutcome::kDiverged, RunOutcome::kTimedOut, RunOutcome::kCrashed,
                             RunOutcome::kOutOfMemory, RunOutcome::kUnsupported, RunOutcome::kInterrupted}) {
    EXPECT_EQ(enum_value<RunOutcome>(enum_name(outcome)), outcome);
  }
  EXPECT_EQ(enum_value<RunOutcome>("Completed"), std::nullopt);
}

TEST(RunEvent, AStepMayTellNoLoss) {
  StepEvent event;
  event.step = 3;
  event.has_loss = false;
  const std::string line = to_line(event);
  EXPECT_EQ(line.find("\"loss\""), std::string::npos) << line;
  EXPECT_FALSE(std::get<StepEvent>(parse_event_line(line)).has_loss);
  event.has_loss = true;
  EXPECT_TRUE(std::get<StepEvent>(parse_event_line(to_line(event))).has_loss);
}

TEST(StepParts, TextAndSetAreTheSame) {
  for (const StepParts& parts : {StepParts{}, StepParts{"muon"}, StepParts{"blocks", "muon"}})
    EXPECT_EQ(read_step_parts(text_of(parts)), parts);
  EXPECT_EQ(text_of({}), "none");
  EXPECT_EQ(text_of({"muon", "blocks"}), "blocks, muon");
  EXPECT_EQ(read_step_parts("muon,adam"), (StepParts{"adam", "muon"}));
  EXPECT_EQ(read_step_parts(""), std::nullopt) << "an engine that leaves it out";
}

}  // namespace
}  // namespace nanobench::core
