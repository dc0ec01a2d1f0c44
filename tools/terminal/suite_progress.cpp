#include "tools/terminal/suite_progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/base/text.h"
#include "results/provenance.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainLineSeconds = 10.0;
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kResetStyle = "\x1b[0m";

/// Duration of a run that ended elsewhere; 0 if the store does not have it.
double stored_duration_s(const results::RunRecord& record) {
  const auto end = record.finished_at ? results::seconds_since_epoch(*record.finished_at) : std::nullopt;
  const auto start = results::seconds_since_epoch(record.started_at);
  return end && start ? std::max(0.0, *end - *start) : 0.0;
}

}  // namespace

DisplayHost stderr_display() {
  return {.write = write_to_stderr,
          .now_s =
              [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); },
          .width = [] { return terminal_width(STDERR_FILENO, 80); },
          .is_live = is_terminal(STDERR_FILENO),
          .has_color = has_color(STDERR_FILENO)};
}

SuiteProgress::SuiteProgress(DisplayHost host, Describe describe, int jobs,
                             std::map<const suites::Plan*, std::string> sides)
    : host_(std::move(host)),
      describe_(std::move(describe)),
      jobs_(jobs),
      sides_(std::move(sides)),
      lines_(host_.write, host_.is_live) {}

std::string SuiteProgress::label_of(const suites::Plan& plan, const suites::PlannedRun& run) const {
  const auto side = sides_.find(&plan);
  return (side == sides_.end() ? "" : side->second + " ") + printable(plan.cell_of(run).label) + " seed " +
         std::to_string(run.seed);
}

void SuiteProgress::print(const std::string& text) {
  lines_.print(lines_.is_live() ? broken_to_fit(text, host_.width()) : text);
}

void SuiteProgress::on_plan(const suites::Plan& plan, std::int64_t /*plan_id*/, const std::vector<bool>& reusable) {
  const std::size_t runs = plan.runs.size();  // plans may run in turn
  const auto reused = static_cast<std::size_t>(std::count(reusable.begin(), reusable.end(), true));
  total_runs_ += runs;
  for (std::size_t i = 0; i < runs; ++i) {
    const suites::PlannedRun& run = plan.runs[i];
    if (!reusable[i] && to_come_.insert(&run).second) ++later_[plan.cell_of(run).label];
    widest_label_ = std::max(widest_label_, display_width(label_of(plan, run)));
  }
  started_s_ = host_.now_s();
  const auto side = sides_.find(&plan);
  std::string text = (side == sides_.end() ? "" : side->second + ": ") + plan.suite.name + " at scale " +
                     plan.suite.scale + " on " + plan.data.name + ": " + std::to_string(plan.matrix.cells.size()) +
                     " cells, " + std::to_string(runs) + " runs, " + std::to_string(plan.threads) +
                     (plan.threads == 1 ? " thread" : " threads");
  if (reused > 0) text += "; " + std::to_string(reused) + " are stored already and reused";
  print(printable(text));
}

void SuiteProgress::begin_run(const suites::Plan& plan, const suites::PlannedRun& run) {
  warmup_.clear();
  if (to_come_.erase(&run) > 0) --later_[plan.cell_of(run).label];
}

void SuiteProgress::on_pilot(const suites::Plan& /*plan*/, const std::string& cell) {
  if (!lines_.is_live() && pilot_.empty()) lines_.print("the first steps of each cell");
  pilot_ = printable(cell);
  redraw(true);
}

void SuiteProgress::on_warmup(const suites::Plan& /*plan*/, const std::string& cell) {
  warmup_ = printable(cell);
  if (!lines_.is_live()) lines_.print("warm-up of " + warmup_);
  redraw(true);
}

void SuiteProgress::on_expected(const suites::Plan& /*plan*/, const suites::CellSeconds& seconds) {
  pilot_.clear();
  for (const auto& [cell, value] : seconds) times_.expect(cell, value);
  redraw(true);
}

void SuiteProgress::on_run_left_out(const suites::Plan& plan, const suites::PlannedRun& run) {
  ++finished_;
  ++failed_;
  begin_run(plan, run);
  redraw(true);
}

void SuiteProgress::on_run_started(const suites::Plan& plan, const suites::PlannedRun& run, std::int64_t /*run_id*/) {
  begin_run(plan, run);
  const std::string label = label_of(plan, run);
  active_.insert_or_assign(
      &run, ActiveRun{.meter = RunMeter(run.spec, host_.now_s()), .cell = plan.cell_of(run).label, .label = label});
  shown_ = &run;
  last_plain_s_ = host_.now_s();
  if (!lines_.is_live()) lines_.print(counter(finished_ + active_.size()) + " " + label + ": started");
  redraw(true);
}

void SuiteProgress::on_turn(const suites::Plan& /*plan*/, const suites::PlannedRun& run) {
  const auto active = active_.find(&run);
  if (active == active_.end()) return;
  shown_ = &run;
  if (active->second.waits_since_s) active->second.waited_s += host_.now_s() - *active->second.waits_since_s;
  active->second.waits_since_s.reset();
}

void SuiteProgress::on_event(const suites::Plan& plan, const suites::PlannedRun& run, const core::RunEvent& event) {
  const double now = host_.now_s();
  if (const auto active = active_.find(&run); active != active_.end()) {
    active->second.meter.on_event(event, active->second.own_s(now));
    if (std::holds_alternative<core::TurnEvent>(event)) active->second.waits_since_s = now;
  }
  if (const auto* warning = std::get_if<core::WarningEvent>(&event))
    on_message(label_of(plan, run) + ": " + warning->message);
  redraw(false);
}

