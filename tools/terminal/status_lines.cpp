#include "tools/terminal/status_lines.h"

#include <unistd.h>

#include <utility>

#include "core/base/text.h"
#include "core/process/streams.h"

namespace nanobench::tools {

StatusLines::StatusLines(std::function<void(const std::string&)> write, bool is_live)
    : write_(std::move(write)), is_live_(is_live) {}

StatusLines::~StatusLines() {
  try {
    clear();
  } catch (...) {  // a destructor does not throw; the terminal may be gone
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

}  // namespace nanobench::tools
