/// Learned sigmoid gates of records #28 to #41, forward and backward, in float32. Plain C++ with vector units chosen at
/// run time; no LibTorch. Thread-safe. Checks nothing and throws nothing.
///
///   heads   out[t, h] = y[t, h] sigmoid(sum_g n[t, g] w[h, g]), n = RMSNorm(x), g < G
///   smear   out[t] = e[t] + lambda sigmoid(sum_g e[t, g] w[g]) e[t - 1]; out[0] = e[0]
///
/// Widths of rows are multiples of 16; everything is row-major. Deterministic: the number of threads changes no bit.
#pragma once

#include <cstdint>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

struct HeadGateShape {
  std::int64_t length = 0;     ///< T
  std::int64_t model_dim = 0;  ///< D
  std::int64_t heads = 0;      ///< H
  std::int64_t head_dim = 0;   ///< E
  std::int64_t gate_dim = 0;   ///< G <= D
};

struct HeadGateInputs {
  const float* x = nullptr;       ///< [T, D] not normalised
  const float* weight = nullptr;  ///< [H, G]
  const float* y = nullptr;       ///< [T, H, E]
  float norm_eps = 0.0f;
};

/// Values that the forward pass writes and the backward pass reads.
struct HeadGateActivations {
  float* gates = nullptr;    ///< [T, H]
  float* inverse = nullptr;  ///< [T] 1 / RMS of x
  float* out = nullptr;      ///< [T, H, E]; not read by the backward pass
};

struct HeadGateGradients {
  const float* dout = nullptr;  ///< [T, H, E]
  float* x = nullptr;           ///< [T, D] overwritten
  float* weight = nullptr;      ///< [H, G]
  float* y = nullptr;           ///< [T, H, E]
};

void head_gate_forward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& out,
                       ThreadPool& threads);
void head_gate_backward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& saved,
                        const HeadGateGradients& gradients, ThreadPool& threads);

struct SmearShape {
  std::int64_t length = 0;    ///< T
  std::int64_t width = 0;     ///< D
  std::int64_t gate_dim = 0;  ///< G <= D
};

struct SmearInputs {
  const float* e = nullptr;       ///< [T, D]
  const float* weight = nullptr;  ///< [G]
  float lambda = 0.0f;
};

struct SmearGradients {
  const float* dout = nullptr;  ///< [T, D]
  float* e = nullptr;           ///< [T, D] overwritten
  float* weight = nullptr;      ///< [G]
  double* lambda = nullptr;
};

/// gates [T] is for the backward pass.
void smear_forward(const SmearShape& shape, const SmearInputs& in, float* gates, float* out, ThreadPool& threads);
void smear_backward(const SmearShape& shape, const SmearInputs& in, const float* gates, const SmearGradients& gradients,
                    ThreadPool& threads);

}  // namespace nanobench::core
