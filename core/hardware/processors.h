/// The processors that a process may use, and their vector units. The programs hold the kernels of all vector paths;
/// engine/kernels/engine_context.h says which one is in use. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nanobench::core {

/// Processors that this process may use: those of its affinity mask, and no more than its control group's quota pays
/// for.
int available_processors();

/// Whole processors that a control group's cpu.max ("QUOTA PERIOD" in microseconds) pays for, rounded up; nullopt: no
/// quota.
std::optional<int> processors_of_quota(const std::string& cpu_max);

enum class CpuPath { kGeneric, kAvx2, kAvx512 };

const char* to_string(CpuPath path);

/// Paths that this processor can run, the best last.
std::vector<CpuPath> available_cpu_paths();

/// The last of them.
CpuPath best_cpu_path();

/// How products of bfloat16 matrices are computed. Values are kept in float32 either way; what differs is the order of
/// sums, and that the units take numbers below 2^-126 for zero.
enum class Bfloat16Path { kEmulated, kAvx512Bf16 };

const char* to_string(Bfloat16Path path);

/// Paths that this processor can run, whether they pay or not; the units last. AMX is not used: no processor has it
/// without AVX512-BF16.
std::vector<Bfloat16Path> available_bfloat16_paths();

/// The units where they are twice as fast as float32 (AMD since Zen 4; Intel's have the same rate, so packing would
/// only cost) and the kernels' path is kAvx512.
Bfloat16Path best_bfloat16_path(CpuPath path);

}  // namespace nanobench::core
