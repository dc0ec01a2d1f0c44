/// Softcapped cross-entropy of rows of logits and its gradient. Plain C++: includes no CUDA header. Thread-safe.
///
/// A block processes one row: one pass finds the max logit and the sum of exponentials together, a second pass writes
/// the gradient. In between, the row stays in shared memory if it fits (a bfloat16 row of 50304 does); otherwise it is
/// read again. Logits are thus stored only once, and their gradient may overwrite them.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// A loss in bfloat16 (#37 on): what is rounded beside the logits. Sigmoid form only.
enum class CrossEntropyRounding {
  kNone,
  kCap,  ///< each step of the cap: validation
  kAll,  ///< the log-softmax too, and each step of the gradient: training
};

/// Softcap and rounding, like HeadOptions in engine/ops/softcapped_cross_entropy.h.
struct CrossEntropyOptions {
  float logit_scale = 1.0f;  ///< factor on the rounded logits
  float cap = 0.0f;          ///< capped = cap tanh(logit / cap); 0: the logits themselves
  bool is_sigmoid = false;   ///< 2 cap sigmoid(2 logit / cap): the same plus cap
  bool rounds_logits =
      false;  ///< rounds float32 logits and their gradient to bfloat16; bfloat16 storage is always rounded
  bool rounds_capped = false;                                   ///< rounds the capped logits and their gradient too
  CrossEntropyRounding rounding = CrossEntropyRounding::kNone;  ///< others need is_sigmoid and a cap
  float factor = 1.0f;                                          ///< factor of the gradient: 1 / tokens for a mean
  float e5m2_scale = 1.0f;  ///< scale of fp8_e5m2 gradients: round(gradient * scale), saturated
};

struct LogitsShape {
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;       ///< V, padding classes included: they take part in the softmax
  std::int64_t logits_stride = 0;    ///< row stride in numbers, at least V
  std::int64_t gradient_stride = 0;  ///< likewise
};

/// Losses in nats, and gradients with respect to the logits before the cap.
///   logits    [rows, V] device; any V, stride and alignment; rows of 16-byte multiples are read fastest
///   targets   [rows] device, each in [0, V)
///   losses    [rows] float32 device; not multiplied by the factor. sum_partials (partial_sums.h) adds them up
///   gradient  [rows, V] device; null: not wanted. May be `logits` if types and strides are equal
/// Exists for (Logit, Gradient) = (bf16, bf16), (bf16, fp8_e5m2), (float, float), (float, bf16), (float, fp8_e5m2).
/// Enqueues on the stream, does not synchronise. Throws CudaError. A row of NaN or infinity has a loss of NaN.
template <class Logit, class Gradient>
void cross_entropy_rows(const LogitsShape& shape, const Logit* logits, const std::int64_t* targets,
                        const CrossEntropyOptions& options, float* losses, Gradient* gradient, Stream stream);

}  // namespace nanobench::core::cuda
