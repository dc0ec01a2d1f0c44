/// Numbers of each token that take the place of learned numbers (model.generated_gates, records #85 on). Not
/// thread-safe.
#pragma once

#include <map>
#include <vector>

#include "core/config/train_config.h"
#include "engine/nn/mudd.h"

namespace nanobench::core {

/// What the sets of one pass have made so far, by layer.
struct GeneratedNumbers {
  std::map<std::int64_t, at::Tensor> own_values;      ///< [T, H]
  std::map<std::int64_t, at::Tensor> attention_gate;  ///< [T, H]
  std::map<std::int64_t, at::Tensor> x0_weight;       ///< [T, 1]
  std::map<std::int64_t, at::Tensor> pair_weight;     ///< [T, 1]
  std::map<std::int64_t, at::Tensor> dc_mixture;      ///< [T, H]
  std::map<std::int64_t, at::Tensor> dc_share;        ///< [T, H]
  at::Tensor skip;                                    ///< [T, 1]
};

class GeneratedGates {
 public:
  GeneratedGates() = default;
  GeneratedGates(Parameters& parameters, const TrainConfig& config);

  /// Adds what the sets at `at` make of x [T, D]; nullopt: those that read x0.
  void make(std::optional<std::int64_t> at, const at::Tensor& x, GeneratedNumbers& numbers) const;

 private:
  std::vector<GateSetConfig> sets_;
  std::int64_t num_heads_ = 0;
  std::vector<Coefficients> coefficients_;
  at::Tensor scale_;
};

}  // namespace nanobench::core
