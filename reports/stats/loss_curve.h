/// Converts loss curves to seconds: the time at which a run first reaches a target loss, and seconds at equal loss. For
/// the latter, the locally fitted slope of the curve converts a difference in loss into steps, so that every change has
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
/// error omits curvature and slow noise, so prefer slope_over_runs() if there are several runs. nullopt for fewer than
/// 3 points, one x only, a number that is not finite, a weight not above 0, or points exactly on a line (there is no
/// error).
std::optional<LineFit> fit_line(std::span<const SlopePoint> points);

/// The mean of the runs' own slopes, with an error from their scatter; df = runs - 1. Assumes independent runs, nothing
/// about residuals. nullopt for fewer than 2 runs or one without a slope (2 points and two x's are enough here).
std::optional<Estimate> slope_over_runs(std::span<const std::vector<SlopePoint>> runs);

/// A candidate against its baseline, both after `steps`.
struct EqualLossInput {
  Estimate loss_change;      ///< candidate - baseline, nats per token; above 0: the candidate is worse
  Estimate slope;            ///< loss per step near the end of the candidate's curve; below 0
  Estimate step_time_ratio;  ///< candidate over baseline; se 0 if it is known exactly
  double steps = 0.0;        ///< length of the baseline's run
  double step_s = 0.0;       ///< seconds of one baseline step
};

struct EqualLoss {
  enum class Status {
    kConverted,
    kSlopeUncertain,  ///< the slope's interval reaches 0: no number of steps is certain
    kMissing,         ///< a number is absent or not finite, or lacks an error or df
  };
  Status status = Status::kMissing;
  // The rest is meaningful for kConverted only.
  Estimate steps;                     ///< extra steps that the candidate needs for the baseline's loss (delta method)
  ConfidenceInterval steps_interval;  ///< by Fieller's theorem (1954)
  Estimate seconds;  ///< candidate's time to the baseline's loss minus the baseline's; below 0: it saves time
  ConfidenceInterval seconds_interval;  ///< Fieller's limits and the ratio's, joined as in Zou and Donner 2008

  bool is_converted() const { return status == Status::kConverted; }
};

/// steps = loss_change / -slope; seconds = ((steps_of_run + steps) * ratio - steps_of_run) * step_s.
/// The three estimates must be independent. This is a straight-line extrapolation: trust it for steps of a few percent
/// of a run. An error of 0 means a known value. Throws Error{kInvalidArgument} for a level outside (0, 1).
EqualLoss at_equal_loss(const EqualLossInput& input, double level = 0.95);

}  // namespace nanobench::reports
