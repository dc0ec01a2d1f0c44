/// Option values with their unit, as people write them: "5%", "0.05", "500ms", "10s", "0.002nats".
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace nanobench::tools {

/// What a value may be.
struct QuantityRange {
  double low = 0.0;
  double high = 0.0;
};

/// "5%" or "0.05". Throws Error{kInvalidArgument} with the option's name.
double parse_share(const std::string& text, const std::string& option, QuantityRange range);
/// "500ms", "10s", "2min", "1h"; a number alone is seconds. Throws as parse_share() does.
double parse_seconds(const std::string& text, const std::string& option, QuantityRange range);

/// Options of these forms. `take` gets the parsed value.
CLI::Option* add_share_option(CLI::App& command, const std::string& name, const std::function<void(double)>& take,
                              const std::string& description, QuantityRange range);
CLI::Option* add_seconds_option(CLI::App& command, const std::string& name, const std::function<void(double)>& take,
                                const std::string& description, QuantityRange range);

/// An effect to detect: of the loss in nats per token ("0.002", "0.002nats"), or a share of the time ("1%").
struct DetectableSize {
  bool is_share = false;
  double value = 0.0;
};
DetectableSize parse_detectable(const std::string& text, const std::string& option);

}  // namespace nanobench::tools
