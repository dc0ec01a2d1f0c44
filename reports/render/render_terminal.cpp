// Tables on a terminal. A table that is too wide is narrowed in steps: running text wraps between words, then spreads
// move below their values. Only then are the columns with the highest priority number dropped, and a line reports them.
// What still does not fit has its intervals on two lines, then names wrap, and words are broken last of all.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "core/base/text.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kGap = 2;               ///< blanks between columns
constexpr std::size_t kMinTextColumns = 16;   ///< running text is not squeezed further, as long as all else fits
constexpr std::size_t kMinBrokenColumns = 8;  ///< if words must be broken
constexpr std::size_t kMaxShownNotes = 3;     ///< per place, if they are folded
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kReset = "\x1b[0m";

std::size_t widest_word(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    widest = std::max(widest, display_width(text.substr(start, end - start)));
    start = end + 1;
  }
  return widest;
}

/// How one table is laid out: which columns, how wide, details beside or below.
class TableLayout {
 public:
  TableLayout(const Table& table, std::size_t width) : table_(table), shown_(table.columns.size()) {
    std::iota(shown_.begin(), shown_.end(), std::size_t{0});
    do {
      for (const Squeeze squeeze : {Squeeze::kNone, Squeeze::kStacks}) {
        if (fit(width, squeeze)) return;
      }
    } while (drop_one());
    for (const Squeeze squeeze :
         {Squeeze::kSplitsDetails, Squeeze::kWrapsNames, Squeeze::kNarrowsText, Squeeze::kBreaksWords}) {
      if (fit(width, squeeze)) return;
    }  // still too wide: the terminal wraps it
  }

