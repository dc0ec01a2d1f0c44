// The quick reader of step lines against the general one: same event or no answer.
#include "core/protocol/run_event.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace nanobench::core {
namespace {

StepEvent sample_event() {
  StepEvent event;
  event.step = 17;
  event.loss = 3.2790001630783081;
  event.step_ms = 10.25;
  event.train_ms = 1e-310;
  event.window_tokens = 256;
  event.learning_rate_factor = 1.0 / 3.0;
  event.phases_ms = {{"data", 0.125}, {"forward", 5e20}, {"backward", 0.1}};
  return event;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

void expect_same(const StepEvent& a, const StepEvent& b, const std::string& line) {
  EXPECT_EQ(a.step, b.step) << line;
  EXPECT_TRUE(same_bits(a.loss, b.loss)) << line;
  EXPECT_TRUE(same_bits(a.step_ms, b.step_ms)) << line;
  ASSERT_EQ(a.train_ms.has_value(), b.train_ms.has_value()) << line;
  if (a.train_ms) {
    EXPECT_TRUE(same_bits(*a.train_ms, *b.train_ms)) << line;
  }
  EXPECT_EQ(a.window_tokens, b.window_tokens) << line;
  EXPECT_TRUE(same_bits(a.learning_rate_factor, b.learning_rate_factor)) << line;
  EXPECT_EQ(a.phases_ms, b.phases_ms) << line;
}

/// What JSON's own reader makes of the line, by the same field rules; nullopt where it refuses.
std::optional<StepEvent> general(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    if (json.at("event").get<std::string>() != "step") return std::nullopt;
    const auto number = [&](const char* key) {
      return json.at(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : json.at(key).get<double>();
    };
    StepEvent event;
    event.step = json.at("step").get<std::int64_t>();
    event.loss = number("loss");
    event.step_ms = number("step_ms");
    if (json.contains("train_ms") && !json.at("train_ms").is_null()) event.train_ms = json.at("train_ms").get<double>();
    event.window_tokens = json.at("window_tokens").get<std::int64_t>();
    event.learning_rate_factor = json.at("learning_rate_factor").get<double>();
    event.phases_ms = json.at("phases_ms").get<std::map<std::string, double>>();
    return event;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

TEST(StepLine, ReadsWhatOurEnginesWrite) {
  for (const bool is_timed : {true, false}) {
    StepEvent event = sample_event();
    if (!is_timed) event.train_ms.reset();
    const std::string line = to_line(event);
    const std::optional<StepEvent> read = read_step_line(line);
    ASSERT_TRUE(read.has_value()) << line;
    expect_same(*read, event, line);
  }
}

TEST(StepLine, NullIsNanAndSpacesAndOrderAreFree) {
  const std::string line =
      R"( { "loss" : null, "step":3,"event" :"step","phases_ms":{ }, "step_ms":-0.0,"window_tokens":0,)"
      R"("learning_rate_factor":1E+0})";
  const std::optional<StepEvent> read = read_step_line(line);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(std::isnan(read->loss));
  expect_same(*read, *general(line), line);
}

TEST(StepLine, LeavesEverythingElseToTheGeneralReader) {
  const std::string good = to_line(sample_event());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const std::size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return line.replace(at, from.size(), to);
  };
  const std::vector<std::string> lines = {"",
                                          "{",
                                          "[1]",
                                          good + "x",
                                          good.substr(0, good.size() - 1),
                                          changed("\"step\",", "\"eval\","),
                                          changed("\"step\":17", "\"step\":017"),
                                          changed("\"step\":17", "\"step\":17.5"),
                                          changed("\"step\":17", "\"step\":+17"),
                                          changed("\"step\":17", "\"step\":99999999999999999999"),
                                          changed("\"step\":17", "\"step\":17,\"step\":18"),
                                          changed("\"step\":17", "\"more\":17"),
                                          changed("10.25", "10."),
                                          changed("10.25", ".25"),
                                          changed("10.25", "1e999"),
                                          changed("10.25", "inf"),
                                          changed("10.25", "-0"),
                                          changed("10.25", "-nan"),
                                          changed("10.25", "0x10"),
                                          changed("10.25", "\"10.25\""),
                                          changed("\"data\"", "\"da\\u0074a\""),
                                          changed("\"data\"", "\"d\xc3\xa4ta\""),
                                          changed("0.125", "null"),
                                          to_line(WarningEvent{"step"})};
  for (const std::string& line : lines) EXPECT_FALSE(read_step_line(line).has_value()) << line;
}

TEST(StepLine, NeverDisagreesOnDamagedLines) {
  std::mt19937 random(7);
  const std::string alphabet = "{}[]:,\"\\ 0123456789.eE+-nulstep\x01\xc3";
  int answered = 0;
  for (int round = 0; round < 50'000; ++round) {
    StepEvent event = sample_event();
    event.loss = std::bit_cast<double>((std::uint64_t{random()} << 32) | random());
    std::string line = to_line(event);
    for (int changes = static_cast<int>(random() % 3); changes > 0; --changes) {
      const std::size_t at = random() % line.size();
      if (random() % 2 == 0)
        line[at] = alphabet[random() % alphabet.size()];
      else
        line.erase(at, 1 + random() % 3);
    }
    const std::optional<StepEvent> quick = read_step_line(line);
    if (!quick) continue;
    ++answered;
    const std::optional<StepEvent> slow = general(line);
    ASSERT_TRUE(slow.has_value()) << "only the quick reader takes " << line;
    expect_same(*quick, *slow, line);
  }
  EXPECT_GT(answered, 10'000) << "else the test compares nothing";
}

}  // namespace
}  // namespace nanobench::core
