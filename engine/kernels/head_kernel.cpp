#include "engine/kernels/head_kernel.h"

#include "engine/kernels/vector/paths.h"

namespace nanobench::core {

double head_loss(const HeadShape& shape, const HeadInputs& in, float* dx, float* dweight, ThreadPool& threads) {
  return NB_BY_PATH(head_loss)(shape, in, dx, dweight, threads);
}

}  // namespace nanobench::core
