/// The terminal behind a file descriptor: its properties, queried at each call (thread-safe), and lines that are
/// redrawn in place.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace nanobench::tools {

/// Whether it is a terminal that can redraw lines (not TERM=dumb).
bool is_terminal(int fd);

/// Columns of the terminal, else $COLUMNS, else `fallback`.
std::size_t terminal_width(int fd, std::size_t fallback);

/// Lines, in the same way, with $LINES.
std::size_t terminal_height(int fd, std::size_t fallback);

/// Whether the user's locale is UTF-8, by $LC_ALL, $LC_CTYPE and $LANG.
bool is_utf8_locale();

/// Whether it is a terminal and the user has not set NO_COLOR.
bool has_color(int fd);

/// Permanent lines above a few lines that are redrawn in place. The state of the terminal never changes (the cursor
/// stays visible), so nothing needs restoring if the program is killed. Not thread-safe.
class StatusLines {
 public:
  /// `write` receives all output. `is_live`: it is a terminal that can redraw; otherwise show() prints nothing.
  StatusLines(std::function<void(const std::string&)> write, bool is_live);
  /// Removes the redrawn lines.
  ~StatusLines();
  StatusLines(const StatusLines&) = delete;
  StatusLines& operator=(const StatusLines&) = delete;

  bool is_live() const { return is_live_; }
  /// Prints a permanent line.
  void print(const std::string& line);
  /// Replaces the redrawn lines; each is cut to `width` - 1 columns, so that the terminal never wraps it.
  void show(const std::vector<std::string>& lines, std::size_t width);
  void clear();

 private:
  std::string erased() const;

  std::function<void(const std::string&)> write_;
  bool is_live_;
  std::size_t shown_ = 0;
};

/// Writes to standard error.
void write_to_stderr(const std::string& text);

/// A sentence that fits `width` columns: broken between words, further lines indented by two. Blanks that align columns
/// go first.
std::string broken_to_fit(const std::string& sentence, std::size_t width);

/// Writes lines to standard error, and the end of the last one; on a terminal each broken to fit.
void tell_on_stderr(const std::string& text);

}  // namespace nanobench::tools