  std::string text(std::size_t width, bool has_color) const {
    std::string out;
    std::vector<std::vector<std::string>> head;
    for (const std::size_t column : shown_) head.push_back(title_lines(column));
    out += block(head, has_color ? kBold : "", true);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      out += (i == 0 ? "" : std::string(kGap, ' ')) + std::string(widths_[i], '-');
    }
    out += "\n";
    const std::vector<TableCell>* above = nullptr;
    for (const std::vector<TableCell>& row : table_.rows) {
      std::vector<std::vector<std::string>> cells;
      for (std::size_t i = 0; i < shown_.size(); ++i)
        cells.push_back(cell_lines(row.at(shown_[i]), shown_[i], widths_[i]));
      if (above != nullptr && repeats_name(*above, row)) cells.front() = {""};
      above = &row;
      out += block(cells, "", false);
    }
    return out + left_out(width);
  }

 private:
  /// What a table gives up to fit, each with all before it.
  enum class Squeeze { kNone, kStacks, kSplitsDetails, kWrapsNames, kNarrowsText, kBreaksWords };

  bool wraps(std::size_t column) const {
    const Column& shown = table_.columns[column];
    return shown.wraps || (squeeze_ >= Squeeze::kWrapsNames && !shown.is_number);
  }

  /// Whether the row is about what the row above is about: a name in the first column is not repeated.
  bool repeats_name(const std::vector<TableCell>& above, const std::vector<TableCell>& row) const {
    if (shown_.empty() || table_.columns[shown_.front()].is_number) return false;
    const TableCell& name = row.at(shown_.front());
    return !name.text.empty() && name.text != "-" && name.text == above.at(shown_.front()).text && name.detail.empty();
  }

  std::size_t narrowest(std::size_t column) const {
    if (squeeze_ == Squeeze::kBreaksWords) return kMinBrokenColumns;
    std::size_t width = widest_word(table_.columns[column].title);
    if (squeeze_ < Squeeze::kNarrowsText) width = std::max(width, kMinTextColumns);
    for (const std::vector<TableCell>& row : table_.rows)
      width =
          std::max({width, widest_word(printable(row.at(column).text)), widest_word(printable(row.at(column).detail))});
    return width;
  }

  /// Widths for the shown columns; false when they do not fit. Running text shrinks first, from the widest column.
  bool fit(std::size_t width, Squeeze squeeze) {
    squeeze_ = squeeze;
    widths_.clear();
    std::vector<std::size_t> least;
    for (const std::size_t column : shown_) least.push_back(wraps(column) ? narrowest(column) : 0);
    std::size_t total = shown_.empty() ? 0 : kGap * (shown_.size() - 1);
    for (const std::size_t column : shown_) {
      widths_.push_back(natural_width(column));
      total += widths_.back();
    }
    for (; total > width; --total) {
      std::size_t* widest = nullptr;
      for (std::size_t i = 0; i < shown_.size(); ++i) {
        const bool gives_way = wraps(shown_[i]) && widths_[i] > least[i];
        if (gives_way && (widest == nullptr || widths_[i] > *widest)) widest = &widths_[i];
      }
      if (widest == nullptr) return false;
      --*widest;
    }
    return true;
  }

  bool drop_one() {
    auto worst = std::max_element(shown_.begin(), shown_.end(), [&](std::size_t a, std::size_t b) {
      return table_.columns[a].priority < table_.columns[b].priority;
    });
    if (worst == shown_.end() || table_.columns[*worst].priority == 0) return false;
    dropped_.push_back(table_.columns[*worst].title);
    shown_.erase(worst);
    return true;
  }

  std::string joined(const TableCell& cell) const {
    return printable(cell.detail.empty() ? cell.text : cell.text + " " + cell.detail);
  }

  std::size_t natural_width(std::size_t column) const {
    std::size_t width = widest_word(table_.columns[column].title);
    for (const std::vector<TableCell>& row : table_.rows) {
      const TableCell& cell = row.at(column);
      const bool is_stacked = squeeze_ >= Squeeze::kStacks && !wraps(column);
      const std::string detail = printable(cell.detail);
      const std::size_t below = squeeze_ >= Squeeze::kSplitsDetails ? widest_word(detail) : display_width(detail);
      width = std::max(width,
                       is_stacked ? std::max(display_width(printable(cell.text)), below) : display_width(joined(cell)));
    }
    return width;
  }

  std::vector<std::string> title_lines(std::size_t column) const {
    const auto at = std::find(shown_.begin(), shown_.end(), column) - shown_.begin();
    return wrap(table_.columns[column].title, widths_[static_cast<std::size_t>(at)]);
  }

  std::vector<std::string> cell_lines(const TableCell& cell, std::size_t column, std::size_t width) const {
    if (wraps(column)) {
      std::vector<std::string> lines = wrap(printable(cell.text), width);
      if (cell.detail.empty()) return lines;
      if (cell.text.empty()) lines.clear();
      for (std::string& line : wrap(printable(cell.detail), width)) lines.push_back(std::move(line));
      return lines;
    }
    if (squeeze_ < Squeeze::kStacks || cell.detail.empty()) return {joined(cell)};
    std::vector<std::string> lines = {printable(cell.text)};
    for (std::string& line : wrap(printable(cell.detail), width)) lines.push_back(std::move(line));
    return lines;
  }

  /// Cells of several lines, side by side.
  std::string block(const std::vector<std::vector<std::string>>& cells, const std::string& color,
                    bool at_bottom) const {
    std::size_t height = 0;
    for (const auto& lines : cells) height = std::max(height, lines.size());
    std::string out;
    for (std::size_t line = 0; line < height; ++line) {
      std::string row;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t blank = at_bottom ? height - cells[i].size() : 0;
        const std::string& text = line >= blank && line - blank < cells[i].size() ? cells[i][line - blank] : kEmpty;
        const bool is_number = table_.columns[shown_[i]].is_number;
        if (i > 0) row += std::string(kGap, ' ');
        row += is_number ? pad_left(text, widths_[i]) : pad_right(text, widths_[i]);
      }
      row.erase(row.find_last_not_of(' ') + 1);
      out += color.empty() ? row + "\n" : color + row + kReset + "\n";
    }
    return out;
  }

  std::string left_out(std::size_t width) const {
    if (dropped_.empty()) return "";
    std::string out, line = "(left out to fit: ";
    for (auto name = dropped_.rbegin(); name != dropped_.rend(); ++name) {
      const std::string item = *name + (std::next(name) == dropped_.rend() ? ")" : ",");
      if (display_width(line + item) > width) {
        out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line.clear();
      }
      line += item + " ";
    }
    return out + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  inline static const std::string kEmpty;
  const Table& table_;
  std::vector<std::size_t> shown_;
  std::vector<std::size_t> widths_;
  std::vector<std::string> dropped_;
  Squeeze squeeze_ = Squeeze::kNone;
};

/// `text` wrapped, with `first` before the first line and blanks before the others.
std::string indented(const std::string& first, const std::string& text, std::size_t width) {
  const std::size_t indent = display_width(first);
  std::string out;
  bool is_first = true;
  for (const std::string& line : wrap(printable(text), width > indent + 20 ? width - indent : 20)) {
    out += (is_first ? first : std::string(indent, ' ')) + line + "\n";
    is_first = false;
  }
  return out;
}

