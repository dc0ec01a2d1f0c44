#include "engine/kernels/bfloat16_gemm.h"

#include <cstdint>

#include "engine/kernels/bfloat16/units.h"
#include "engine/kernels/bfloat16_rounding.h"
#include "engine/kernels/engine_context.h"

namespace nanobench::core {
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

}  // namespace nanobench::core
