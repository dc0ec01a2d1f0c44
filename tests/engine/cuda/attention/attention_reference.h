/// Attention and its gradients in float64 by the definition, each number with the error that rounding to bf16 explains.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/cuda/attention.h"

namespace nanobench::core::cuda {

/// A tensor and how far from it a result may lie.
struct Bounded {
  explicit Bounded(std::size_t size) : value(size), bound(size) {}
  std::vector<double> value;
  std::vector<double> bound;
};

/// Inputs in float64, of the shapes in attention.h.
struct AttentionNumbers {
  std::vector<double> q, k, v, dy;
  std::vector<std::int64_t> first_key;
  double scale = 1.0;
};

/// What one query of one head gives.
struct AttentionRow {
  Bounded y;        ///< [E]
  Bounded log_sum;  ///< [1]
  Bounded dq;       ///< [E]
  std::int64_t first_key = 0;
  std::vector<double> weights;  ///< of the keys from first_key on
  Bounded scores;               ///< the gradients of its scores
};

/// Bounds follow from where the kernels round to bf16 (relative error at most 2^-8): the weights before they meet v and
/// dy, the gradients of the scores, y, and every result; all else is float32.
AttentionRow attention_row(const DeviceAttentionShape& shape, const AttentionNumbers& in, int query, int head);

/// What one key of one key head gives: its part of dk and dv, [E].
struct AttentionKey {
  Bounded dk, dv;
};

/// Computes the row of every query that sees the key again, for every head that reads it.
AttentionKey attention_key(const DeviceAttentionShape& shape, const AttentionNumbers& in, int key, int kv_head);

struct AttentionReference {
  Bounded y;         ///< [T, H, E]
  Bounded log_sums;  ///< [H, T]
  Bounded dq;        ///< [T, H, E]
  Bounded dk;        ///< [T, Hkv, E]
  Bounded dv;        ///< [T, Hkv, E]
};

/// All of them.
AttentionReference attention_reference(const DeviceAttentionShape& shape, const AttentionNumbers& in);

}  // namespace nanobench::core::cuda
