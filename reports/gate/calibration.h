/// The noise of a machine and a suite, from runs of one configuration against itself (A/A). A gate and a plan reckon
/// with it. Pure, thread-safe.
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
  double hours = 0.0;       ///< when it began, after the first run
  std::string loss_digest;  ///< ArmRun
};

struct Calibration {
  int runs = 0;
  int pairs = 0;                            ///< runs of one seed in two arms
  std::optional<double> loss_sd;            ///< nats per token, over seeds
  std::optional<double> loss_pair_sd;       ///< of the differences of pairs; 0: one seed gives one loss
  bool is_reproducible = false;             ///< every pair has the same losses bit for bit
  std::optional<double> time_pair_sd;       ///< of the pairs' log ratios of step times
  std::optional<double> time_cv;            ///< of one run's step time: time_pair_sd / sqrt(2)
  std::optional<double> memory_pair_sd;     ///< of the pairs' log ratios of peak memory
  double session_hours = 0.0;               ///< from the first run's begin to the last one's
  std::optional<Estimate> drift;            ///< of log step time, over the session
  std::optional<Estimate> time_difference;  ///< of the pairs' log ratios; near 0 when all is well
};

/// The completed runs of a stored plan of the design a_a; each cell is an arm.
std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan);

/// Each arm after the first is compared with the first. Quantities that need more runs stay absent.
Calibration calibrate(const std::vector<NoiseRun>& runs);

core::OrderedJson to_json(const Calibration& calibration);
Calibration read_calibration(const core::Json& value, const std::string& source);

/// Margins with which an unchanged candidate passes each check with the given power at `n` runs of each side, and never
/// below the usual ones. At worst, the losses of two programs at one seed differ as much as those of two seeds.
/// nullopt where the noise is not known well enough (fewer than 3 pairs).
std::optional<GatePolicy> derived_policy(const Calibration& calibration, int n, double power = 0.8,
                                         const GatePolicy& usual = {});

}  // namespace nanobench::reports
