// The public kernels (engine/kernels/*.h), each on the vector path or the bfloat16 units selected by
// EngineContext::current().
#include <cstdint>

#include "engine/kernels/bfloat16/units.h"
#include "engine/kernels/dispatch/paths.h"
#include "engine/kernels/engine_context.h"

namespace nanobench::core {

void multiply_matrices(const MatrixProduct& product, ThreadPool& threads) {
  NB_BY_PATH(multiply_matrices)(product, threads);
}

namespace {

void emulate(const MatrixProduct& product, bool rounds, ThreadPool& threads) {
  multiply_matrices(product, threads);
  if (!rounds) return;
  threads.parallel_for(product.rows, [&](std::int64_t row) {
    float* const values = product.c + row * product.c_row;
    for (std::int64_t i = 0; i < product.columns; ++i) values[i] = rounded_to_bfloat16(values[i]);
  });
}

}  // namespace

void multiply_bfloat16(const MatrixProduct& product, bool rounds, ThreadPool& threads) {
  if (EngineContext::current().bfloat16_path() == Bfloat16Path::kAvx512Bf16) {
    avx512_bf16::multiply(product, rounds, threads);
  } else {
    emulate(product, rounds, threads);
  }
}

void adam_update(std::span<const AdamParameter> parameters, const AdamSettings& settings, ThreadPool& threads) {
  NB_BY_PATH(adam_update)(parameters, settings, threads);
}

double head_loss(const HeadShape& shape, const HeadInputs& in, const HeadOutputs& out, ThreadPool& threads) {
  return NB_BY_PATH(head_loss)(shape, in, out, threads);
}

void qkv_forward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& out, ThreadPool& threads) {
  NB_BY_PATH(qkv_forward)(shape, in, out, threads);
}

void qkv_backward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& saved,
                  const QkvGradients& gradients, ThreadPool& threads) {
  NB_BY_PATH(qkv_backward)(shape, in, saved, gradients, threads);
}

void mlp_forward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& out, ThreadPool& threads) {
  NB_BY_PATH(mlp_forward)(shape, in, out, threads);
}

void mlp_backward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& saved,
                  const MlpGradients& gradients, ThreadPool& threads) {
  NB_BY_PATH(mlp_backward)(shape, in, saved, gradients, threads);
}

void blend_forward(std::int64_t length, std::int64_t model_dim, const ResidualBlend& blend, float* x,
                   ThreadPool& threads) {
  NB_BY_PATH(blend_forward)(length, model_dim, blend, x, threads);
}

void blend_backward(std::int64_t length, std::int64_t model_dim, const ResidualBlend& blend, const float* dx,
                    const ResidualBlendGradients& gradients, ThreadPool& threads) {
  NB_BY_PATH(blend_backward)(length, model_dim, blend, dx, gradients, threads);
}

void rms_norm_forward(std::int64_t rows, std::int64_t width, const float* x, float eps, float* y, float* inverse,
                      ThreadPool& threads) {
  NB_BY_PATH(rms_norm_forward)(rows, width, x, eps, y, inverse, threads);
}

void rms_norm_backward(std::int64_t rows, std::int64_t width, const float* x, const float* inverse, const float* dy,
                       float* dx, ThreadPool& threads) {
  NB_BY_PATH(rms_norm_backward)(rows, width, x, inverse, dy, dx, threads);
}

void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       ThreadPool& threads) {
  NB_BY_PATH(attention_forward)(shape, in, y, log_sums, threads);
}

void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, ThreadPool& threads) {
  NB_BY_PATH(attention_backward)(shape, in, y, log_sums, dy, dq, dk, dv, threads);
}

void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads) {
  NB_BY_PATH(newton_schulz_update)(matrices, settings, threads);
}

void head_gate_forward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& out,
                       ThreadPool& threads) {
  NB_BY_PATH(head_gate_forward)(shape, in, out, threads);
}

void head_gate_backward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& saved,
                        const HeadGateGradients& gradients, ThreadPool& threads) {
  NB_BY_PATH(head_gate_backward)(shape, in, saved, gradients, threads);
}

void smear_forward(const SmearShape& shape, const SmearInputs& in, float* gates, float* out, ThreadPool& threads) {
  NB_BY_PATH(smear_forward)(shape, in, gates, out, threads);
}

void smear_backward(const SmearShape& shape, const SmearInputs& in, const float* gates, const SmearGradients& gradients,
                    ThreadPool& threads) {
  NB_BY_PATH(smear_backward)(shape, in, gates, gradients, threads);
}

void normalize_updates(std::span<const NormalizedUpdate> updates, double beta2, ThreadPool& threads) {
  NB_BY_PATH(normalize_updates)(updates, beta2, threads);
}

}  // namespace nanobench::core
