#include "tools/terminal/styled_line.h"

#include <algorithm>

#include "core/base/text.h"

namespace nanobench::tools {
namespace {

constexpr const char* kReset = "\x1b[0m";

const char* code_of(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kBold: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kGood: return "\x1b[32m";
    case Style::kWarning: return "\x1b[33m";
    case Style::kBad: return "\x1b[31m";
  }
  return "";
}

}  // namespace

StyledLine& StyledLine::add(std::string_view text, Style style) {
  pieces_.push_back({printable(text), style});
  return *this;
}

std::string StyledLine::text(std::size_t width, const TerminalKind& kind) const {
  std::string out;
  std::size_t left = width;
  for (std::size_t i = 0; i < pieces_.size() && left > 0; ++i) {
    std::string piece = kind.is_utf8 ? pieces_[i].text : to_ascii(pieces_[i].text);
    // A piece that just fits hides that others follow: with a blank more it is cut, and says so.
    if (i + 1 < pieces_.size() && display_width(piece) == left) piece += ' ';
    piece = cut_to(piece, left, kind.is_utf8);
    left -= display_width(piece);
    const std::string code = kind.has_color ? code_of(pieces_[i].style) : "";
    out += code.empty() ? piece : code + piece + kReset;
  }
  return out;
}

std::string cut_to(std::string_view text, std::size_t width, bool is_utf8) {
  if (is_utf8) return shortened(text, width);
  const std::string ascii = to_ascii(text);
  if (ascii.size() <= width) return ascii;
  const std::size_t dots = std::min<std::size_t>(width, 3);
  return ascii.substr(0, width - dots) + std::string(dots, '.');
}

std::string to_ascii(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    const std::string_view character = text.substr(at, end - at);
    out += character == "±" ? "+-" : character == "…" ? "..." : "?";
    at = end;
  }
  return out;
}

}  // namespace nanobench::tools
