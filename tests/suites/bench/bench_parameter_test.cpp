#include "suites/bench/bench_parameter.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

using Values = std::vector<std::string>;

TEST(BenchParameter, ListsAndRanges) {
  const std::vector<std::pair<std::string, Values>> cases = {{"n=1,2,4", {"1", "2", "4"}},
                                                             {"n=fast,slow", {"fast", "slow"}},
                                                             {"n=1:4", {"1", "2", "3", "4"}},
                                                             {"n=0:1:0.25", {"0.00", "0.25", "0.50", "0.75", "1.00"}},
                                                             {"n=8:2:-3", {"8", "5", "2"}},
                                                             {"n=-1:1", {"-1", "0", "1"}},
                                                             {"n=1:10:4", {"1", "5", "9"}},
                                                             {"n=3:3", {"3"}},
                                                             {"n=0.1:0.3:0.1", {"0.1", "0.2", "0.3"}},
                                                             {"n=a:b", {"a:b"}},
                                                             {"n=1:2:3:4", {"1:2:3:4"}},
                                                             {"n=x", {"x"}},
                                                             {"n=a=b,", {"a=b", ""}}};
  for (const auto& [text, values] : cases) {
    EXPECT_EQ(read_bench_parameter(text).values, values) << text;
    EXPECT_EQ(read_bench_parameter(text).name, "n") << text;
  }
}

TEST(BenchParameter, RefusesWhatHasNoMeaning) {
  for (const char* text :
       {"n", "n=", "=1", "a b=1", "n=1:5:0", "n=5:1", "n=1:5:-1", "n=1:100000", "n=1,1", "n=0:1:0.0000000001"})
    EXPECT_THROW(read_bench_parameter(text), core::Error) << text;
}

TEST(BenchParameter, AllCombinationsInOrder) {
  const std::vector<ParameterValues> all =
      combinations_of({{.name = "a", .values = {"1", "2"}}, {.name = "b", .values = {"x", "y"}}});
  const std::vector<ParameterValues> expected = {
      {{"a", "1"}, {"b", "x"}}, {{"a", "1"}, {"b", "y"}}, {{"a", "2"}, {"b", "x"}}, {{"a", "2"}, {"b", "y"}}};
  EXPECT_EQ(all, expected);
  EXPECT_EQ(combinations_of({}), std::vector<ParameterValues>{{}});
  const BenchParameter many = read_bench_parameter("n=1:100");
  EXPECT_THROW(combinations_of({many, {.name = "m", .values = many.values}}), core::Error);
}

TEST(BenchParameter, FillsItsOwnBracesOnly) {
  const ParameterValues values = {{"n", "3"}, {"m", "{n}"}};
  EXPECT_EQ(with_parameters("a {n}{m} {x} {{n}} {n", values), "a 3{n} {x} {3} {n");
  EXPECT_EQ(text_of(values), "n=3, m={n}");
}

}  // namespace
}  // namespace nanobench::suites
