#include "tools/cli/quantity.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace nanobench::tools {
namespace {

template <class Parse>
void expect_refused(const Parse& parse, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    try {
      parse(text);
      ADD_FAILURE() << text << " is accepted";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
      EXPECT_TRUE(std::string(error.what()).starts_with("--x " + text + ": expected ")) << error.what();
    }
  }
}

TEST(Quantity, SharesArePercentOrFractions) {
  const auto parse = [](const std::string& text) { return parse_share(text, "--x", {0.0, 1.0}); };
  EXPECT_DOUBLE_EQ(parse("5%"), 0.05);
  EXPECT_DOUBLE_EQ(parse("5 %"), 0.05);
  EXPECT_DOUBLE_EQ(parse("0.05"), 0.05);
  EXPECT_DOUBLE_EQ(parse(".5"), 0.5);
  EXPECT_DOUBLE_EQ(parse("100%"), 1.0);
  expect_refused(parse, {"", "%", "5", "101%", "-1%", "5%%", "5 percent", "nan", "inf", "0x1p-3s", "1e999", " 5%"});
}

TEST(Quantity, TimesHaveUnitsAndANumberAloneIsSeconds) {
  const auto parse = [](const std::string& text) { return parse_seconds(text, "--x", {0.1, 7200.0}); };
  EXPECT_DOUBLE_EQ(parse("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(parse("10"), 10.0);
  EXPECT_DOUBLE_EQ(parse("10s"), 10.0);
  EXPECT_DOUBLE_EQ(parse("2min"), 120.0);
  EXPECT_DOUBLE_EQ(parse("1.5 h"), 5400.0);
  EXPECT_DOUBLE_EQ(parse("1h30min"), 5400.0);
  expect_refused(parse, {"", "s", "0s", "1h 30min", "50ms", "3h", "-1s", "10 seconds", "10d"});
}

TEST(Quantity, ADurationHasAUnit) {
  EXPECT_EQ(parse_duration("90s", "--budget"), 90.0);
  EXPECT_EQ(parse_duration("10min", "--budget"), 600.0);
  EXPECT_EQ(parse_duration("2m", "--budget"), 120.0);
  EXPECT_EQ(parse_duration("1.5h", "--budget"), 5400.0);
  EXPECT_EQ(parse_duration("1h30min", "--budget"), 5400.0);
  for (const char* const text :
       {"", "10", "0s", "0", "-5min", "min", "10 min", "10sec", "1..5h", "1h30", "nan", "1e3s", "99999999h", "10MIN"})
    EXPECT_THROW(parse_duration(text, "--budget"), core::Error) << text;
}

TEST(Quantity, AnEffectToDetectSaysWhatItIsAnEffectOn) {
  EXPECT_FALSE(parse_detectable("0.002", "--x").is_share);
  EXPECT_DOUBLE_EQ(parse_detectable("0.002nats", "--x").value, 0.002);
  EXPECT_TRUE(parse_detectable("5%", "--x").is_share);
  EXPECT_DOUBLE_EQ(parse_detectable("5%", "--x").value, 0.05);
  expect_refused([](const std::string& text) { return parse_detectable(text, "--x"); }, {"", "0", "-1%", "5ms", "x"});
}

TEST(Quantity, ALossIsANumberOfNats) {
  EXPECT_DOUBLE_EQ(parse_loss("3.28", "--x"), 3.28);
  EXPECT_DOUBLE_EQ(parse_loss("3.28nats", "--x"), 3.28);
  EXPECT_DOUBLE_EQ(parse_loss("3.28 nats", "--x"), 3.28);
  expect_refused([](const std::string& text) { return parse_loss(text, "--x"); }, {"", "0", "-1", "3.28%", "nan", "x"});
}

}  // namespace
}  // namespace nanobench::tools
