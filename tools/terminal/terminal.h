/// Facts about the terminal behind a file descriptor, asked of the system at each call. Thread-safe.
#pragma once

#include <cstddef>

namespace nanobench::tools {

/// A terminal that can redraw lines (not TERM=dumb).
bool is_terminal(int fd);

/// Columns: of the terminal, else $COLUMNS, else `fallback`.
std::size_t terminal_width(int fd, std::size_t fallback);

/// Lines, in the same way; $LINES.
std::size_t terminal_height(int fd, std::size_t fallback);

/// The user's locale is UTF-8, by $LC_ALL, $LC_CTYPE and $LANG.
bool is_utf8_locale();

/// A terminal, and the user has not set NO_COLOR.
bool has_color(int fd);

}  // namespace nanobench::tools
