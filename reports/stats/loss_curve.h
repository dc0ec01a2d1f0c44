/// Converts loss curves to seconds: the time at which a run first reaches a target loss, and seconds at equal loss. For
/// the latter, the locally fitted slope of the curve converts a difference in loss into time, so that every change has
/// one number. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// One validation. The clock stays at 0 until the first timed step, and stops during validations.
struct CurvePoint {
  std::optional<double> clock_s;  ///< seconds of the training clock; absent before it starts
  double loss = 0.0;
  std::int64_t step = 0;
};

struct TimeToTarget {
  enum class Status {
    kReached,
    kNotReached,
    kBeforeClock,  ///< the run reached the target before the clock started: there is no time
    kNoCurve,      ///< no validation, or none on the clock
  };
  Status status = Status::kNoCurve;
  double seconds = 0.0;  ///< kReached only

  bool is_reached() const { return status == Status::kReached; }
};

/// `curve` is in order of steps. Between two validations the loss is assumed linear in clock time; a validation before
/// the clock's start counts as clock 0. Points that are not finite are left out.
TimeToTarget time_to_target(const std::vector<CurvePoint>& curve, double target);

/// One validation.
struct SlopePoint {
  double x = 0.0;       ///< steps, or seconds of the training clock
  double loss = 0.0;    ///< nats per token
  double weight = 1.0;  ///< above 0; proportional to 1 / variance of the loss
};

/// The points with from <= x <= to, where the curve is nearly straight: the last fifth of a run, or around the target.
std::vector<SlopePoint> in_window(std::span<const SlopePoint> points, double from, double to);

/// The `count` points whose losses are nearest to the target, in their original order.
std::vector<SlopePoint> near_target(std::span<const SlopePoint> points, double target_loss, std::size_t count);

struct LineFit {
  Estimate slope;            ///< loss per x, df = n - 2; below 0 while training helps
  double loss = 0.0;         ///< loss of the line at `x`
  double x = 0.0;            ///< weighted mean of the points' x
  double residual_sd = 0.0;  ///< standard deviation of one point with weight 1
};

/// (Weighted) least squares on one curve. Assumes a straight line with independent residuals within the window. Its
/// error omits curvature and slow noise, so prefer the scatter of several runs' slopes. nullopt for fewer than
/// 3 points, one x only, a number that is not finite, a weight not above 0, or points exactly on a line (there is no
/// error).
std::optional<LineFit> fit_line(std::span<const SlopePoint> points);

/// The slope of the same line without its error: 2 points and two x's are enough. nullopt otherwise.
std::optional<double> slope_of(std::span<const SlopePoint> points);

/// A candidate against its baseline, in seconds of the baseline's training clock.
struct EqualLossInput {
  /// Contrast of every run's loss / gain + reference_s * log(training clock): the error of losses and times together,
  /// as if the gain were known.
  Estimate seconds;
  double loss_change = 0.0;  ///< the contrast of the losses alone, nats per token; above 0: the candidate is worse
  Estimate gain;             ///< loss that one second of training buys at its end, nats per token; se 0: it is known
  double reference_s = 0.0;  ///< the baseline's training clock
};

struct EqualLoss {
  enum class Status {
    kConverted,
    kNoSlope,         ///< no run has validations enough towards its end
    kSlopeUncertain,  ///< the gain's interval reaches 0: no number of seconds is certain
    kMissing,         ///< a number is absent or not finite, or lacks an error or df
  };
  Status status = Status::kMissing;
  // The rest is meaningful for kConverted only.
  double seconds = 0.0;  ///< candidate's time to the baseline's loss minus the baseline's; below 0: it saves time
  ConfidenceInterval interval;  ///< of the seconds, with the gain's error, by Fieller's theorem (1954)
  Estimate as_if_known;         ///< the input's estimate, whose test of 0 needs no gain
  Estimate estimate;            ///< on the same scale, with the gain's error by the delta method

  bool is_converted() const { return status == Status::kConverted; }
};

/// Both losses and times become a logarithm of the time to the baseline's loss, so the seconds are
/// reference_s * (exp(estimate / reference_s) - 1): a pure change of time is exact, and nothing saves more than all
/// time. The conversion of losses is a straight-line extrapolation: trust it for a few percent of a run. The gain must
/// be independent of the rest. The interval solves (estimate - x)^2 <= t^2 se^2 + t_g^2 (se_g / gain)^2 (time - x)^2,
/// with `time` the part of the estimate that is not loss_change / gain.
/// Throws Error{kInvalidArgument} for a level outside (0, 1).
EqualLoss at_equal_loss(const EqualLossInput& input, double level = 0.95);

}  // namespace nanobench::reports
