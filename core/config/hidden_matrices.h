/// How many hidden matrices of which size a model has: what Muon's work is shared out by. Pure function.
#pragma once

#include <cstdint>
#include <map>

#include "core/config/train_config.h"

namespace nanobench::core {

/// Number of parameters in the group optimizer.hidden_matrices, by their number of elements.
std::map<std::int64_t, std::int64_t> hidden_matrix_counts(const ModelConfig& model);

}  // namespace nanobench::core
