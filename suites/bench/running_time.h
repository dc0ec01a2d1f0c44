/// The time during which a command that is paused in between runs: the sum of its turns. Pure, not thread-safe.
#pragma once

#include <chrono>
#include <optional>

namespace nanobench::suites {

class RunningTime {
 public:
  using Clock = std::chrono::steady_clock;

  /// A turn begins, unless one has begun already.
  void begin(Clock::time_point now) {
    if (began_) return;
    began_ = now;
    ++turns_;
  }
  /// The turn ends, if there is one.
  void end(Clock::time_point now) {
    sum_ = until(now);
    began_.reset();
  }

  bool is_running() const { return began_.has_value(); }
  /// All turns, and of the present one what has passed.
  Clock::duration until(Clock::time_point now) const { return began_ ? sum_ + (now - *began_) : sum_; }
  int turns() const { return turns_; }

 private:
  std::optional<Clock::time_point> began_;
  Clock::duration sum_{0};
  int turns_ = 0;
};

}  // namespace nanobench::suites
