#include "suites/bench/output_metric.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

std::regex regex_of(const std::string& pattern, const std::string& whole) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, "--metric " + whole + ": " + why);
  };
  std::regex regex;
  try {
    regex = std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    refuse("\"" + pattern + "\" is no regular expression (" + error.what() + ")");
  }
  if (regex.mark_count() != 1) {
    refuse("the expression needs exactly one group, around the number, such as 'loss=loss: ([0-9.]+)'; it has " +
           std::to_string(regex.mark_count()) + " (write (?:...) for the others)");
  }
  return regex;
}

std::optional<double> number_in(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());  // 12,345
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  double value = 0.0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

/// The group of the last match in one line.
std::optional<std::string> last_group(const std::regex& regex, std::string_view line) {
  std::optional<std::string> group;
  for (std::cregex_iterator it(line.data(), line.data() + line.size(), regex), end; it != end; ++it)
    group = (*it)[1].str();
  return group;
}

}  // namespace

OutputMetric read_output_metric(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  OutputMetric metric;
  if (const std::size_t open = name.find('['); open != std::string::npos && name.ends_with(']')) {
    metric.unit = name.substr(open + 1, name.size() - open - 2);
    name.resize(open);
  }
  metric.name = name;
  if (equals == std::string::npos || name.empty() || equals + 1 == text.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--metric " + text + ": expected NAME=REGEX or NAME[UNIT]=REGEX, such as 'loss=loss: ([0-9.]+)'");
  }
  metric.pattern = text.substr(equals + 1);
  metric.regex = regex_of(metric.pattern, text);
  return metric;
}

std::optional<double> last_value(const OutputMetric& metric, const std::string& output) {
  std::size_t end = output.size();
  while (true) {
    const std::size_t before = end == 0 ? std::string::npos : output.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    // Bounded, because the library's search takes stack for each character.
    const std::string_view line = std::string_view(output).substr(begin, std::min(end - begin, kMaxMetricLine));
    if (const std::optional<std::string> group = last_group(metric.regex, line)) return number_in(*group);
    if (begin == 0) return std::nullopt;
    end = begin - 1;
  }
}

}  // namespace nanobench::suites
