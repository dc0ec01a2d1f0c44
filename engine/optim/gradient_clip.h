/// What happens to the averaged gradients before the optimisers see them. Stateless.
#pragma once

#include "core/config/train_config.h"
#include "engine/nn/parameters.h"

namespace nanobench::core {

/// Changes the gradients in place (TrainConfig::optimizer.gradient_clip). kGlobalNorm: all times min(1, max_norm /
/// (norm
/// + 1e-6)), the norm being that of all gradients together (record #1). kPerParameter: each divided by (its own norm +
/// 1e-6) (record #2). Undefined gradients count as zero.
void clip_gradients(const Parameters& parameters, const GradientClipConfig& config);

}  // namespace nanobench::core
