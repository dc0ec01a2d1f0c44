/// The records' clock: steps before `untimed_steps` are free, validation stops it. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace nanobench::core {

class TrainingClock {
 public:
  explicit TrainingClock(std::int64_t untimed_steps) : untimed_steps_(untimed_steps) {}

  void start_step(std::int64_t step) {
    is_timed_ = step >= untimed_steps_;
    step_start_ = std::chrono::steady_clock::now();
  }

  /// Milliseconds of the step that ends here.
  double end_step() {
    const double step_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - step_start_).count();
    if (is_timed_) {
      total_ms_ += step_ms;
      ++timed_steps_;
    }
    return step_ms;
  }

  /// Training milliseconds so far; nullopt until a step was timed.
  std::optional<double> train_ms() const { return timed_steps_ > 0 ? std::optional<double>(total_ms_) : std::nullopt; }
  std::int64_t timed_steps() const { return timed_steps_; }

 private:
  std::int64_t untimed_steps_;
  std::int64_t timed_steps_ = 0;
  bool is_timed_ = false;
  double total_ms_ = 0.0;
  std::chrono::steady_clock::time_point step_start_;
};

}  // namespace nanobench::core
