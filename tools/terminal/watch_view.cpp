#include "tools/terminal/watch_view.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "core/base/text.h"
#include "reports/watch/watch_text.h"
#include "tools/terminal/run_progress.h"
#include "tools/terminal/sparkline.h"
#include "tools/terminal/watch_table.h"

namespace nanobench::tools {
namespace {

using reports::RunnerState;
using reports::WatchedRun;
using reports::WatchState;
using Lines = std::vector<StyledLine>;

constexpr std::size_t kLongestSpark = 60;
constexpr std::size_t kShortestSpark = 10;
constexpr std::size_t kMostWarnings = 6;  // where the height has no limit
constexpr std::size_t kMostNodeRuns = 64;

/// How many lines each part may take.
struct Budget {
  std::size_t sentence = 0;  ///< of the runner's sentence
  std::size_t warnings = 0;
  std::size_t node_runs = 0;
  bool has_curves = true;
  bool has_gaps = true;
};

Budget budget_for(std::size_t height) {
  if (height == 0) return {.sentence = 10, .warnings = kMostWarnings, .node_runs = kMostNodeRuns};
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

void add_wrapped(Lines& lines, const std::string& text, Style style, std::size_t width, std::size_t most) {
  const std::vector<std::string> parts = wrap(printable(text), width);
  for (std::size_t i = 0; i < std::min(most, parts.size()); ++i) {
    const bool is_cut = i + 1 == most && i + 1 < parts.size();
    // The cut shows: the line is then as wide as the terminal, and ends in an ellipsis.
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

/// The run's name and how far it is.
StyledLine progress_line(const WatchedRun& run, const WatchStyle& style) {
  const std::size_t most = std::max<std::size_t>(style.width / 3, 12);  // the step matters more than a long label
  std::string label = shortened(printable(run.cell), most) + " seed " + std::to_string(run.seed);
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
    const std::string text = "warning: " + state.warnings[i];
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
