/// Attention and its gradients in float64 by the definition, each number with the error that rounding to bf16 explains.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/cuda/kernels/attention.h"

namespace nanobench::core::cuda {

/// A tensor and how far from it a result may lie.
struct Bounded {
  explicit Bounded(std::size_t size) : value(size), bound(size) {}
  std::vector<double> value;
  std::vector<double> bound;
};

struct AttentionReference {
  Bounded y;         ///< [T, H, E]
  Bounded log_sums;  ///< [H, T]
  Bounded dq;        ///< [T, H, E]
  Bounded dk;        ///< [T, Hkv, E]
  Bounded dv;        ///< [T, Hkv, E]
};

/// Inputs in float64, of the shapes in attention.h.
struct AttentionNumbers {
  std::vector<double> q, k, v, dy;
  std::vector<std::int64_t> first_key;
  double scale = 1.0;
};

/// Bounds follow from where the kernels round to bf16 (relative error at most 2^-8): the weights before they meet v and
/// dy, the gradients of the scores, y, and every result; all else is float32.
AttentionReference attention_reference(const AttentionShape& shape, const AttentionNumbers& in);

}  // namespace nanobench::core::cuda
