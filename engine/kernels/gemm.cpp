#include "engine/kernels/gemm.h"

#include "engine/kernels/vector/paths.h"

namespace nanobench::core {

void multiply_matrices(const MatrixProduct& product, ThreadPool& threads) {
  NB_BY_PATH(multiply_matrices)(product, threads);
}

}  // namespace nanobench::core
