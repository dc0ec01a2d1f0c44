/// Follows one run: its steps and losses as the store receives them. Each call reads what is new. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/watch/watch_state.h"
#include "results/host_load.h"
#include "results/store.h"

namespace nanobench::reports {

class RunFollower {
 public:
  /// Throws Error{kNotFound}.
  RunFollower(const results::Store& store, std::int64_t run_id);

  std::int64_t id() const { return run_.id; }
  /// The machine's counters when the run began.
  const results::Facts& start_facts() const { return start_facts_; }

  /// `glance`: the same run now; `now_s`: seconds since 1970.
  WatchedRun read(const results::Store& store, const results::RunGlance& glance, double now_s);
  /// The engine's warnings, the newest first.
  std::vector<std::string> warnings(const results::Store& store) const;

 private:
  WatchedRun run_;
  std::vector<results::Sample> step_ms_;
  results::Facts start_facts_;
};

/// Seconds from one stored time of day to another; nullopt for other text. Never negative: clocks differ.
std::optional<double> seconds_between(const std::string& from, double to_s);

}  // namespace nanobench::reports
