/// Measures the commands of a Bench round by round, and stores their runs. One call at a time per process: it owns
/// SIGINT and SIGTERM while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/store.h"
#include "suites/bench/bench_suite.h"

namespace nanobench::suites {

/// What is going on, for a display. Methods must be quick: the next command waits for them.
class BenchObserver {
 public:
  virtual ~BenchObserver() = default;
  /// A command around the measured ones begins: "setup", "warm-up", "cleanup".
  virtual void on_stage(const std::string& /*stage*/, const BenchCell& /*cell*/) {}
  /// `rounds` is absent until it is known.
  virtual void on_run(const BenchCell& /*cell*/, int /*round*/, const std::optional<int>& /*rounds*/) {}
  /// About ten times a second while a command runs.
  virtual void on_tick() {}
  /// One sentence for people.
  virtual void on_message(const std::string& /*text*/) {}
};

struct BenchResult {
  std::optional<std::int64_t> plan_id;  ///< absent: nothing was measured
  int rounds = 0;                       ///< planned
  int completed = 0, failed = 0;        ///< runs
  int left_out = 0;                     ///< runs that were not made, because their command fails
  int not_started = 0;                  ///< of `failed`: the program could not be started
  bool is_interrupted = false;
};

/// A command that fails twice in a row in the same way is given up, as is one that cannot be started; the others go on.
/// A kill costs at most the first two rounds, and later the runs of a second; Ctrl-C costs the run in progress. Throws
/// Error{kUnavailable} if a setup command fails; nothing is measured then.
BenchResult run_bench(const Bench& bench, results::Store& store, const std::vector<std::string>& argv,
                      BenchObserver& observer);

}  // namespace nanobench::suites
