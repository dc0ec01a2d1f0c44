/// Parameters of commands: {n} stands for each of several values. Pure, thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nanobench::suites {

struct BenchParameter {
  std::string name;
  std::vector<std::string> values;  ///< texts, each once
};

/// Values by name, in the order of the parameters.
using ParameterValues = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t kMaxParameterValues = 1000;

/// "n=1,2,4": a list; "n=1:8" and "n=1:8:2": a range of decimal numbers with its last number, by a step of 1 or the one
/// given, which may be below 0. Numbers have as many decimals as the range's own. Throws Error{kInvalidArgument}.
BenchParameter read_bench_parameter(const std::string& text);

/// All combinations of the values; the last parameter changes fastest. One empty combination without parameters.
std::vector<ParameterValues> combinations_of(const std::vector<BenchParameter>& parameters);

/// The text with each {name} of a parameter replaced by its value. Other braces stay.
std::string with_parameters(const std::string& text, const ParameterValues& values);

/// "n=4, mode=fast"
std::string text_of(const ParameterValues& values);

}  // namespace nanobench::suites
