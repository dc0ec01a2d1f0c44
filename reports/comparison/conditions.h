/// The conditions of runs: what must be equal before the noise of one run is evidence about another. As thread-safe as
/// the Store.
#pragma once

#include <optional>
#include <string>

#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

struct Conditions {
  std::string scale;
  std::string engine;    ///< with its kernels; any version
  std::string hardware;  ///< class (results/provenance.h)
  std::string dtype;
  int threads = 0;
  std::string trainer;  ///< suite name of an external trainer, because trainers share no scale; empty: our engines

  /// Whether the stored plan's scale and trainer allow its runs to count.
  bool apply_to(const results::PlanRecord& plan) const;
  /// Whether the run completed under these conditions. Only its plan knows the scale.
  bool hold_for(const results::RunRecord& run) const;
};

Conditions conditions_of(const suites::Plan& plan);

/// The conditions of the plan's first stored run; nullopt if it has none.
std::optional<Conditions> conditions_of(const results::Store& store, const results::PlanRecord& plan);

/// The newest plan of the design a_a at this scale whose runs all completed under these conditions.
std::optional<results::PlanRecord> newest_calibration(const results::Store& store, const Conditions& conditions);

}  // namespace nanobench::reports
