/// Takes over the terminal for a display that is redrawn: the alternate screen, and single keys without echo if
/// standard input is also the terminal. The destructor restores everything. The cursor stays visible, so a kill -9
/// leaves little behind; `reset` restores the rest.
///
/// One at a time in a process; not thread-safe.
#pragma once

#include <termios.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::tools {

class FullScreen {
 public:
  /// `output` must be a terminal.
  FullScreen(int input, int output);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  /// Current columns and lines of the terminal.
  std::size_t width() const;
  std::size_t height() const;
  bool has_keys() const { return has_keys_; }

  /// Returns false if the terminal no longer exists.
  bool draw(const std::vector<std::string>& lines);

  /// Waits until a key is pressed, the window is resized, `wake_fd` is readable, or the time is up. Returns the key, or
  /// nullopt. The end of the input counts as the key 'q'. Ctrl-Z stops the program until it is continued.
  std::optional<char> wait(double seconds, int wake_fd);

 private:
  void enter();
  void leave();
  void suspend();
  std::optional<char> read_key();

  int input_, output_;
  bool has_keys_ = false;
  termios former_ = {};
  struct sigaction former_resize_ = {};
};

}  // namespace nanobench::tools
