/// float32 masters behind parameters that are used in bfloat16 (record #1). Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/nn/parameters.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Optimisers update the masters; forward and backward passes see them rounded stochastically to bfloat16, so that
/// small updates are not lost on average. Deterministic: the random numbers depend on (seed, number of updates,
/// parameter).
class MasterWeights {
 public:
  /// The parameters' present values become the masters; the parameters are rounded.
  MasterWeights(Parameters& parameters, std::uint64_t seed);

  /// Before the optimisers' step: the parameters hold their masters.
  void unround();
  /// After it: the masters are taken from the parameters, which are rounded again.
  void round();

  /// What steps change besides the parameters: copies.
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
