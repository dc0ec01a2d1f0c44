/// Chooses among the kernels of the instruction sets. CMake compiles the files of engine/kernels/vector once for each
/// set, in the namespace NB_PATH; a call goes to the one selected by EngineContext::current().cpu_path().
#pragma once

#include "engine/kernels/adam.h"
#include "engine/kernels/attention_kernel.h"
#include "engine/kernels/block_kernel.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/gates.h"
#include "engine/kernels/gemm.h"
#include "engine/kernels/head_kernel.h"
#include "engine/kernels/newton_schulz.h"
#include "engine/kernels/second_moment.h"

namespace nanobench::core {

namespace generic {
#include "engine/kernels/vector/functions.inl"
}
namespace avx2 {
#include "engine/kernels/vector/functions.inl"
}
namespace avx512 {
#include "engine/kernels/vector/functions.inl"
}

template <class Function>
Function* by_path(Function* generic_path, Function* avx2_path, Function* avx512_path) {
  switch (EngineContext::current().cpu_path()) {
    case CpuPath::kAvx512: return avx512_path;
    case CpuPath::kAvx2: return avx2_path;
    case CpuPath::kGeneric: break;
  }
  return generic_path;
}

#define NB_BY_PATH(function) by_path(&generic::function, &avx2::function, &avx512::function)

}  // namespace nanobench::core
