#include "suites/bench/output_metric.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

TEST(OutputMetric, ReadsNameUnitAndPattern) {
  const OutputMetric plain = read_output_metric("loss=val_loss: ([0-9.]+)");
  EXPECT_EQ(plain.name, "loss");
  EXPECT_EQ(plain.unit, "");
  EXPECT_EQ(plain.pattern, "val_loss: ([0-9.]+)");
  const OutputMetric with_unit = read_output_metric("speed[MB/s]=(\\d+)=(?:x|y)");
  EXPECT_EQ(with_unit.name, "speed");
  EXPECT_EQ(with_unit.unit, "MB/s");
  EXPECT_EQ(with_unit.pattern, "(\\d+)=(?:x|y)");
}

TEST(OutputMetric, RefusesWhatFindsNoNumber) {
  for (const char* text :
       {"loss", "loss=", "=(x)", "[s]=(x)", "loss=x", "loss=(a)(b)", "loss=(a", "loss=[", "loss=*(a)"})
    EXPECT_THROW(read_output_metric(text), core::Error) << text;
}

TEST(OutputMetric, TheLastMatchCounts) {
  const OutputMetric metric = read_output_metric("x=x:([^ ]+)");
  const std::vector<std::pair<std::string, std::optional<double>>> cases = {{"x:1\nx:2\n", 2.0},
                                                                            {"x:1 x:2 x:3\nno", 3.0},
                                                                            {"x:1e-3", 0.001},
                                                                            {"x:-4.5", -4.5},
                                                                            {"x:+4", 4.0},
                                                                            {"x:12,345", 12345.0},
                                                                            {"", std::nullopt},
                                                                            {"\n\n", std::nullopt},
                                                                            {"y:1", std::nullopt},
                                                                            {"x:abc", std::nullopt},
                                                                            {"x:nan", std::nullopt},
                                                                            {"x:inf", std::nullopt},
                                                                            {"x:1\nx:1a", std::nullopt}};
  for (const auto& [output, value] : cases) {
    EXPECT_EQ(last_value(metric, output), value) << output;
  }
}

TEST(OutputMetric, LongLinesAreSearchedAtTheirBeginning) {
  const OutputMetric metric = read_output_metric("x=x:([0-9]+).*");
  EXPECT_EQ(last_value(metric, "x:7 " + std::string(5'000'000, 'a')), 7.0);
  EXPECT_EQ(last_value(metric, "x:7\n" + std::string(5'000'000, 'a') + "x:8"), 7.0);
  EXPECT_EQ(last_value(metric, std::string(1'000'000, '\n') + "x:9" + std::string(1'000'000, '\n')), 9.0);
}

}  // namespace
}  // namespace nanobench::suites
