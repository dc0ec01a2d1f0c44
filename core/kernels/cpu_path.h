/// Which vector units the kernels use. The binary holds all paths; the best one that this processor has is chosen once.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nanobench::core {

enum class CpuPath { kGeneric, kAvx2, kAvx512 };

const char* to_string(CpuPath path);

/// Paths that this processor can run, the best last.
std::vector<CpuPath> available_cpu_paths();

/// The path in use: the best, unless set otherwise.
CpuPath cpu_path();

/// For tests and benchmarks: nullopt returns to the best. Throws Error{kUnavailable} when the processor lacks it. Not
/// to be called while kernels run.
void set_cpu_path(std::optional<CpuPath> path);

/// Whether models take the fused ops where those fit (core/ops/fused_block.h); otherwise, for comparison, one op after
/// the other. True unless set.
bool uses_fused_ops();
void set_fused_ops(bool uses);

}  // namespace nanobench::core
