#include "tools/terminal/watch_view.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

#include "core/base/text.h"
#include "reports/watch/watch_text.h"
#include "tools/terminal/run_meter.h"
#include "tools/terminal/styled_line.h"

namespace nanobench::tools {
namespace {

using reports::CellState;
using reports::RunnerState;
using reports::Summary;
using reports::WatchedCell;
using reports::WatchedRun;
using reports::WatchState;
using Lines = std::vector<StyledLine>;

constexpr std::size_t kLongestSpark = 60;
constexpr std::size_t kShortestSpark = 10;
constexpr std::size_t kMaxWarnings = 6;  // if the height is unlimited
constexpr std::size_t kMaxNodeRuns = 64;
constexpr std::size_t kGap = 2;
constexpr std::size_t kLongestLabel = 40;
constexpr std::size_t kShortestLabel = 10;
constexpr std::size_t kShortestState = 10;

/// The columns of a row besides label and state. A narrow terminal drops spreads first, then times.
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

/// The texts of a row, without the state.
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

struct CellsLayout {
  Columns columns;
  std::vector<std::size_t> widths;
  bool is_utf8 = true;
};

/// The most that fits; labels are cut before times are dropped.
CellsLayout layout_for(const std::vector<WatchedCell>& cells, std::size_t width, bool is_utf8) {
  CellsLayout layout;
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

StyledLine line_of(const std::vector<std::string>& texts, const CellsLayout& layout, Style style) {
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

StyledLine row_of(const WatchedCell& cell, const CellsLayout& layout) {
  const Style style = style_of(cell.state);
  StyledLine line = line_of(texts_of(cell, layout.columns, layout.is_utf8), layout,
                            cell.state == CellState::kRunning ? Style::kBold : Style::kPlain);
  const bool says_more = cell.state == CellState::kFailed || cell.state == CellState::kDiverged;
  // How it ended begins with the seed and the outcome.
  return line.add(says_more && cell.end ? text_of(*cell.end) : enum_name(cell.state), style);
}

/// "9 done, 3 waiting"
std::string states_text(const std::vector<WatchedCell>& cells, std::size_t first, std::size_t end) {
  std::map<CellState, int> counts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i < first || i >= end) ++counts[cells[i].state];
  }
  std::vector<std::string> parts;
  for (const CellState state : {CellState::kFailed, CellState::kDiverged, CellState::kRunning, CellState::kDone,
                                CellState::kQueued, CellState::kWaiting}) {
    if (counts[state] > 0) parts.push_back(std::to_string(counts[state]) + " " + enum_name(state));
  }
  return joined(parts);
}

/// The first of `rows` rows to show: one before the running cell, else one before the first waiting cell.
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

/// A header and one row per cell, fitted to `width`. If `height` (0: no limit) allows fewer lines than cells, shows the
/// rows around the running cell and the number of the others.
std::vector<StyledLine> cell_lines(const std::vector<WatchedCell>& cells, std::size_t width, std::size_t height,
                                   bool is_utf8) {
  std::vector<StyledLine> lines;
  if (height > 0 && height < 2) return lines;
  const CellsLayout layout = layout_for(cells, width, is_utf8);
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

/// The number of lines that each part may take.
struct Budget {
  std::size_t sentence = 0;  ///< lines of the runner's sentence
  std::size_t warnings = 0;
  std::size_t node_runs = 0;
  bool has_curves = true;
  bool has_gaps = true;
};

Budget budget_for(std::size_t height) {
  if (height == 0) return {.sentence = 10, .warnings = kMaxWarnings, .node_runs = kMaxNodeRuns};
  if (height < 14) return {.sentence = 2, .warnings = 1, .node_runs = 2, .has_curves = false, .has_gaps = false};
  if (height < 24) return {.sentence = 2, .warnings = 2, .node_runs = 3, .has_gaps = false};
  return {.sentence = 3, .warnings = height / 6, .node_runs = height / 5};
}

Style style_of(RunnerState state) {
  switch (state) {
    case RunnerState::kRunning:
    case RunnerState::kEnded: return Style::kGood;
    case RunnerState::kBetween:
    case RunnerState::kQueued:
    case RunnerState::kNotBegun: return Style::kPlain;
    case RunnerState::kStopped:
    case RunnerState::kGone:
    case RunnerState::kSilent: return Style::kWarning;
  }
  return Style::kPlain;
}

void add_wrapped(Lines& lines, const std::string& text, Style style, std::size_t width, std::size_t max_lines) {
  const std::vector<std::string> parts = wrap(printable(text), width);
  for (std::size_t i = 0; i < std::min(max_lines, parts.size()); ++i) {
    const bool is_cut = i + 1 == max_lines && i + 1 < parts.size();
    // The cut is visible: the line is then as wide as the terminal and ends with an ellipsis.
    lines.emplace_back(is_cut ? parts[i] + " " + parts[i + 1] : parts[i], style);
  }
}

Lines head_lines(const WatchState& state, const WatchStyle& style, const Budget& budget) {
  Lines lines;
  lines.emplace_back(reports::plan_text(state), Style::kBold);
  if (!state.problem.empty()) add_wrapped(lines, state.problem, Style::kBad, style.width, budget.sentence);
  add_wrapped(lines, reports::runner_text(state), style_of(state.runner.state), style.width, budget.sentence);
  std::string ended = reports::counts_text(state.lines);
  if (state.remaining_s) ended += ", about " + format_duration(*state.remaining_s) + " left";
  lines.emplace_back(with_bar("suite", reports::done_fraction(state), ended, style.width));
  std::string parts = reports::parts_text(state.lines);
  if (state.elapsed_s) {
    const std::string time = format_duration(*state.elapsed_s);
    parts += (parts.empty() ? "" : ", ") + (state.has_ended() ? "took " + time : time + " so far");
  }
  lines.emplace_back(parts, Style::kDim);
  return lines;
}

std::string step_text(const WatchedRun& run) {
  std::string text = "step " + std::to_string(run.step);
  if (run.total_steps) text += "/" + std::to_string(*run.total_steps);
  const auto add_loss = [&](const char* name, const std::vector<results::Sample>& samples) {
    if (!samples.empty()) text += std::string("  ") + name + " " + format_fixed(samples.back().value, 4);
  };
  add_loss("loss", run.train_losses);
  add_loss("val", run.val_losses);
  if (run.step_ms) text += "  " + format_significant(*run.step_ms, 3) + " ms/step";
  if (run.remaining_s) text += "  " + format_duration(*run.remaining_s) + " left";
  return text;
}

/// "  train  ▇▅▃▂▁▁  5.5102 to 3.4512"
StyledLine curve_line(const char* name, const std::vector<results::Sample>& samples, const WatchedRun& run,
                      const WatchStyle& style) {
  const std::string label = std::string("  ") + name + "  ";
  const std::string ends =
      "  " + format_fixed(samples.front().value, 4) + " to " + format_fixed(samples.back().value, 4);
  const std::size_t used = label.size() + ends.size();
  const std::size_t room = std::min(kLongestSpark, style.width > used ? style.width - used : 0);
  StyledLine line(label, Style::kDim);
  if (room >= kShortestSpark)
    line.add(sparkline(samples, run.total_steps.value_or(run.step), room, style.terminal.is_utf8));
  return line.add(ends, Style::kDim);
}

/// The name of the run and its progress.
StyledLine progress_line(const WatchedRun& run, const WatchStyle& style) {
  const std::size_t max_label = std::max<std::size_t>(style.width / 3, 12);  // the step matters more than a long label
  std::string label = shortened(printable(run.cell), max_label) + " seed " + std::to_string(run.seed);
  if (!run.host.empty()) label += " " + shortened(printable(run.host), 16);
  if (!run.total_steps || *run.total_steps <= 0) return StyledLine(label + "  " + step_text(run));
  const double fraction = static_cast<double>(run.step) / static_cast<double>(*run.total_steps);
  return StyledLine(with_bar(label, fraction, step_text(run), style.width));
}

void add_run_lines(Lines& lines, const WatchedRun& run, const WatchStyle& style, const Budget& budget) {
  lines.push_back(progress_line(run, style));
  if (!budget.has_curves) return;
  if (!run.train_losses.empty()) lines.push_back(curve_line("train", run.train_losses, run, style));
  if (!run.val_losses.empty()) lines.push_back(curve_line("val  ", run.val_losses, run, style));
}

Lines run_lines(const WatchState& state, const WatchStyle& style, const Budget& budget) {
  Lines lines;
  if (state.run) add_run_lines(lines, *state.run, style, budget);
  const std::size_t all = state.node_runs.size();
  if (all == 1) {
    add_run_lines(lines, state.node_runs.front(), style, budget);
    return lines;
  }
  const std::size_t shown = all <= budget.node_runs ? all : budget.node_runs - 1;
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(progress_line(state.node_runs[i], style));
  if (shown < all) lines.emplace_back("… " + std::to_string(all - shown) + " more runs on nodes", Style::kDim);
  return lines;
}

Lines warning_lines(const WatchState& state, const WatchStyle& style, const Budget& budget) {
  Lines lines;
  const std::size_t all = state.warnings.size();
  const bool is_whole = all <= budget.warnings;
  const std::size_t shown = is_whole ? all : budget.warnings - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string text = "warning: " + text_of(state.warnings[i]);
    if (style.height > 0)
      lines.emplace_back(text, Style::kWarning);
    else
      add_wrapped(lines, text, Style::kWarning, style.width, text.size());
  }
  if (!is_whole) {
    const std::string more = shown > 0 ? " more warnings" : " warnings";
    lines.emplace_back("… " + std::to_string(all - shown) + more, Style::kWarning);
  }
  return lines;
}

std::size_t lines_of(std::initializer_list<const Lines*> parts, bool has_gaps) {
  std::size_t count = 0;
  for (const Lines* part : parts) count += part->size() + (has_gaps && !part->empty() ? 1 : 0);
  return count;
}

}  // namespace

std::vector<std::string> watch_lines(const WatchState& state, const WatchStyle& style) {
  const Budget budget = budget_for(style.height);
  const Lines head = head_lines(state, style, budget);
  const Lines run = run_lines(state, style, budget);
  const Lines warnings = warning_lines(state, style, budget);
  Lines foot;
  if (state.machine) foot.emplace_back(reports::machine_text(*state.machine), Style::kDim);
  if (style.has_keys) foot.emplace_back("q quits", Style::kDim);
  std::size_t room = 0;
  if (style.height > 0) {
    const std::size_t used = lines_of({&head, &run, &warnings, &foot}, budget.has_gaps);
    room = style.height > used ? style.height - used : 1;
  }
  const Lines cells = cell_lines(state.cells, style.width, room, style.terminal.is_utf8);
  std::vector<std::string> out;
  for (const Lines* part : std::initializer_list<const Lines*>{&head, &run, &cells, &warnings, &foot}) {
    if (part->empty()) continue;
    if (budget.has_gaps && !out.empty()) out.emplace_back();
    for (const StyledLine& line : *part) out.push_back(line.text(style.width, style.terminal));
  }
  if (style.height > 0 && out.size() > style.height) out.resize(style.height);
  return out;
}

}  // namespace nanobench::tools
