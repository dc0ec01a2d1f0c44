#include "engine/kernels/block_kernel.h"

#include "engine/kernels/vector/paths.h"

namespace nanobench::core {

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

}  // namespace nanobench::core
