#include "tools/cli/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/base/error.h"
#include "core/base/text.h"

namespace nanobench::tools {

std::optional<NumberWithUnit> number_with_unit(const std::string& text) {
  if (text.empty() || text.find_first_of("0123456789.") != 0) return std::nullopt;
  NumberWithUnit number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error != std::errc() || !std::isfinite(number.value)) return std::nullopt;
  number.unit.assign(end, text.data() + text.size());
  number.unit.erase(0, std::min(number.unit.find_first_not_of(' '), number.unit.size()));
  return number;
}

namespace {

using core::Error;
using core::ErrorCode;

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& expected) {
  throw Error(ErrorCode::kInvalidArgument, option + " " + text + ": expected " + expected);
}

std::string percent(double share) {
  return format_significant(100.0 * share, 3) + "%";
}

std::string number(double value) {
  return format_significant(value, 3);
}

/// Longer names before those that they begin with.
constexpr std::pair<const char*, double> kTimeUnits[] = {
    {"ms", 1e-3}, {"min", 60.0}, {"h", 3600.0}, {"m", 60.0}, {"s", 1.0}};

/// Seconds of one or several plain numbers, each with its unit: "1h30min", "1.5h". nullopt for anything else.
std::optional<double> seconds_in(std::string text) {
  if (text.find_first_of(" eE") != std::string::npos) return std::nullopt;
  double seconds = 0.0;
  while (true) {
    const auto parts = number_with_unit(text);
    if (!parts) return std::nullopt;
    const auto unit = std::find_if(std::begin(kTimeUnits), std::end(kTimeUnits),
                                   [&](const auto& one) { return parts->unit.starts_with(one.first); });
    if (unit == std::end(kTimeUnits)) return std::nullopt;
    seconds += parts->value * unit->second;
    text = parts->unit.substr(std::string(unit->first).size());
    if (text.empty()) return seconds;
  }
}

/// The same, or a number without a unit, which is seconds. A single number may have a blank before its unit.
std::optional<double> number_or_seconds_in(const std::string& text) {
  const auto parts = number_with_unit(text);
  if (!parts) return std::nullopt;
  if (parts->unit.empty()) return parts->value;
  const std::size_t blank = text.find(' ');
  return seconds_in(blank == std::string::npos ? text : text.substr(0, blank) + parts->unit);
}

}  // namespace

double parse_share(const std::string& text, const std::string& option, QuantityRange range) {
  const auto parts = number_with_unit(text);
  const bool is_percent = parts && parts->unit == "%";
  const double value = !parts ? NAN : is_percent ? parts->value / 100.0 : parts->value;
  if (parts && (is_percent || parts->unit.empty()) && value >= range.low && value <= range.high) return value;
  refuse(option, text, "a share from " + percent(range.low) + " to " + percent(range.high) + ", such as 5% or 0.05");
}

double parse_seconds(const std::string& text, const std::string& option, QuantityRange range) {
  const std::optional<double> value = number_or_seconds_in(text);
  if (value && *value >= range.low && *value <= range.high) return *value;
  refuse(option, text,
         "a time from " + number(range.low) + "s to " + number(range.high) + "s, such as 500ms, 10s or 2min");
}

double parse_duration(const std::string& text, const std::string& option) {
  constexpr double kYear = 365.0 * 86400.0;
  const std::optional<double> value = seconds_in(text);
  if (value && *value > 0.0 && *value <= kYear) return *value;
  refuse(option, text, "a time above 0 with its unit, such as 90s, 10min or 1h30min");
}

double parse_loss(const std::string& text, const std::string& option) {
  const auto parts = number_with_unit(text);
  if (parts && parts->value > 0.0 && (parts->unit.empty() || parts->unit == "nats")) return parts->value;
  refuse(option, text, "a loss above 0, such as 3.28 (nats per token)");
}

CLI::Option* add_loss_option(CLI::App& command, const std::string& name, std::optional<double>& loss,
                             const std::string& description) {
  const auto parse = [name, &loss](const std::string& text) { loss = parse_loss(text, name); };
  return command.add_option_function<std::string>(name, parse, description)->type_name("LOSS");
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
  const auto parts = number_with_unit(text);
  if (parts && parts->value > 0.0) {
    if (parts->unit == "%") return {.is_share = true, .value = parts->value / 100.0};
    if (parts->unit.empty() || parts->unit == "nats") return {.is_share = false, .value = parts->value};
  }
  refuse(option, text, "an effect on the loss such as 0.002 (nats per token), or one on the time such as 1%");
}

}  // namespace nanobench::tools
