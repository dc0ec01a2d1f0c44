/// A number that a command prints, found by a regular expression. Thread-safe when not modified.
#pragma once

#include <optional>
#include <regex>
#include <string>

namespace nanobench::suites {

struct OutputMetric {
  std::string name;
  std::string unit;     ///< may be empty
  std::string pattern;  ///< ECMAScript, with one group
  std::regex regex;
};

/// "NAME=REGEX" or "NAME[UNIT]=REGEX". Throws Error{kInvalidArgument}.
OutputMetric read_output_metric(const std::string& text);

inline constexpr std::size_t kMaxMetricLine = 4096;  ///< bytes of a line that are searched

/// The group of the last match in the text, line by line; nullopt if no line matches, or the group is no finite number.
std::optional<double> last_value(const OutputMetric& metric, const std::string& output);

}  // namespace nanobench::suites
