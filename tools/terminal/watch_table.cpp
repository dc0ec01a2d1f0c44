#include "tools/terminal/watch_table.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"

namespace nanobench::tools {
namespace {

using reports::CellState;
using reports::Summary;
using reports::WatchedCell;

constexpr std::size_t kGap = 2;
constexpr std::size_t kLongestLabel = 40;
constexpr std::size_t kShortestLabel = 10;
constexpr std::size_t kShortestState = 10;

/// What a row says beside the label and the state; spreads and then times go where there is no room.
struct Columns {
  bool has_loss_spread = true;
  bool has_time_spread = true;
  bool has_time = true;
};
constexpr Columns kChoices[] = {{true, true, true}, {true, false, true}, {false, false, true}, {false, false, false}};

std::string summary_text(const Summary& summary, int digits, bool has_spread) {
  if (!summary.mean) return "-";
  std::string text = format_fixed(*summary.mean, digits);
  if (has_spread && summary.sd) text += " ±" + format_fixed(*summary.sd, digits);
  return text;
}

/// A row's texts but the state's.
std::vector<std::string> texts_of(const WatchedCell& cell, const Columns& columns, bool is_utf8) {
  std::vector<std::string> texts = {printable(cell.label),
                                    std::to_string(cell.finished) + "/" + std::to_string(cell.planned),
                                    summary_text(cell.val_loss, 4, columns.has_loss_spread)};
  if (columns.has_time) texts.push_back(summary_text(cell.step_ms, 2, columns.has_time_spread));
  if (!is_utf8) std::transform(texts.begin(), texts.end(), texts.begin(), to_ascii);
  return texts;
}

std::vector<std::string> titles_of(const Columns& columns) {
  std::vector<std::string> titles = {"cell", "n", "val loss"};
  if (columns.has_time) titles.push_back("step ms");
  return titles;
}

std::vector<std::size_t> widths_of(const std::vector<WatchedCell>& cells, const Columns& columns, bool is_utf8) {
  std::vector<std::size_t> widths;
  for (const std::string& title : titles_of(columns)) widths.push_back(title.size());
  for (const WatchedCell& cell : cells) {
    const std::vector<std::string> texts = texts_of(cell, columns, is_utf8);
    for (std::size_t i = 0; i < texts.size(); ++i) widths[i] = std::max(widths[i], display_width(texts[i]));
  }
  widths[0] = std::min(widths[0], kLongestLabel);
  return widths;
}

struct Layout {
  Columns columns;
  std::vector<std::size_t> widths;
  bool is_utf8 = true;
};

/// The most that fits; labels give way before times do.
Layout layout_for(const std::vector<WatchedCell>& cells, std::size_t width, bool is_utf8) {
  Layout layout;
  for (const Columns& columns : kChoices) {
    layout = {columns, widths_of(cells, columns, is_utf8), is_utf8};
    std::size_t needed = kShortestState;
    for (const std::size_t column : layout.widths) needed += column + kGap;
    if (needed <= width) return layout;
    const std::size_t missing = needed - width;
    if (columns.has_loss_spread || layout.widths[0] < missing + kShortestLabel) continue;
    layout.widths[0] -= missing;
    return layout;
  }
  layout.widths[0] = std::min(layout.widths[0], kShortestLabel);
  return layout;
}

Style style_of(CellState state) {
  switch (state) {
    case CellState::kWaiting:
    case CellState::kQueued: return Style::kDim;
    case CellState::kRunning: return Style::kBold;
    case CellState::kDone: return Style::kGood;
    case CellState::kFailed: return Style::kBad;
    case CellState::kDiverged: return Style::kWarning;
  }
  return Style::kPlain;
}

StyledLine line_of(const std::vector<std::string>& texts, const Layout& layout, Style style) {
  StyledLine line;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = cut_to(texts[i], layout.widths[i], layout.is_utf8);
    const bool is_label = i == 0;
    line.add((is_label ? "" : std::string(kGap, ' ')) +
                 (is_label ? pad_right(text, layout.widths[i]) : pad_left(text, layout.widths[i])),
             style);
  }
  return line.add(std::string(kGap, ' '));
}

StyledLine row_of(const WatchedCell& cell, const Layout& layout) {
  const Style style = style_of(cell.state);
  StyledLine line = line_of(texts_of(cell, layout.columns, layout.is_utf8), layout,
                            cell.state == CellState::kRunning ? Style::kBold : Style::kPlain);
  const bool says_more = cell.state == CellState::kFailed || cell.state == CellState::kDiverged;
  // The reason begins with the seed and the outcome.
  return line.add(says_more && !cell.reason.empty() ? cell.reason : to_string(cell.state), style);
}

/// "9 done, 3 waiting"
std::string states_text(const std::vector<WatchedCell>& cells, std::size_t first, std::size_t end) {
  std::map<CellState, int> counts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i < first || i >= end) ++counts[cells[i].state];
  }
  std::string text;
  for (const CellState state : {CellState::kFailed, CellState::kDiverged, CellState::kRunning, CellState::kDone,
                                CellState::kQueued, CellState::kWaiting}) {
    if (counts[state] > 0) text += (text.empty() ? "" : ", ") + std::to_string(counts[state]) + " " + to_string(state);
  }
  return text;
}

/// The first of `rows` rows to show: one before the running cell, else before the first that waits.
std::size_t first_row(const std::vector<WatchedCell>& cells, std::size_t rows) {
  const auto is_in = [](CellState state) { return [state](const WatchedCell& cell) { return cell.state == state; }; };
  auto at = std::find_if(cells.begin(), cells.end(), is_in(CellState::kRunning));
  if (at == cells.end()) at = std::find_if(cells.begin(), cells.end(), is_in(CellState::kFailed));
  if (at == cells.end()) at = std::find_if(cells.begin(), cells.end(), is_in(CellState::kQueued));
  if (at == cells.end()) at = std::find_if(cells.begin(), cells.end(), is_in(CellState::kWaiting));
  if (at == cells.end()) at = cells.begin();
  const auto index = static_cast<std::size_t>(at - cells.begin());
  return std::min(index - std::min<std::size_t>(index, 1), cells.size() - rows);
}

}  // namespace

std::vector<StyledLine> cell_lines(const std::vector<WatchedCell>& cells, std::size_t width, std::size_t height,
                                   bool is_utf8) {
  std::vector<StyledLine> lines;
  if (height > 0 && height < 2) return lines;
  const Layout layout = layout_for(cells, width, is_utf8);
  lines.push_back(line_of(titles_of(layout.columns), layout, Style::kDim).add("state", Style::kDim));
  const bool is_whole = height == 0 || cells.size() < height;
  const std::size_t rows = is_whole ? cells.size() : height - 2;
  const std::size_t first = is_whole ? 0 : first_row(cells, rows);
  for (std::size_t i = first; i < first + rows; ++i) lines.push_back(row_of(cells[i], layout));
  if (!is_whole) {
    lines.emplace_back("… " + std::to_string(cells.size() - rows) + " more: " + states_text(cells, first, first + rows),
                       Style::kDim);
  }
  return lines;
}

}  // namespace nanobench::tools
