/// How busy this machine is, over the last seconds. Reads /proc. Not thread-safe.
#pragma once

#include <deque>
#include <optional>

#include "reports/watch/watch_state.h"
#include "results/host_load.h"

namespace nanobench::reports {

class MachineWatch {
 public:
  /// Shares are over the last readings; at the first one since `start`, facts of a run of this machine with the prefix
  /// "start/", and absent without them.
  WatchedMachine read(const results::Facts& start);

 private:
  std::deque<results::Facts> readings_;  ///< with the prefix "start/"; the newest last
};

}  // namespace nanobench::reports
