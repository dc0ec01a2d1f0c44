/// Option values with their unit, as people write them: "5%", "0.05", "500ms", "10s", "0.002nats".
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

namespace nanobench::tools {

/// "5 %" is 5 and "%". The number has no sign and is finite; what follows it is the unit, which may be empty.
struct NumberWithUnit {
  double value = 0.0;
  std::string unit;
};
std::optional<NumberWithUnit> number_with_unit(const std::string& text);

/// What a value may be.
struct QuantityRange {
  double low = 0.0;
  double high = 0.0;
};

/// "5%" or "0.05". Throws Error{kInvalidArgument} with the option's name.
double parse_share(const std::string& text, const std::string& option, QuantityRange range);
/// "500ms", "10s", "1h30min"; a number alone is seconds. Throws as parse_share() does.
double parse_seconds(const std::string& text, const std::string& option, QuantityRange range);
/// The same above 0 and up to a year, where a number alone would be read as minutes by some: its unit is needed.
double parse_duration(const std::string& text, const std::string& option);

/// "3.28" or "3.28nats", above 0. Throws as parse_share() does.
double parse_loss(const std::string& text, const std::string& option);

/// Options of these forms. `take` gets the parsed value.
CLI::Option* add_share_option(CLI::App& command, const std::string& name, const std::function<void(double)>& take,
                              const std::string& description, QuantityRange range);
CLI::Option* add_seconds_option(CLI::App& command, const std::string& name, const std::function<void(double)>& take,
                                const std::string& description, QuantityRange range);

CLI::Option* add_loss_option(CLI::App& command, const std::string& name, std::optional<double>& loss,
                             const std::string& description);

/// An effect to detect: of the loss in nats per token ("0.002", "0.002nats"), or a share of the time ("1%").
struct DetectableSize {
  bool is_share = false;
  double value = 0.0;
};
DetectableSize parse_detectable(const std::string& text, const std::string& option);

}  // namespace nanobench::tools
