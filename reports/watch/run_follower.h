/// Follows one run: its steps and losses as the store receives them. Each call reads only what is new. Not thread-safe.
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

  /// `glance`: the current state of the same run; `now_s`: seconds since 1970.
  WatchedRun read(const results::Store& store, const results::RunGlance& glance, double now_s);
  /// The engine's warnings, newest first.
  std::vector<WatchWarning> warnings(const results::Store& store) const;

 private:
  WatchedRun run_;
  std::vector<results::Sample> step_ms_;
  results::Facts start_facts_;
};

/// Seconds from a stored timestamp to `to_s`; nullopt if the text is not a timestamp. Never negative, even though
/// clocks differ.
std::optional<double> seconds_between(const std::string& from, double to_s);

}  // namespace nanobench::reports
