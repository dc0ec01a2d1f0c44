/// What is known about the terminal behind a file descriptor. Asks the system at each call; thread-safe.
#pragma once

#include <cstddef>

namespace nanobench::tools {

/// A terminal that can redraw lines (not TERM=dumb).
bool is_terminal(int fd);

/// Columns: of the terminal, else $COLUMNS, else `fallback`.
std::size_t terminal_width(int fd, std::size_t fallback);

/// A terminal, and the user has not set NO_COLOR.
bool has_color(int fd);

}  // namespace nanobench::tools
