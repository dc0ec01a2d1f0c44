/// The noise of a machine and a suite, measured by running one configuration against itself (A/A). Gates and plans take
/// it into account. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "reports/gate/gate_policy.h"
#include "reports/gate/pass_forecast.h"
#include "reports/stats/estimate.h"
#include "results/store.h"

namespace nanobench::reports {

/// One run of an A/A measurement.
struct NoiseRun {
  int arm = 0;  ///< from 0
  std::uint64_t seed = 0;
  double val_loss = 0.0;
  double clock_ms = 0.0;  ///< whole training clock
  double peak_bytes = 0.0;
  double hours = 0.0;       ///< start, in hours after the first run's
  std::string loss_digest;  ///< ArmRun
};

struct Calibration {
  int runs = 0;
  int pairs = 0;                            ///< pairs of runs with one seed in two arms
  int seeds = 0;                            ///< runs of the first arm
  std::optional<double> loss_sd;            ///< nats per token, over seeds
  std::optional<double> loss_pair_sd;       ///< spread of the pairs' differences; 0: a seed always gives the same loss
  bool is_reproducible = false;             ///< every pair has bit-identical losses
  std::optional<double> time_pair_sd;       ///< spread of a pair's log ratio of clocks, from all arms and seeds
  std::optional<double> time_pair_df;       ///< degrees of freedom of time_pair_sd; absent in older files: pairs - 1
  std::optional<double> time_sd;            ///< spread of the first arm's log clocks, with the machine's drift
  std::optional<double> time_cv;            ///< coefficient of variation of one run's clock: time_pair_sd / sqrt(2)
  std::optional<double> memory_pair_sd;     ///< spread of the pairs' log ratios of peak memory
  double session_hours = 0.0;               ///< from the first run's start to the last one's
  std::optional<Estimate> drift;            ///< drift of the log clock over the session
  std::optional<Estimate> time_difference;  ///< mean of the pairs' log ratios; near 0 if all is well
};

/// The completed runs of a stored plan of the design a_a; each cell is an arm.
std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan);

/// Each arm after the first is compared with the first. Quantities that need more runs stay absent.
Calibration calibrate(const std::vector<NoiseRun>& runs);

core::OrderedJson to_json(const Calibration& calibration);

/// A gate for which margins are derived.
struct PlannedGate {
  int n = 0;                   ///< runs of each side, seed by seed
  int cells = 1;               ///< GateSize::cells
  bool is_interleaved = true;  ///< both sides run in turn, so that times are paired; losses and memory always are
  bool draws_loss_anew =
      false;           ///< the losses of one seed differ as much as those of two seeds, as other rounding does
  double power = 0.8;  ///< chance that an unchanged candidate passes each check
};

/// The noise of a gate's checks: of paired differences where the gate compares pairs, which are losses and memory, and
/// times where both sides run in turn. Empty if the noise is not known well enough (fewer than 3 pairs).
GateNoise noise_of_gate(const Calibration& calibration, bool is_interleaved, bool draws_loss_anew = false);

/// Margins with which an unchanged candidate passes each check with the planned power, on average over calibrations of
/// this size: the calibration's spread is an estimate, and the margins are wider for it. Never below the usual ones. A
/// spread of 0 keeps the usual margin: pairs are then equal. nullopt if the noise is not known well enough (fewer than
/// 3 pairs), or for n below 2.
std::optional<GatePolicy> derived_policy(const Calibration& calibration, const PlannedGate& gate,
                                         const GatePolicy& usual = {});

}  // namespace nanobench::reports
