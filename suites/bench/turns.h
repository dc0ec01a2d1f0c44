/// The order in which commands that are started together run: one at a time, in turns. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace nanobench::suites {

/// A command that is not running: it has not begun, or is paused.
class PausedRun {
 public:
  virtual ~PausedRun() = default;
  /// Runs it for one turn, after which it is paused again. Returns true if it has ended.
  virtual bool run_turn() = 0;
  /// Runs it to its end.
  virtual void run_to_end() = 0;
};

/// Runs all of them to their end. In each pass every command that has not ended has one turn: first in the given order,
/// then in orders that are drawn by the seed, of which none begins with the command that ran last: its caches would be
/// warm, and those of the others cold. The last command that is left runs to its end without a pause. Stops
/// early if `is_interrupted`, and leaves what has not ended paused.
void take_turns(const std::vector<PausedRun*>& runs, std::uint64_t seed, const std::function<bool()>& is_interrupted);

}  // namespace nanobench::suites
