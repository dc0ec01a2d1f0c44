/// Follows the tasks of our jobs in Slurm's queue, finds those that will deliver no more results, and decides what
/// happens to their runs. Internal to suites. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/run_choices.h"
#include "suites/slurm/queue.h"

namespace nanobench::suites {

/// A task from which results are still expected.
struct ExpectedTask {
  int submission = 0;
  std::string job_id;
  std::int64_t index = 0;
  bool is_former = false;  ///< submitted by an earlier submitter

  auto key() const { return std::pair(submission, index); }
};

/// A task that is over.
struct GoneTask {
  ExpectedTask task;
  std::string state;             ///< Slurm's last word, or empty
  std::string node;              ///< or empty
  bool was_gone_before = false;  ///< a former task that was already over at the first look
};

class TaskWatch {
 public:
  /// `settle_seconds`: on a network file system, a result may become visible after the end of its task.
  explicit TaskWatch(double settle_seconds) : settle_seconds_(settle_seconds) {}

  /// Compares the expected tasks with the queue at `now_s`, in seconds of a steady clock. Returns the tasks that have
  /// been over for the settling time, each once.
  std::vector<GoneTask> look(const std::vector<ExpectedTask>& expected, const std::vector<QueuedTask>& queue,
                             double now_s);

  /// "2 tasks running, 3 waiting (Priority, Resources)", from the last look; empty if there are none.
  const std::string& summary() const { return summary_; }

 private:
  struct Seen {
    std::string state;
    std::string node;
    std::optional<double> gone_since_s;
    bool was_gone_before = false;
    bool is_told = false;
    bool is_new = true;
  };

  void summarise(const std::vector<const QueuedTask*>& present);

  double settle_seconds_;
  std::map<std::pair<int, std::int64_t>, Seen> seen_;
  std::string summary_;
};

/// After this many infrastructure failures the run counts as crashed.
inline constexpr int kMaxTries = 3;

/// A task that left Slurm without a result for all of its runs.
struct LostTask {
  std::string name;              ///< "Slurm task 123_4"
  std::string state;             ///< Slurm's last word, or empty
  std::string node;              ///< or empty
  std::string last_words;        ///< end of its log
  bool has_begun_any = false;    ///< some run of the task had started
  bool has_begun_first = false;  ///< the first run without a result had started
  bool was_gone_before = false;  ///< it had ended before this submitter started
  int times_submitted = 1;       ///< submissions of the first run without a result
};

/// What happens to its runs without a result: the first one and those after it.
struct LostEnd {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;             ///< one sentence
  bool is_first_stored = true;     ///< the first run gets this outcome
  bool is_first_again = false;     ///< it is resubmitted, whether or not the outcome is stored
  bool are_others_stored = false;  ///< the others get the same outcome; otherwise they are resubmitted
};

/// How the runs of the task ended, and which are resubmitted. Pure.
LostEnd end_of(const LostTask& task);

}  // namespace nanobench::suites
