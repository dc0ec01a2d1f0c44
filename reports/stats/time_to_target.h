/// When a run's validation loss first reached a target, on the training clock. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nanobench::reports {

/// One validation. The clock stands at 0 until the first timed step, and during validations.
struct CurvePoint {
  std::optional<double> clock_s;  ///< seconds of the training clock; absent before it starts
  double loss = 0.0;
  std::int64_t step = 0;
};

struct TimeToTarget {
  enum class Status {
    kReached,
    kNotReached,
    kBeforeClock,  ///< the target was met before the clock started: no time can be given
    kNoCurve,      ///< no validation, or none on the clock
  };
  Status status = Status::kNoCurve;
  double seconds = 0.0;  ///< kReached only

  bool is_reached() const { return status == Status::kReached; }
};

/// `curve` in the order of steps. Between two validations the loss is taken as linear in clock time; a validation
/// before the clock's start counts as clock 0. Points that are not finite are left out.
TimeToTarget time_to_target(const std::vector<CurvePoint>& curve, double target);

}  // namespace nanobench::reports
