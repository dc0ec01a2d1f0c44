/// The engine's side of turns (FORMAT.md): engines of several runs are resident at once, and each takes steps only in
/// its turns, so that a machine's drift meets all of them alike. Linux. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "core/process/streams.h"

namespace nanobench::core {

/// Environment variable with the number of the descriptor on which the runner grants turns.
inline constexpr const char* kTurnsFdVariable = "NANOBENCH_TURNS_FD";

class TurnGate {
 public:
  /// Every step may be taken at once.
  TurnGate() = default;
  /// Takes over the descriptor that the environment names, and removes the name, so that no child finds it. Where it
  /// names no open descriptor, every step may be taken.
  static TurnGate from_environment();
  /// Takes over the read end of a pipe.
  explicit TurnGate(Fd grants) : grants_(std::move(grants)) {}

  bool takes_turns() const { return grants_.is_open() || has_ended_; }
  /// Whether `step` is in no turn that was granted. The last validation and the end of a run of N steps are step N.
  bool needs_turn(std::int64_t step) const { return takes_turns() && step >= until_; }
  /// Waits for a turn that covers `step`. Returns false if `is_stopped` says so, or the runner has closed its end.
  /// Throws Error{kDataLoss} for a line that grants no turn.
  bool wait(std::int64_t step, const std::function<bool()>& is_stopped);

 private:
  void read_grant(std::string_view line);

  Fd grants_;
  LineCutter lines_;
  bool has_ended_ = false;  ///< the runner has closed its end
  std::int64_t until_ = 0;  ///< steps before it may be taken
};

}  // namespace nanobench::core
