/// The lines that show a watched suite: a pure function of its state and the terminal's size. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/watch/watch_state.h"
#include "tools/terminal/styled_line.h"

namespace nanobench::tools {

struct WatchStyle {
  std::size_t width = 80;  ///< columns
  std::size_t height = 0;  ///< lines; 0: unlimited
  TerminalKind terminal;
  bool has_keys = false;  ///< adds a line that lists the keys
};

/// The most important lines come first, and a short terminal drops the last ones. The rows around the running cell
/// stay, and the spreads are dropped first. No line is wider than the terminal, and none can send it control codes.
std::vector<std::string> watch_lines(const reports::WatchState& state, const WatchStyle& style);

}  // namespace nanobench::tools
