/// What makes two runs, or two plans, the same. Pure, thread-safe.
///
/// Identities are digests of what differs from the defaults, so that a new setting or a new part changes none of those
/// that are stored. The parts of a run's identity are all columns of its row: a later version can compute it anew.
#pragma once

#include <optional>
#include <string>

#include "core/config/train_config.h"
#include "results/records.h"

namespace nanobench::results {

/// Identity of a run of one of our engines. Labels, suites and the order of execution do not count.
std::string run_digest(const NewRun& run);

/// Identity of a plan: of everything that the store keeps of it but the command line.
std::string plan_digest(const NewPlan& plan);

/// The identities of stores of schema 2 and of baseline files of form 1, which held every setting: for reading those.
namespace former {

/// nullopt when the configuration uses a setting that those versions did not have.
std::optional<std::string> config_digest(const core::TrainConfig& config);
/// Of a stored configuration, complete as it was written.
std::string config_digest(core::Json config);
std::string run_digest(const NewRun& run);

}  // namespace former

}  // namespace nanobench::results
