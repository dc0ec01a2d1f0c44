/// The conditions of runs: what must be equal before the noise of one run says anything about another.
/// Thread-safe as the Store is.
#pragma once

#include <optional>
#include <string>

#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

struct Conditions {
  std::string scale;
  std::string engine;    ///< with its kernels, of whatever version
  std::string hardware;  ///< class (results/provenance.h)
  std::string dtype;
  int threads = 0;
  std::string
      trainer;  ///< the suite's name of an external trainer, because trainers share no scale; empty: our engines

  /// Whether runs of the stored plan may count, by its scale and trainer.
  bool apply_to(const results::PlanRecord& plan) const;
  /// Whether the run completed under these conditions. The scale is known to its plan only.
  bool hold_for(const results::RunRecord& run) const;
};

Conditions conditions_of(const suites::Plan& plan);

/// Those of the plan's first run that is stored; nullopt when it has none.
std::optional<Conditions> conditions_of(const results::Store& store, const results::PlanRecord& plan);

/// The newest plan of the design a_a at this scale whose runs were all completed under these conditions.
std::optional<results::PlanRecord> newest_calibration(const results::Store& store, const Conditions& conditions);

}  // namespace nanobench::reports
