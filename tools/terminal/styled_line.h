/// One line of a display: pieces of text with a style each, cut to the terminal's width before they are coloured.
/// Control characters are removed from every text that is added. Plain value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nanobench::tools {

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad };

/// What the terminal can show.
struct TerminalKind {
  bool has_color = false;
  bool is_utf8 = true;  ///< else only ASCII is written
};

class StyledLine {
 public:
  StyledLine() = default;
  explicit StyledLine(std::string_view text, Style style = Style::kPlain) { add(text, style); }

  StyledLine& add(std::string_view text, Style style = Style::kPlain);

  /// At most `width` columns, with "…" where something is missing.
  std::string text(std::size_t width, const TerminalKind& kind) const;

 private:
  struct Piece {
    std::string text;
    Style style = Style::kPlain;
  };
  std::vector<Piece> pieces_;
};

/// `text` cut to `width` columns, with "…" (or "...") at the end where something is missing.
std::string cut_to(std::string_view text, std::size_t width, bool is_utf8);

/// "±" as "+-", "…" as "...", what else is not ASCII as "?".
std::string to_ascii(std::string_view text);

}  // namespace nanobench::tools
