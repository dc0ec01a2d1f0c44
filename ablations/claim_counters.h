/// What claims of the kind `counter` are measured by: parameters, tables and attention masks of a configuration at its
/// official size, counted without training anything. Pure; thread-safe.
///
/// Masks need documents: theirs are generated, log-normal as the default corpus's but as long as web pages are, the
/// same for every configuration. Four steps spread over the run stand for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/config/train_config.h"

namespace nanobench::ablations {

/// Mean tokens of a generated document here.
inline constexpr std::int64_t kCountedDocumentTokens = 1024;

/// The metric of the configuration. nullopt for what only a run tells (rank_parameter_difference), and for a
/// configuration that the metric does not fit. Throws Error{kInternal} for a metric that claim_metrics() does not have.
std::optional<double> counted(const std::string& metric, const core::TrainConfig& config);

}  // namespace nanobench::ablations
