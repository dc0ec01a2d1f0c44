/// The weights that a run keeps, and the checkpoint from which it continues a run that was interrupted. Private to
/// suites/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/host_load.h"
#include "results/store.h"
#include "suites/design/plan.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

/// The files of one run, before its engine starts.
struct KeptWeights {
  std::optional<std::string> save_file;    ///< for RunSpec
  std::optional<std::string> resume_file;  ///< for RunSpec
  results::Facts facts;                    ///< of the run: its files so far, and what it continues
};

/// Nothing without options.keep_weights, and for a run that trains nothing. Otherwise the run continues, unless all is
/// to be run again, the newest run of the same digest that was interrupted, crashed or ran out of time or memory and
/// left a whole checkpoint of the same configuration, with the metrics that are asked for: its folder becomes that of
/// this run, with all files in it. Tells `observer` so, and of each file that cannot be used.
KeptWeights keep_weights(const PlannedRun& run, std::int64_t run_id, const results::Store& store,
                         const RunnerOptions& options, RunnerObserver& observer);

}  // namespace nanobench::suites
