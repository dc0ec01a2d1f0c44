/// The health of training at the steps where a run was asked for it (RunSpec::metrics): how large gradients are, and
/// how far an update moves the weights, by group and layer. It reads and changes nothing that is trained. Not
/// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/nn/parameters.h"
#include "engine/optim/optimizer_set.h"

namespace nanobench::core {

/// "embeddings", "lm_head", "hidden_matrices" or "scalars", as in the configuration: the group that trains a parameter.
const char* health_group(ParameterGroup group);
/// "3" for "blocks.3.attn.c_q.weight"; "shared" for a parameter of no layer.
std::string health_layer(const std::string& name);

/// Norms are those of all elements together, accumulated in double. An undefined gradient is zero.
///
///   health/gradient_norm                of all averaged gradients, before clipping
///   health/gradient_norm/GROUP[/LAYER]  of a group, and of its part in a layer
///   health/update_ratio[/GROUP[/LAYER]] norm of the change of the weights over their norm before it; left out where
///                                       that is 0
///   health/gradient_flow                of the hidden matrices: gradient per weight (root mean square) of the layer
///                                       where it is smallest over that of the layer where it is largest; left out
///                                       where that is 0
///
/// Weights are what the optimisers update: the masters of parameters that have some.
class TrainingHealth {
 public:
  /// Samples steps divisible by `every`, and always the last. Keeps references.
  TrainingHealth(std::int64_t every, std::int64_t steps, const Parameters& parameters, const OptimizerSet& optimizers);

  bool is_due(std::int64_t step) const;
  /// Call when the step's gradients are complete, before the update. Copies the weights.
  void before_update();
  /// Call after it. Returns the metrics by name, and forgets the copies.
  std::map<std::string, double> after_update();

 private:
  std::int64_t every_, last_;
  const Parameters& parameters_;
  const OptimizerSet& optimizers_;
  std::map<std::string, double> values_;
  std::vector<at::Tensor> weights_;
};

}  // namespace nanobench::core
