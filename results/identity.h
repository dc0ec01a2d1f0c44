/// Defines when two runs, or two plans, are the same. Pure, thread-safe.
///
/// Identities are digests of what differs from the defaults, so that a new setting or a new part changes no stored
/// identity. The parts of a run's identity are all columns of its row, so a later version can recompute it.
#pragma once

#include <optional>
#include <string>

#include "core/config/train_config.h"
#include "results/records.h"

namespace nanobench::results {

/// Identity of a run of one of our engines. Labels, suites and the execution order are not part of it.
std::string run_digest(const NewRun& run);

/// Digest of the stored configuration of one of our engines: of the settings, or of the operation, that differ from
/// their defaults. Empty if the text is no such configuration.
std::string stored_config_digest(const std::string& config);

/// Identity of a plan, computed from its values. Sentences for people and the command line are not part of it.
std::string plan_digest(const NewPlan& plan);
/// Identity of a plan that only runs of its own answer (NewPlan is stored under it): its place among the plans that run
/// in turn, of these digests. With another counterpart, or run alone, it is a different plan.
std::string digest_in_turn(const std::vector<std::string>& plan_digests, std::size_t place);

/// The identities in stores of schema 2 and in baseline files of version 1, which covered every setting. Needed to read
/// those.
namespace former {

/// nullopt if the configuration uses a setting that those versions did not have.
std::optional<std::string> config_digest(const core::TrainConfig& config);
/// The digest of a stored configuration, complete as it was written.
std::string config_digest(core::Json config);
std::string run_digest(const NewRun& run);
std::string plan_digest(const NewPlan& plan);

}  // namespace former

}  // namespace nanobench::results