const SuiteProgress::ActiveRun* SuiteProgress::shown() const {
  const auto active = active_.find(shown_);
  return active == active_.end() ? nullptr : &active->second;
}

std::string SuiteProgress::shown_text(const ActiveRun& run, double now_s) const {
  std::string text = run.meter.text();
  if (active_.size() > 1)
    return text + "  " + std::to_string(active_.size()) + (jobs_ > 1 ? " runs at once" : " runs in turns");
  if (const auto left = run.meter.remaining_s(run.own_s(now_s))) text += "  " + format_duration(*left) + " left";
  return text;
}

void SuiteProgress::on_run_finished(const suites::Plan& plan, const suites::PlannedRun& run,
                                    const results::RunRecord& record, bool is_reused) {
  ++finished_;
  begin_run(plan, run);
  const auto active = active_.find(&run);
  const bool was_running = active != active_.end() && !is_reused;
  const double duration_s =
      was_running ? active->second.meter.elapsed_s(active->second.own_s(host_.now_s())) : stored_duration_s(record);
  if (was_running) {
    times_.add_finished(plan.cell_of(run).label, duration_s);
    active_.erase(active);
  }
  const bool is_completed = record.is_completed();
  if (!is_completed) ++failed_;
  const std::string head = counter(finished_) + " " + pad_right(label_of(plan, run), widest_label_) + "  ";
  if (is_completed) {
    print(head + describe_(record) + "  " + (is_reused ? "reused" : format_duration(duration_s)));
  } else if (record.result && record.result->outcome != core::RunOutcome::kInterrupted) {
    const std::string reason = record.result->message.empty() ? "" : ": " + record.result->message;
    print_failure(head, enum_name(record.result->outcome) + printable(reason));
    if (const std::string rest = describe_(record); !rest.empty())
      print(std::string(counter(0).size() + 1, ' ') + printable(rest));
  }
  redraw(true);
}

void SuiteProgress::on_tick() {
  redraw(false);
}

/// In red; where it does not fit behind its run, below it.
void SuiteProgress::print_failure(const std::string& head, const std::string& text) {
  if (!lines_.is_live() || display_width(head + text) <= host_.width()) return lines_.print(head + colored(kRed, text));
  lines_.print(broken_to_fit(head.substr(0, head.find_last_not_of(' ') + 1), host_.width()));
  lines_.print(colored(kRed, "  " + broken_to_fit(text, host_.width() - 2)));
}

void SuiteProgress::on_message(const std::string& text) {
  lines_.print(colored(kDim, lines_.is_live() ? broken_to_fit(printable(text), host_.width()) : printable(text)));
  redraw(true);
}

void SuiteProgress::redraw(bool is_forced) {
  const double now = host_.now_s();
  if (!lines_.is_live()) {
    if (shown() != nullptr && now - last_plain_s_ >= kPlainLineSeconds) print_plain_line();
    return;
  }
  if (!is_forced && now - last_drawn_s_ < kRedrawSeconds) return;
  last_drawn_s_ = now;
  std::vector<std::string> lines;
  if (const ActiveRun* const run = shown()) {
    const double fraction = static_cast<double>(run->meter.step()) /
                            static_cast<double>(std::max<std::int64_t>(run->meter.total_steps(), 1));
    lines.push_back(with_bar(run->label, fraction, shown_text(*run, now), host_.width()));
  }
  if (!warmup_.empty()) lines.push_back("warm-up of " + warmup_);
  if (!pilot_.empty()) lines.push_back("the first steps of each cell: " + pilot_);
  lines.push_back(suite_text(now));
  if (whole_) lines.push_back("whole  " + whole_());
  lines_.show(lines, host_.width());
}

void SuiteProgress::print_plain_line() {
  const double now = host_.now_s();
  last_plain_s_ = now;
  std::string line = counter(finished_ + 1) + " " + shown()->label + ": " + shown_text(*shown(), now);
  if (const auto left = suite_remaining_s(now)) line += "; suite " + format_duration(*left) + " left";
  if (whole_) line += "; " + whole_();
  lines_.print(line);
}

std::string SuiteProgress::counter(std::size_t done) const {
  const std::string total = std::to_string(total_runs_);
  return "[" + pad_left(std::to_string(done), total.size()) + "/" + total + "]";
}

std::string SuiteProgress::suite_text(double now_s) const {
  std::string text = "suite  " + std::to_string(finished_) + " of " + std::to_string(total_runs_) + " runs done";
  if (failed_ > 0) text += ", " + std::to_string(failed_) + " failed";
  text += "  " + format_duration(now_s - started_s_) + " so far";
  if (const auto left = suite_remaining_s(now_s)) text += "  about " + format_duration(*left) + " left";
  return text;
}

std::optional<double> SuiteProgress::suite_remaining_s(double now_s) const {
  std::vector<reports::CurrentRun> current;
  for (const auto& [planned, run] : active_) {
    const double own_s = run.own_s(now_s);
    current.push_back({run.cell, run.meter.elapsed_s(own_s), run.meter.remaining_s(own_s)});
  }
  return jobs_ > 1 ? times_.remaining_at_once_s(later_, current) : times_.remaining_in_turns_s(later_, current);
}

std::string SuiteProgress::colored(const char* color, const std::string& text) const {
  return host_.has_color ? color + text + kResetStyle : text;
}

}  // namespace nanobench::tools
