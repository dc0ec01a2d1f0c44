// For compilers without these instructions; never called.
#include "core/base/error.h"
#include "engine/kernels/bfloat16/units.h"

namespace nanobench::core::avx512_bf16 {

void multiply(const MatrixProduct&, bool, ThreadPool&) {
  throw Error(ErrorCode::kInternal, "this build has no AVX512-BF16 kernels");
}

}  // namespace nanobench::core::avx512_bf16
