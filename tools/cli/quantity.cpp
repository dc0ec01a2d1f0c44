#include "tools/cli/quantity.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

/// The number at the beginning of `text` and what follows it, without blanks between; nullopt if none begins it.
std::optional<std::pair<double, std::string>> split(const std::string& text) {
  if (text.empty() || text.find_first_of("0123456789.") != 0) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(value)) return std::nullopt;
  std::string unit = end;
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  return std::pair(value, unit);
}

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& expected) {
  throw Error(ErrorCode::kInvalidArgument, option + " " + text + ": expected " + expected);
}

std::string percent(double share) {
  return format_significant(100.0 * share, 3) + "%";
}

std::string number(double value) {
  return format_significant(value, 3);
}

constexpr std::pair<const char*, double> kSecondUnits[] = {{"", 1.0},     {"s", 1.0},  {"ms", 1e-3},
                                                           {"min", 60.0}, {"m", 60.0}, {"h", 3600.0}};

}  // namespace

double parse_share(const std::string& text, const std::string& option, QuantityRange range) {
  const auto parts = split(text);
  const bool is_percent = parts && parts->second == "%";
  const double value = !parts ? NAN : is_percent ? parts->first / 100.0 : parts->first;
  if (parts && (is_percent || parts->second.empty()) && value >= range.low && value <= range.high) return value;
  refuse(option, text, "a share from " + percent(range.low) + " to " + percent(range.high) + ", such as 5% or 0.05");
}

double parse_seconds(const std::string& text, const std::string& option, QuantityRange range) {
  if (const auto parts = split(text)) {
    for (const auto& [unit, seconds] : kSecondUnits) {
      const double value = parts->first * seconds;
      if (parts->second == unit && value >= range.low && value <= range.high) return value;
    }
  }
  refuse(option, text,
         "a time from " + number(range.low) + "s to " + number(range.high) + "s, such as 500ms, 10s or 2min");
}

CLI::Option* add_share_option(CLI::App& command, const std::string& name, const std::function<void(double)>& take,
                              const std::string& description, QuantityRange range) {
  const auto parse = [=](const std::string& text) { take(parse_share(text, name, range)); };
  return command.add_option_function<std::string>(name, parse, description)->type_name("P%");
}

CLI::Option* add_seconds_option(CLI::App& command, const std::string& name, const std::function<void(double)>& take,
                                const std::string& description, QuantityRange range) {
  const auto parse = [=](const std::string& text) { take(parse_seconds(text, name, range)); };
  return command.add_option_function<std::string>(name, parse, description)->type_name("TIME");
}

DetectableSize parse_detectable(const std::string& text, const std::string& option) {
  const auto parts = split(text);
  if (parts && parts->first > 0.0) {
    if (parts->second == "%") return {.is_share = true, .value = parts->first / 100.0};
    if (parts->second.empty() || parts->second == "nats") return {.is_share = false, .value = parts->first};
  }
  refuse(option, text, "an effect on the loss such as 0.002 (nats per token), or one on the time such as 1%");
}

}  // namespace nanobench::tools
