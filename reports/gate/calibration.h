/// The noise of a machine and a suite, measured by running one configuration against itself (A/A). Gates and plans take
/// it into account. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "reports/gate/gate_policy.h"
#include "reports/stats/estimate.h"
#include "results/store.h"

namespace nanobench::reports {

/// One run of an A/A measurement.
struct NoiseRun {
  int arm = 0;  ///< from 0
  std::uint64_t seed = 0;
  double val_loss = 0.0;
  double step_ms = 0.0;
  double peak_bytes = 0.0;
  double hours = 0.0;       ///< start, in hours after the first run's
  std::string loss_digest;  ///< ArmRun
};

struct Calibration {
  int runs = 0;
  int pairs = 0;                            ///< pairs of runs with one seed in two arms
  std::optional<double> loss_sd;            ///< nats per token, over seeds
  std::optional<double> loss_pair_sd;       ///< spread of the pairs' differences; 0: a seed always gives the same loss
  bool is_reproducible = false;             ///< every pair has bit-identical losses
  std::optional<double> time_pair_sd;       ///< spread of the pairs' log ratios of step times
  std::optional<double> time_cv;            ///< coefficient of variation of one run's step time: time_pair_sd / sqrt(2)
  std::optional<double> memory_pair_sd;     ///< spread of the pairs' log ratios of peak memory
  double session_hours = 0.0;               ///< from the first run's start to the last one's
  std::optional<Estimate> drift;            ///< drift of log step time over the session
  std::optional<Estimate> time_difference;  ///< mean of the pairs' log ratios; near 0 if all is well
};

/// The completed runs of a stored plan of the design a_a; each cell is an arm.
std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan);

/// Each arm after the first is compared with the first. Quantities that need more runs stay absent.
Calibration calibrate(const std::vector<NoiseRun>& runs);

core::OrderedJson to_json(const Calibration& calibration);
Calibration read_calibration(const core::Json& value, const std::string& source);

/// Margins with which an unchanged candidate passes each check with the given power at `n` runs per side; never below
/// the usual ones. Assumes the worst case, in which the losses of two programs at one seed differ as much as those of
/// two seeds. nullopt if the noise is not known well enough (fewer than 3 pairs).
std::optional<GatePolicy> derived_policy(const Calibration& calibration, int n, double power = 0.8,
                                         const GatePolicy& usual = {});

}  // namespace nanobench::reports
