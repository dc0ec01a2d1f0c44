/// The language-model head with its loss in float32: matrix product, logit softcap, cross-entropy and their gradients
/// in one pass over chunks of tokens, so that T x V logits never exist. Plain C++ with vector units chosen at run time;
/// no LibTorch. Thread-safe; the number of threads changes no bit.
#pragma once

#include <cstdint>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

struct HeadShape {
  std::int64_t length = 0;      ///< T
  std::int64_t model_dim = 0;   ///< D
  std::int64_t vocabulary = 0;  ///< V, padding rows included: they take part in the softmax
};

struct HeadInputs {
  const float* x = nullptr;               ///< [T, D]
  const float* weight = nullptr;          ///< [V, D]
  const std::int64_t* targets = nullptr;  ///< [T], each in [0, V)
  float cap = 0.0f;                       ///< logits become cap tanh(logit / cap); 0: no cap
  bool is_sigmoid = false;                ///< uses 2 cap sigmoid(2 logit / cap): the same loss except for rounding
};

/// What is wanted beside the mean; each may be null.
struct HeadOutputs {
  float* dx = nullptr;       ///< [T, D], with dweight or not at all
  float* dweight = nullptr;  ///< [V, D]
  float* losses = nullptr;   ///< [T] cross-entropies, whose mean head_loss returns
};

/// Returns the mean cross-entropy in nats, and overwrites the outputs with its gradients and its terms.
double head_loss(const HeadShape& shape, const HeadInputs& in, const HeadOutputs& out, ThreadPool& threads);

}  // namespace nanobench::core
