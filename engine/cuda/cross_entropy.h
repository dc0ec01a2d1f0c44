/// Softcapped cross-entropy of rows of logits and its gradient. Plain C++: includes no CUDA header. Thread-safe.
///
/// A block takes a row: one pass finds the largest logit and the sum of exponentials together, a second one writes the
/// gradient. Between them the row stays in shared memory where it fits (a bfloat16 row of 50304 does), and is read
/// again where not. So logits exist once, and their gradient may take their place.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// Softcap and rounding as HeadOptions of engine/ops/softcapped_cross_entropy.h.
struct CrossEntropyOptions {
  float cap = 0.0f;         ///< capped = cap tanh(logit / cap); 0: the logits themselves
  bool is_sigmoid = false;  ///< 2 cap sigmoid(2 logit / cap): the same plus cap
  bool rounds_logits =
      false;  ///< float32 logits and their gradient to bfloat16; what is stored as bfloat16 is so anyway
  bool rounds_capped = false;  ///< the capped logits and their gradient too
  float factor = 1.0f;         ///< of the gradient: 1 / tokens for a mean
  float e5m2_scale = 1.0f;     ///< of gradients in fp8_e5m2: round(gradient * scale), saturated
};

struct LogitsShape {
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;       ///< V, padding classes included: they take part in the softmax
  std::int64_t logits_stride = 0;    ///< numbers from row to row, at least V
  std::int64_t gradient_stride = 0;  ///< likewise
};

/// Losses in nats, and gradients by the logits before the cap.
///   logits    [rows, V] device; any V, stride and alignment: rows of 16-byte multiples are read fastest
///   targets   [rows] device, each in [0, V)
///   losses    [rows] float32 device; not multiplied by the factor. sum_partials (partial_sums.h) adds them up
///   gradient  [rows, V] device; null: not wanted. May be `logits` where types and strides are the same
/// Exists for (Logit, Gradient) = (bf16, bf16), (bf16, fp8_e5m2), (float, float), (float, bf16), (float, fp8_e5m2).
/// Enqueues on the stream, does not synchronise. Throws CudaError. A row of NaN or infinity has a loss of NaN.
template <class Logit, class Gradient>
void cross_entropy_rows(const LogitsShape& shape, const Logit* logits, const std::int64_t* targets,
                        const CrossEntropyOptions& options, float* losses, Gradient* gradient, Stream stream);

}  // namespace nanobench::core::cuda
