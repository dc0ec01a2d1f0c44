#include "tools/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/process/streams.h"

namespace nanobench::tools {

namespace {

std::optional<std::size_t> size_from(const char* variable, long least) {
  const char* text = std::getenv(variable);
  const long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return value >= least && value <= 10000 ? std::optional(static_cast<std::size_t>(value)) : std::nullopt;
}

}  // namespace

bool is_terminal(int fd) {
  const char* kind = std::getenv("TERM");
  return isatty(fd) == 1 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

std::size_t terminal_width(int fd, std::size_t fallback) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return size_from("COLUMNS", 20).value_or(fallback);
}

std::size_t terminal_height(int fd, std::size_t fallback) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return size.ws_row;
  return size_from("LINES", 2).value_or(fallback);
}

bool is_utf8_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    return strcasestr(value, "utf-8") != nullptr || strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

bool has_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(fd) && (no_color == nullptr || *no_color == '\0');
}

StatusLines::StatusLines(std::function<void(const std::string&)> write, bool is_live)
    : write_(std::move(write)), is_live_(is_live) {}

StatusLines::~StatusLines() {
  try {
    clear();
  } catch (...) {  // a destructor must not throw; the terminal may no longer exist
  }
}

/// Goes to the start of the first redrawn line and erases to the end of the screen.
std::string StatusLines::erased() const {
  if (shown_ == 0) return "";
  const std::string up = shown_ > 1 ? "\x1b[" + std::to_string(shown_ - 1) + "A" : "";
  return "\r" + up + "\x1b[J";
}

void StatusLines::print(const std::string& line) {
  write_(erased() + line + "\n");
  shown_ = 0;
}

void StatusLines::show(const std::vector<std::string>& lines, std::size_t width) {
  if (!is_live_ || lines.empty()) return;
  std::string text = erased();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "" : "\n") + shortened(lines[i], width > 1 ? width - 1 : 1);
  }
  write_(text);
  shown_ = lines.size();
}

void StatusLines::clear() {
  if (shown_ > 0) write_(erased());
  shown_ = 0;
}

void write_to_stderr(const std::string& text) {
  core::write_all(STDERR_FILENO, text);  // progress is not worth failing for
}

std::string broken_to_fit(const std::string& sentence, std::size_t width) {
  if (display_width(sentence) <= width) return sentence;
  std::string squeezed;
  for (const char c : sentence) {
    if (c != ' ' || squeezed.empty() || squeezed.back() != ' ') squeezed += c;
  }
  if (display_width(squeezed) <= width) return squeezed;
  constexpr std::size_t kIndent = 2, kMinColumns = 20;
  std::string out;
  for (const std::string& line : wrap(squeezed, std::max(width, kMinColumns + kIndent) - kIndent))
    out += (out.empty() ? "" : "\n" + std::string(kIndent, ' ')) + line;
  return out;
}

void tell_on_stderr(const std::string& text) {
  if (!is_terminal(STDERR_FILENO)) return write_to_stderr(text + "\n");
  const std::size_t width = terminal_width(STDERR_FILENO, 80);
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += broken_to_fit(text.substr(begin, end - begin), width) + "\n";
    begin = end + 1;
  }
  write_to_stderr(out);
}

}  // namespace nanobench::tools
