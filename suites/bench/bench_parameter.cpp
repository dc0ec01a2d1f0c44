#include "suites/bench/bench_parameter.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/base/text.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr int kMaxDecimals = 9;

[[noreturn]] void refuse_parameter(const std::string& text, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "--param " + text + ": " + why);
}

std::vector<std::string> pieces_at(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c == '_' || c == '-' || std::isalnum(c) != 0; });
}

/// A number such as -1.25, as a count of units of its last decimal.
struct Decimal {
  double value = 0.0;
  int decimals = 0;
};

std::optional<Decimal> read_decimal(const std::string& text) {
  const std::string digits = text.starts_with('-') ? text.substr(1) : text;
  const std::size_t point = digits.find('.');
  const bool is_plain = !digits.empty() && digits.find_first_not_of("0123456789.") == std::string::npos && point != 0 &&
                        point != digits.size() - 1 && digits.find('.', point + 1) == std::string::npos;
  if (!is_plain) return std::nullopt;
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  return Decimal{.value = std::strtod(text.c_str(), nullptr), .decimals = decimals};
}

/// The values of "low:high" or "low:high:step"; nullopt for a text that is no range of numbers.
std::optional<std::vector<std::string>> range_of(const std::string& text, const std::string& whole) {
  std::vector<Decimal> numbers;
  for (const std::string& piece : pieces_at(text, ':')) {
    const std::optional<Decimal> number = read_decimal(piece);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() < 2 || numbers.size() > 3) return std::nullopt;
  const Decimal step = numbers.size() == 3 ? numbers[2] : Decimal{.value = 1.0};
  const int decimals = std::max({numbers[0].decimals, numbers[1].decimals, step.decimals});
  if (decimals > kMaxDecimals)
    refuse_parameter(whole, "numbers of a range have at most " + std::to_string(kMaxDecimals) + " decimals");
  const double unit = std::pow(10.0, decimals);  // whole multiples of it are exact
  const double low = std::round(numbers[0].value * unit), high = std::round(numbers[1].value * unit),
               by = std::round(step.value * unit);
  if (by == 0.0 || (high - low) / by < 0.0)
    refuse_parameter(whole, "no number of the range follows its first one; give a step that leads to the last one");
  const double count = std::floor((high - low) / by) + 1.0;
  if (count > static_cast<double>(kMaxParameterValues)) {
    refuse_parameter(whole, "the range has more than " + std::to_string(kMaxParameterValues) +
                                " numbers; give a larger step: LOW:HIGH:STEP");
  }
  std::vector<std::string> values;
  for (int i = 0; i < static_cast<int>(count); ++i) values.push_back(format_fixed((low + i * by) / unit, decimals));
  return values;
}

}  // namespace

BenchParameter read_bench_parameter(const std::string& text) {
  const std::size_t equals = text.find('=');
  BenchParameter parameter{.name = text.substr(0, equals), .values = {}};
  if (equals == std::string::npos || !is_name(parameter.name) || equals + 1 == text.size())
    refuse_parameter(text, "expected NAME=VALUE,VALUE,... or NAME=LOW:HIGH[:STEP], such as n=1,2,4 or n=1:8");
  const std::string rest = text.substr(equals + 1);
  if (std::optional<std::vector<std::string>> range = range_of(rest, text)) {
    parameter.values = std::move(*range);
    return parameter;
  }
  for (std::string& value : pieces_at(rest, ',')) {
    if (std::find(parameter.values.begin(), parameter.values.end(), value) != parameter.values.end())
      refuse_parameter(text, "the value \"" + value + "\" appears twice");
    parameter.values.push_back(std::move(value));
  }
  if (parameter.values.size() > kMaxParameterValues)
    refuse_parameter(text, "more than " + std::to_string(kMaxParameterValues) + " values");
  return parameter;
}

std::vector<ParameterValues> combinations_of(const std::vector<BenchParameter>& parameters) {
  std::vector<ParameterValues> all = {{}};
  for (const BenchParameter& parameter : parameters) {
    std::vector<ParameterValues> longer;
    for (const ParameterValues& values : all) {
      for (const std::string& value : parameter.values) {
        longer.push_back(values);
        longer.back().emplace_back(parameter.name, value);
      }
    }
    all = std::move(longer);
    if (all.size() > kMaxParameterValues) {
      throw Error(ErrorCode::kInvalidArgument, "--param: more than " + std::to_string(kMaxParameterValues) +
                                                   " combinations of values; give fewer values");
    }
  }
  return all;
}

std::string with_parameters(const std::string& text, const ParameterValues& values) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const auto here = std::find_if(values.begin(), values.end(), [&](const auto& value) {
      return text.compare(at, value.first.size() + 2, "{" + value.first + "}") == 0;
    });
    if (here == values.end()) {
      filled += text[at++];
    } else {
      filled += here->second;
      at += here->first.size() + 2;
    }
  }
  return filled;
}

std::string text_of(const ParameterValues& values) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : values) texts.push_back(name + "=" + value);
  return joined(texts);
}

}  // namespace nanobench::suites
