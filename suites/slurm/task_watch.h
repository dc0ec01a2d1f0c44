/// Follows the tasks of our jobs in Slurm's queue, finds those that will bring no more results, and decides what
/// becomes of their runs. Internal to suites. Not thread-safe.
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

/// A task that results are still expected from.
struct ExpectedTask {
  int submission = 0;
  std::string job_id;
  std::int64_t index = 0;
  bool is_former = false;  ///< handed over by an earlier submitter

  auto key() const { return std::pair(submission, index); }
};

/// One that is over.
struct GoneTask {
  ExpectedTask task;
  std::string state;             ///< Slurm's last word, or empty
  std::string node;              ///< or empty
  bool was_gone_before = false;  ///< a former one that was over at the first look already
};

class TaskWatch {
 public:
  /// `settle_seconds`: a result may be seen later than the end of its task, on a network's file system.
  explicit TaskWatch(double settle_seconds) : settle_seconds_(settle_seconds) {}

  /// Compares what is expected with the queue, at a moment of a steady clock in seconds. Returns the tasks that have
  /// been over for the time to settle; each once.
  std::vector<GoneTask> look(const std::vector<ExpectedTask>& expected, const std::vector<QueuedTask>& queue,
                             double now_s);

  /// "2 tasks running, 3 waiting (Priority, Resources)", of the last look; empty when none is there.
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

/// After so many failures of the machinery the run counts as crashed.
inline constexpr int kMaxTries = 3;

/// A task that left Slurm without a result for all of its runs.
struct LostTask {
  std::string name;              ///< "Slurm task 123_4"
  std::string state;             ///< Slurm's last word, or empty
  std::string node;              ///< or empty
  std::string last_words;        ///< of its log
  bool has_begun_any = false;    ///< some run of the task had begun
  bool has_begun_first = false;  ///< the first one without a result had
  bool was_gone_before = false;  ///< it had ended before this submitter began
  int times_submitted = 1;       ///< of the first one without a result
};

/// What becomes of its runs without a result, the first one and those after it.
struct LostEnd {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;             ///< one sentence
  bool is_first_stored = true;     ///< the first one gets this outcome
  bool is_first_again = false;     ///< it is handed over again, whether or not the outcome is stored
  bool are_others_stored = false;  ///< the others get the same outcome; otherwise they are handed over again
};

/// How the runs of the task ended, and which are handed over again. Pure.
LostEnd end_of(const LostTask& task);

}  // namespace nanobench::suites
