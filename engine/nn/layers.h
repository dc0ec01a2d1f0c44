/// Building blocks of layers, with the rounding of a pass. Stateless except for their parameters.
#pragma once

#include <string>

#include "core/config/train_config.h"
#include "engine/nn/parameters.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

class MlpProducts;

/// Where one pass rounds to bfloat16 (PrecisionConfig). Autocast rounds the inputs and outputs of matrix products and
/// attention; a bfloat16 model also rounds the residual stream. On a CPU, rounded values stay in tensors of the model's
/// dtype; if GPU kernels run whole blocks, they are bfloat16 tensors.
struct Rounding {
  bool products = false;
  bool stream = false;
  bool is_compact = false;     ///< bfloat16 tensors; products and stream are rounded then
  MlpProducts* mlp = nullptr;  ///< 8-bit products of the MLPs; null: as `products` says

  /// A value as matrix products and attention store it.
  at::Tensor product(const at::Tensor& x) const { return products ? stored(x) : x; }
  /// A value as the residual stream stores it.
  at::Tensor in_stream(const at::Tensor& x) const { return stream ? stored(x) : x; }
  /// A value of the stream as input to a matrix product.
  at::Tensor product_input(const at::Tensor& x) const { return products && !stream ? stored(x) : x; }

 private:
  at::Tensor stored(const at::Tensor& x) const { return is_compact ? x.to(at::kBFloat16) : stored_as_bfloat16(x); }
};

/// y = x W^T + b.
struct Linear {
  at::Tensor weight;  ///< [out, in], or [n, out / n, in]
  at::Tensor bias;    ///< [out] or [n, out / n]; undefined: none

  /// x [T, in], already rounded for products; returns [T, out].
  at::Tensor operator()(const at::Tensor& x, const Rounding& rounding) const;
};

/// Output projections have their own initialisation rule (InitConfig::output_projections), and so have the matrices of
/// attention (attention_std, linear_attention_outputs).
enum class LinearRole { kInner, kOutput, kAttention, kAttentionOutput };

/// Adds `name`.weight [out, in], or [in, out] if it is transposed, and, with model.bias, `name`.bias to the parameters.
Linear add_linear(Parameters& parameters, const TrainConfig& config, const std::string& name, LinearRole role,
                  bool is_transposed = false);

/// Adds the projections of q, k, v and the output as one parameter, [4, C, C] or [C, 4 C], which starts with the values
/// of four matrices; undefined unless model.merged_qkvo.
at::Tensor add_qkvo(Parameters& parameters, const TrainConfig& config, const std::string& prefix);

/// Adds the projections of q, k and v as one matrix, [3, C, C] or [3 C, C]. Its initial values are those of three
/// separate matrices named prefix + "c_q.weight", "c_k.weight", "c_v.weight".
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
