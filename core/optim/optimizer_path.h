/// What an optimiser's arithmetic goes through.
#pragma once

namespace nanobench::core {

/// kKernel: core/kernels where they apply, else as kReference: LibTorch's operations, for tests and benchmarks. The
/// same but for rounding.
enum class OptimizerPath { kKernel, kReference };

}  // namespace nanobench::core
