/// The progress of a run on its node, in a growing file in the shared folder: for display only, never for results. JSON
/// Lines; the first line describes the run, and each later one adds what happened since:
///
///   {"host": "nano1", "started_at": "2026-01-31T23:59:59.123Z", "steps": 1490}
///   {"at": 12.5, "step": 17, "loss": 5.1, "step_ms": 98.2, "val": [[0, 5.5], [10, 5.2]]}
///
/// `at`: seconds since the start by the node's steady clock, `step`: completed steps, `loss`: loss of the last one,
/// `step_ms`: mean of the steps since the previous line, `val`: validations. All but `at` may be absent: a line with
/// only `at` shows that the task is alive. Internal to suites and reports/watch. Not thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/process/streams.h"
#include "core/protocol/run_event.h"
#include "results/records.h"

namespace nanobench::suites {

struct ProgressHead {
  std::string host;
  std::string started_at;
  std::optional<std::int64_t> steps;  ///< absent for an external trainer
};

struct ProgressLine {
  double at_s = 0.0;
  std::optional<std::int64_t> step;
  std::optional<double> loss;
  std::optional<double> step_ms;
  std::vector<results::Sample> val_losses;
};

/// Includes the newline.
std::string to_line(const ProgressHead& head);
std::string to_line(const ProgressLine& line);
/// nullopt for any invalid line.
std::optional<ProgressHead> parse_progress_head(std::string_view line);
std::optional<ProgressLine> parse_progress_line(std::string_view line);

/// The contents of the file so far.
struct NodeProgress {
  ProgressHead head;
  double at_s = 0.0;
  std::int64_t step = 0;
  std::vector<results::Sample> train_losses;  ///< ascending steps, like val_losses
  std::vector<results::Sample> val_losses;
  std::optional<double> step_ms;  ///< mean of the last steps

  void add(const ProgressLine& line);
};

/// Each call reads what is new. A file that is replaced (Slurm restarted the task) is read from its start. A line
/// without its newline waits for the rest.
class ProgressReader {
 public:
  explicit ProgressReader(std::filesystem::path file) : file_(std::move(file)) {}

  /// True if there was something new. A missing or currently unreadable file has nothing new.
  bool update();
  /// nullopt before the first whole line.
  const std::optional<NodeProgress>& progress() const { return progress_; }

 private:
  void take(std::string_view line);

  std::filesystem::path file_;
  std::pair<std::uint64_t, std::uint64_t> mark_ = {};  ///< device and inode number of the file
  std::int64_t offset_ = 0;
  core::LineCutter lines_;
  std::optional<NodeProgress> progress_;
};

/// Writes the file from its own thread, so that a slow or hanging share delays neither the reading of events nor the
/// engine. Writes little: one line per second at first, one every ten seconds in a long run. Write failures are
/// ignored. see() may be called by one thread at a time.
class ProgressWriter {
 public:
  /// Replaces `file`; its folder must exist, else nothing is written.
  ProgressWriter(std::filesystem::path file, ProgressHead head);
  /// Writes the remaining data.
  ~ProgressWriter();
  ProgressWriter(const ProgressWriter&) = delete;
  ProgressWriter& operator=(const ProgressWriter&) = delete;

  void see(const core::RunEvent& event);

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  /// Returns the line for the data since the previous one, and clears that data.
  ProgressLine next_line();
  double seconds() const;

  const std::filesystem::path file_;
  const ProgressHead head_;
  const Clock::time_point started_ = Clock::now();

  std::mutex mutex_;  ///< guards all members below, except the thread
  std::condition_variable wake_;
  bool is_ending_ = false;
  ProgressLine pending_;
  double step_ms_sum_ = 0.0;
  int steps_ = 0;  ///< number of steps in the sum

  std::thread thread_;
};

}  // namespace nanobench::suites