std::string facts_text(const std::vector<Fact>& facts, std::size_t width) {
  std::size_t widest = 0;
  for (const Fact& fact : facts) widest = std::max(widest, display_width(printable(fact.title)));
  std::string out;
  for (const Fact& fact : facts) {
    const std::string text = fact.cell.detail.empty() ? fact.cell.text : fact.cell.text + " " + fact.cell.detail;
    out += indented(pad_right(printable(fact.title), widest + kGap), text, width);
  }
  return out;
}

/// Warnings and notes. Folded ones keep a few lines, and the last line counts the rest.
class Remarks {
 public:
  explicit Remarks(const TerminalStyle& style) : style_(style) {}

  void add(std::string& out, const std::vector<std::string>& texts) {
    const std::size_t shown = style_.folds_notes ? std::min(texts.size(), kMaxShownNotes) : texts.size();
    for (std::size_t i = 0; i < shown; ++i) out += styled(kDim, indented("- ", texts[i], style_.width));
    hidden_ += texts.size() - shown;
  }

  void add_warnings(std::string& out, const std::vector<std::string>& warnings) const {
    const std::vector<std::string> lines = counted_texts(warnings);
    if (!lines.empty()) out += "\n";
    const std::size_t shown = style_.folds_notes ? std::min(lines.size(), kMaxShownWarnings) : lines.size();
    for (std::size_t i = 0; i < shown; ++i) out += styled(kYellow, indented("WARNING: ", lines[i], style_.width));
    if (lines.size() > shown) {
      const std::string more = std::to_string(lines.size() - shown) + " more warnings: --notes";
      out += styled(kYellow, indented("WARNING: ", more, style_.width));
    }
  }

  void add_reading(std::string& out, const std::vector<std::string>& texts) {
    if (style_.folds_notes) {
      hidden_ += texts.size();
      return;
    }
    for (const std::string& text : texts) out += styled(kDim, indented("- ", text, style_.width));
  }

  void add_rest(std::string& out) const {
    if (hidden_ == 0) return;
    const std::string count = counted(static_cast<std::int64_t>(hidden_), "more note");
    out += styled(kDim, indented("", count + " on these numbers and how to read them: --notes", style_.width));
  }

  std::string styled(const char* code, const std::string& text) const {
    return style_.has_color ? code + text + kReset : text;
  }

 private:
  const TerminalStyle& style_;
  std::size_t hidden_ = 0;
};

void add_section(std::string& out, const Section& section, const TerminalStyle& style, Remarks& remarks) {
  if (!out.empty()) out += "\n";
  if (!section.title.empty()) out += remarks.styled(kBold, indented("", section.title, style.width));
  for (const std::string& paragraph : section.paragraphs) out += indented("", paragraph, style.width);
  const std::vector<Fact> facts = told_facts(section.facts);
  if (!section.paragraphs.empty() && !facts.empty()) out += "\n";
  out += facts_text(facts, style.width);
  if (!section.bullets.empty()) out += "\n";
  remarks.add(out, section.bullets);
  for (const Table& table : section.tables) {
    if (!table.title.empty()) out += "\n" + remarks.styled(kBold, indented("", table.title, style.width));
    const Table told = without_empty_columns(table);
    out += TableLayout(told, style.width).text(style.width, style.has_color);
  }
  remarks.add_reading(out, section.reading);
}

/// A command is never broken, so that it can be copied.
std::string next_text(const std::vector<NextStep>& steps, const TerminalStyle& style, const Remarks& remarks) {
  if (steps.empty()) return "";
  std::string out = "\n" + remarks.styled(kBold, "Next:") + "\n";
  for (const NextStep& step : steps) {
    out += "  " + printable(style.program + " " + step.command) + "\n";
    out += remarks.styled(kDim, indented("      ", step.gain, style.width));
  }
  return out;
}

}  // namespace

std::string render_terminal(const Document& document, const TerminalStyle& style) {
  Remarks remarks(style);
  std::string out;
  if (!document.title.empty()) out += remarks.styled(kBold, indented("", document.title, style.width));
  if (!document.headline.empty()) out += remarks.styled(kBold, indented("", document.headline, style.width));
  for (const Section& section : document.sections) add_section(out, section, style, remarks);
  remarks.add_warnings(out, document.warnings);
  std::string notes;
  remarks.add(notes, document.notes);
  remarks.add_reading(notes, document.reading);
  remarks.add_rest(notes);
  if (!notes.empty()) out += "\n" + notes;
  return out + next_text(document.next, style, remarks);
}

}  // namespace nanobench::reports
