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

/// How products of bfloat16 matrices are computed. Values are kept in float32 either way; what differs is the order of
/// sums, and that the units take numbers below 2^-126 for zero.
enum class Bfloat16Path { kEmulated, kAvx512Bf16 };

const char* to_string(Bfloat16Path path);

/// Paths that this processor can run, whether they pay or not; the units last. AMX is not used: no processor has it
/// without AVX512-BF16.
std::vector<Bfloat16Path> available_bfloat16_paths();

/// The path in use: the units where they are twice as fast as float32 (AMD since Zen 4; Intel's have the same rate, so
/// packing would only cost), and cpu_path() is kAvx512; unless set otherwise.
Bfloat16Path bfloat16_path();

/// For tests and benchmarks, as set_cpu_path.
void set_bfloat16_path(std::optional<Bfloat16Path> path);

/// Whether models and optimisers take the fused kernels where those fit (engine/ops/fused_block.h); otherwise, for
/// comparison, one op after the other. True unless set.
bool uses_fused_ops();
void set_fused_ops(bool uses);

/// Single ops as long as it lives, for tests and benchmarks. Optimisers look when they are made.
class ReferenceOps {
 public:
  ReferenceOps() : before_(uses_fused_ops()) { set_fused_ops(false); }
  ~ReferenceOps() { set_fused_ops(before_); }
  ReferenceOps(const ReferenceOps&) = delete;
  ReferenceOps& operator=(const ReferenceOps&) = delete;

 private:
  bool before_;
};

}  // namespace nanobench::core
