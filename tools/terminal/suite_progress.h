/// The progress of a running suite: one line for each finished run and, on a terminal, the current run below. Without a
/// terminal: a line at the start and end of each run and every ten seconds. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/watch/plan_progress.h"
#include "suites/run/runner.h"
#include "tools/terminal/run_meter.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {

/// What the display needs from its environment; tests replace it.
struct DisplayHost {
  std::function<void(const std::string&)> write;  ///< writes to the user
  std::function<double()> now_s;                  ///< a steady clock
  std::function<std::size_t()> width;             ///< current columns of the terminal
  bool is_live = false;                           ///< the output is a terminal that can redraw
  bool has_color = false;
};

/// Standard error of this process.
DisplayHost stderr_display();

class SuiteProgress : public suites::RunnerObserver {
 public:
  /// The finished run's own figures, e.g. "val loss 3.2815  12.34 ms/step"; of a failed run, where its output is.
  using Describe = std::function<std::string(const results::RunRecord&)>;

  /// `jobs`: runs that compute at once. `sides`: what the runs of each plan are called besides, where there are
  /// several.
  SuiteProgress(DisplayHost host, Describe describe, int jobs = 1,
                std::map<const suites::Plan*, std::string> sides = {});

  /// The suite is a part of something longer, of which `text` says how far it is: "look 2, 3m 10s of 10m spent".
  void set_whole(std::function<std::string()> text) { whole_ = std::move(text); }

  void on_plan(const suites::Plan& plan, std::int64_t plan_id, const std::vector<bool>& reusable) override;
  void on_pilot(const suites::Plan& plan, const std::string& cell) override;
  void on_warmup(const suites::Plan& plan, const std::string& cell) override;
  void on_expected(const suites::Plan& plan, const suites::CellSeconds& seconds) override;
  void on_run_left_out(const suites::Plan& plan, const suites::PlannedRun& run) override;
  void on_run_started(const suites::Plan& plan, const suites::PlannedRun& run, std::int64_t run_id) override;
  void on_turn(const suites::Plan& plan, const suites::PlannedRun& run) override;
  void on_event(const suites::Plan& plan, const suites::PlannedRun& run, const core::RunEvent& event) override;
  void on_run_finished(const suites::Plan& plan, const suites::PlannedRun& run, const results::RunRecord& record,
                       bool is_reused) override;
  void on_tick() override;
  void on_message(const std::string& text) override;

  /// Removes the redrawn lines.
  void finish() { lines_.clear(); }

 private:
  /// A run in progress. Its seconds are those of its turns.
  struct ActiveRun {
    RunMeter meter;
    std::string cell;
    std::string label;  ///< "record13 seed 1"
    double waited_s = 0.0;
    std::optional<double> waits_since_s;

    double own_s(double now_s) const { return waits_since_s.value_or(now_s) - waited_s; }
  };

  /// Removes the run from the upcoming ones.
  void begin_run(const suites::Plan& plan, const suites::PlannedRun& run);
  /// "record13 seed 1", "baseline record13 seed 1"
  std::string label_of(const suites::Plan& plan, const suites::PlannedRun& run) const;
  /// A permanent line, broken to fit the terminal.
  void print(const std::string& text);
  void print_failure(const std::string& head, const std::string& text);
  void redraw(bool is_forced);
  void print_plain_line();
  /// The run whose turn it is; null between runs.
  const ActiveRun* shown() const;
  std::string shown_text(const ActiveRun& run, double now_s) const;
  std::string counter(std::size_t done) const;  ///< "[ 3/14]"
  std::string suite_text(double now_s) const;
  std::optional<double> suite_remaining_s(double now_s) const;
  std::string colored(const char* color, const std::string& text) const;

  DisplayHost host_;
  Describe describe_;
  int jobs_;
  std::map<const suites::Plan*, std::string> sides_;
  std::function<std::string()> whole_;  ///< empty: the suite is all
  StatusLines lines_;
  std::size_t total_runs_ = 0;
  std::size_t finished_ = 0;  ///< runs with a result, including reused ones
  std::size_t failed_ = 0;
  std::size_t widest_label_ = 0;
  double started_s_ = 0.0;
  std::set<const suites::PlannedRun*> to_come_;  ///< neither started nor reusable
  std::map<std::string, std::size_t> later_;     ///< number of those, by cell
  reports::TimeLeft times_;                      ///< times of the runs that were actually run
  std::map<const suites::PlannedRun*, ActiveRun> active_;
  const suites::PlannedRun* shown_ = nullptr;
  std::string warmup_;  ///< the cell that is warmed up
  std::string pilot_;   ///< the cell whose first steps are tried
  double last_drawn_s_ = 0.0;
  double last_plain_s_ = 0.0;
};

}  // namespace nanobench::tools
