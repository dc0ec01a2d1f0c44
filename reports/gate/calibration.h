/// The noise of a machine and a suite, from runs of one configuration against itself (A/A): what a gate or a plan must
/// reckon with. Pure, thread-safe.
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
  std::optional<Estimate> time_difference;  ///< of the pairs' log ratios: nothing, when all is well
};

/// The completed runs of a stored plan of the design a_a; each cell is an arm.
std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan);

/// Arms beyond the second are compared with the first too. Quantities that need more runs than there are stay absent.
Calibration calibrate(const std::vector<NoiseRun>& runs);

core::OrderedJson to_json(const Calibration& calibration);
Calibration read_calibration(const core::Json& value, const std::string& source);

/// Margins with which an unchanged candidate passes each check with the given power at `n` runs of each side; never
/// below the usual ones. The loss of two different programs with one seed differs as that of two seeds does, at worst.
/// nullopt where the noise is not known well enough (fewer than 3 pairs).
std::optional<GatePolicy> derived_policy(const Calibration& calibration, int n, double power = 0.8,
                                         const GatePolicy& usual = {});

}  // namespace nanobench::reports
