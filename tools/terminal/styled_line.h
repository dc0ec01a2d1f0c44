/// One line of a display, or a curve in one line. A line consists of styled pieces of text, cut to the terminal's width
/// before they are coloured. Control characters are removed from every text that is added. Plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/records.h"

namespace nanobench::tools {

/// Steps 0 to `last_step` over `width` columns, as far as the samples (ascending steps) reach. The height of a column
/// is the mean of its samples, or the previous height if it has none; "!" marks a column without a finite sample.
/// Losses fall steeply at first, so the highest tenth of the columns is drawn full. Uses blocks of eight heights, or
/// ASCII.
std::string sparkline(const std::vector<results::Sample>& samples, std::int64_t last_step, std::size_t width,
                      bool is_utf8);

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad };

/// What the terminal can show.
struct TerminalKind {
  bool has_color = false;
  bool is_utf8 = true;  ///< false: only ASCII is written
};

class StyledLine {
 public:
  StyledLine() = default;
  explicit StyledLine(std::string_view text, Style style = Style::kPlain) { add(text, style); }

  StyledLine& add(std::string_view text, Style style = Style::kPlain);

  /// At most `width` columns, with "…" if text was cut.
  std::string text(std::size_t width, const TerminalKind& kind) const;

 private:
  struct Piece {
    std::string text;
    Style style = Style::kPlain;
  };
  std::vector<Piece> pieces_;
};

/// `text` cut to `width` columns, with "…" (or "...") at the end if text was cut.
std::string cut_to(std::string_view text, std::size_t width, bool is_utf8);

/// "±" becomes "+-", "…" becomes "...", any other non-ASCII character "?".
std::string to_ascii(std::string_view text);

}  // namespace nanobench::tools
