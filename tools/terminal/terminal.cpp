#include "tools/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace nanobench::tools {

bool is_terminal(int fd) {
  const char* kind = std::getenv("TERM");
  return isatty(fd) == 1 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

std::size_t terminal_width(int fd, std::size_t fallback) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const long value = std::strtol(columns, nullptr, 10);
    if (value >= 20 && value <= 10000) return static_cast<std::size_t>(value);
  }
  return fallback;
}

bool has_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(fd) && (no_color == nullptr || *no_color == '\0');
}

}  // namespace nanobench::tools
