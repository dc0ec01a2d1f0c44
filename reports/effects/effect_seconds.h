/// What an effect is worth in seconds of training. Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/effects/measured_effect.h"
#include "reports/stats/equal_loss.h"

namespace nanobench::reports {

struct EffectSeconds {
  EqualLoss equal_loss;               ///< what having the change costs at equal loss; below 0: it saves
  std::optional<double> reference_s;  ///< training clock without the change
};

/// The loss is turned into steps by the slope of the loss curves' last fifth; where the two sides have other numbers of
/// steps, the difference counts as time. Nothing is converted where an effect has no error, unless the losses are
/// equal.
EffectSeconds seconds_at_equal_loss(const std::vector<ContrastPart>& parts, const MeasuredEffect& loss,
                                    const MeasuredEffect& log_time, double level);

}  // namespace nanobench::reports
