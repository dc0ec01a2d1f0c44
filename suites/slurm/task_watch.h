/// Follows the tasks of our jobs in Slurm's queue and finds those that will bring no more results. Internal to suites.
/// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace nanobench::suites
