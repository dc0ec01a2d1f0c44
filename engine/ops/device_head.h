/// The language-model head in bfloat16 or 8-bit floating point on a GPU. The library computes the matrix product; the
/// kernel (engine/cuda/cross_entropy.h) computes softcap, cross-entropy and their gradient. Enqueues its work and does
/// not wait.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/train_config.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

struct DeviceHeadOptions {
  Softcap softcap;
  bool rounds_capped = false;                          ///< HeadOptions::rounds_capped
  double logit_scale = 1.0;                            ///< HeadOptions::logit_scale
  LossRounding loss_rounding = LossRounding::kNone;    ///< HeadOptions::loss_rounding
  bool is_sum = false;                                 ///< HeadOptions::is_sum
  std::optional<Fp8Config> fp8;                        ///< e4m3 operands, e5m2 gradients; nullopt: bfloat16
  std::int64_t chunk_numbers = std::int64_t{1} << 29;  ///< logits held at once, at least one row: a gibibyte
};

/// Whether 8-bit products take x [T, C] and weight [V, C]: the GPU supports them, and T, C and V are multiples of 16.
bool fits_float8_head(const at::Tensor& x, const at::Tensor& weight);

/// Like softcapped_cross_entropy: mean over the tokens, in nats.
///   x        [T, C] bfloat16
///   weight   [V, C] float32, rounded before use; its gradient is rounded to bfloat16 unless the head is in 8 bits
///   targets  [T]    int64, each below V
///   returns  float32 scalar; differentiable in x and weight
/// Logits are stored in bfloat16. REQUIRES takes_device_kernels(x), and fits_float8_head(x, weight) with fp8.
at::Tensor device_softcapped_cross_entropy(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                           const DeviceHeadOptions& options);

/// Like token_cross_entropies: [T] float32 losses, whose mean is that of the function above. Same arguments.
at::Tensor device_token_cross_entropies(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                        const DeviceHeadOptions& options);

}  // namespace nanobench::core
