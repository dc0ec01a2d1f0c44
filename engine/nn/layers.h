/// The pieces that layers are made of, with the rounding of a pass. Stateless but for the parameters they hold.
#pragma once

#include <string>

#include "core/config/train_config.h"
#include "engine/nn/parameters.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Where one pass rounds to bfloat16 (PrecisionConfig). Autocast rounds what matrix products and attention take and
/// give; a bfloat16 model rounds the residual stream too. On a CPU rounded values stay in tensors of the model's dtype;
/// where the kernels of a GPU take whole blocks they are bfloat16 tensors.
struct Rounding {
  bool products = false;
  bool stream = false;
  bool is_compact = false;  ///< bfloat16 tensors; products and stream are rounded then

  /// A value as matrix products and attention store it.
  at::Tensor product(const at::Tensor& x) const { return products ? stored(x) : x; }
  /// A value as the residual stream stores it.
  at::Tensor in_stream(const at::Tensor& x) const { return stream ? stored(x) : x; }
  /// A value of the stream as a matrix product takes it.
  at::Tensor product_input(const at::Tensor& x) const { return products && !stream ? stored(x) : x; }

 private:
  at::Tensor stored(const at::Tensor& x) const { return is_compact ? x.to(at::kBFloat16) : stored_as_bfloat16(x); }
};

/// y = x W^T + b.
struct Linear {
  at::Tensor weight;  ///< [out, in], or [n, out / n, in]
  at::Tensor bias;    ///< [out] or [n, out / n]; undefined: none

  /// x [T, in], already as products take it; returns [T, out].
  at::Tensor operator()(const at::Tensor& x, const Rounding& rounding) const;
};

/// Output projections of attention and MLP begin by a rule of their own (InitConfig::output_projections).
enum class LinearRole { kInner, kOutput };

/// Adds `name`.weight [out, in] and, with model.bias, `name`.bias to the parameters.
Linear add_linear(Parameters& parameters, const TrainConfig& config, const std::string& name, LinearRole role);

/// Adds the projections of q, k and v as one matrix, [3, C, C] or [3 C, C], that begins with the values of three
/// separate ones named prefix + "c_q.weight", "c_k.weight", "c_v.weight".
Linear add_joined_qkv(Parameters& parameters, const TrainConfig& config, const std::string& prefix,
                      const std::string& weight_name, const std::string& bias_name);

/// RMS norm, or LayerNorm with weight and bias.
struct Norm {
  double eps = 0.0;
  at::Tensor weight;  ///< [C]; undefined: RMS norm
  at::Tensor bias;    ///< [C]

  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace nanobench::core
