#include "tools/cli/help_text.h"

#include <algorithm>
#include <vector>

#include "core/base/text.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

constexpr std::size_t kMinExplanation = 24;  ///< columns; with fewer, an explanation is below what it explains
constexpr std::size_t kFullLine = 80;        ///< a paragraph's line of at least that length continues in the next one

std::size_t leading_spaces(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// Where the explanation begins, behind two spaces or more; npos if there is none.
std::size_t explanation_of(std::string_view line) {
  const std::size_t gap = line.find("  ", leading_spaces(line));
  return gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

void add_wrapped(std::string& text, const std::string& begin, std::string_view rest, std::size_t indent,
                 std::size_t width) {
  std::string line = begin;
  for (const std::string& part : wrap(rest, width - indent)) {
    line.resize(indent, ' ');
    text += line + part + "\n";
    line.clear();
  }
}

/// With the shell's sign that the command goes on, so that it can be copied.
void add_command(std::string& text, std::string_view command, std::size_t indent, std::size_t width) {
  const std::vector<std::string> parts = wrap(command, width - indent - 4);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += std::string(indent + (i > 0 ? 2 : 0), ' ') + parts[i];
    text += i + 1 < parts.size() ? " \\\n" : "\n";
  }
}

void add_line(std::string& text, const std::string& line, std::size_t width) {
  if (display_width(line) <= width) {
    text += line + "\n";
    return;
  }
  const std::size_t indent = leading_spaces(line), explanation = explanation_of(line);
  if (explanation != std::string_view::npos) {
    const std::string words = line.substr(0, explanation);
    const std::size_t columns = std::max(kMinExplanation, longest_word(std::string_view(line).substr(explanation)));
    const bool fits_beside = explanation + columns <= width;
    if (!fits_beside) add_line(text, words.substr(0, words.find_last_not_of(' ') + 1), width);
    const std::size_t column = fits_beside ? explanation : indent + 4;
    return add_wrapped(text, fits_beside ? words : "", std::string_view(line).substr(explanation), column, width);
  }
  if (indent + kMinExplanation > width) {
    text += line + "\n";
    return;
  }
  const std::string_view words = std::string_view(line).substr(indent);
  if (indent > 0 && words.starts_with("nanobench ")) return add_command(text, words, indent, width);
  add_wrapped(text, "", words, indent, width);
}

}  // namespace

std::string wrapped_help(std::string_view help, std::size_t width) {
  std::string text, line;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view next = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    line += next;
    const bool continues = next.size() >= kFullLine && leading_spaces(next) == 0 && !help.empty() &&
                           help.front() != '\n' && help.front() != ' ' && line.size() > width;
    if (continues) {
      line += ' ';
      continue;
    }
    add_line(text, line, width);
    line.clear();
  }
  return text;
}

std::string help_for(int fd, const std::string& help) {
  const std::size_t width = terminal_width(fd, 0);
  return width == 0 ? help : wrapped_help(help, width);
}

}  // namespace nanobench::tools
