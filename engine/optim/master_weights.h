/// float32 masters behind parameters that are used in bfloat16 (record #1). Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/nn/parameters.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Optimisers update the masters. Forward and backward passes use them stochastically rounded to bfloat16, so that
/// small updates are not lost on average. Deterministic: the random numbers depend on (seed, number of updates,
/// parameter).
class MasterWeights {
 public:
  /// Copies the parameters' current values as masters and rounds the parameters.
  MasterWeights(Parameters& parameters, std::uint64_t seed);

  /// Call before the optimisers' step: restores the masters into the parameters.
  void unround();
  /// Call after the step: copies the parameters as masters and rounds them again.
  void round();

  /// Copies of everything that steps change besides the parameters.
  struct State {
    std::vector<at::Tensor> masters;
    std::uint64_t rounds = 0;
  };
  State state() const;
  void restore(const State& state);

 private:
  Parameters& parameters_;
  std::uint64_t seed_;
  std::uint64_t rounds_ = 0;
  std::vector<at::Tensor> masters_;
};

}  // namespace nanobench::core
