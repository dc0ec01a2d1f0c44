/// Host-side checks and constants shared by the forward and backward pass of attention. Plain C++.
#pragma once

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "engine/cuda/attention.h"

namespace nanobench::core::cuda {

/// Throws Error{kInvalidArgument}; the message contains the shape.
inline void check_attention(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in) {
  const bool is_shape = shape.length > 0 && shape.heads > 0 && shape.kv_heads > 0 &&
                        shape.heads % shape.kv_heads == 0 && shape.head_dim > 0 && shape.head_dim % 16 == 0 &&
                        shape.head_dim <= 128;
  if (!is_shape) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "CUDA attention: " + std::to_string(shape.length) + " tokens, " + std::to_string(shape.heads) + " heads over " +
            std::to_string(shape.kv_heads) + ", head size " + std::to_string(shape.head_dim) +
            "; expected positive sizes, heads a multiple of the key heads, a head size that is a multiple of 16 "
            "and at most 128");
  }
  if (!(in.scale > 0.0f) || !std::isfinite(in.scale)) {
    throw Error(ErrorCode::kInvalidArgument,
                "CUDA attention: scale " + std::to_string(in.scale) + "; expected a positive number");
  }
}

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.693147180559945309f;

}  // namespace nanobench::core::cuda
