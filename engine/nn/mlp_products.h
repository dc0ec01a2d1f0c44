/// The two products of an MLP in 8-bit floating point (PrecisionConfig::mlp_up, mlp_down), and the ranges that they
/// remember from pass to pass. For training passes only. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/train_config.h"
#include "engine/nn/layers.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

class MlpProducts {
 public:
  MlpProducts(const PrecisionConfig& precision, std::size_t layers);

  /// The passes that follow are of this rank's sequences at this step.
  void begin(std::int64_t rank, std::int64_t step);

  /// The layer's products; `linear` has its matrix as [out, in]. Operands are rounded for products as in Linear.
  at::Tensor up(const Linear& linear, const at::Tensor& x, const Rounding& rounding) const;
  at::Tensor down(std::size_t layer, const Linear& linear, const at::Tensor& x, const Rounding& rounding);

  /// Forgets all passes.
  void reset();

  /// What earlier passes have left, by name; nothing before the first pass.
  std::map<std::string, at::Tensor> state() const;
  /// Continues from a state(). Throws Error{kInvalidArgument} for one of another model.
  void restore(const std::map<std::string, at::Tensor>& state);

 private:
  /// Ranges (max |W| / 448) of a matrix at the newest step that has been seen, and at the step before it.
  struct WeightUnits {
    std::int64_t step = -1;
    at::Tensor now, before;
  };
  at::Tensor weight_unit(std::size_t layer, const at::Tensor& weight);

  const PrecisionConfig& precision_;
  std::int64_t rank_ = 0;
  std::int64_t step_ = 0;
  std::vector<WeightUnits> weights_;                                             ///< by layer
  std::map<std::pair<std::int64_t, std::size_t>, at::Tensor> activation_units_;  ///< by rank and layer
};

}  // namespace nanobench::core
