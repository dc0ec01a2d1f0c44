/// The processors that a process may use, and their vector units. The programs contain the kernels of all vector paths;
/// engine/kernels/engine_context.h selects the one in use. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"

namespace nanobench::core {

/// Number of processors that this process may use: those in its affinity mask, limited by its control group's quota.
int available_processors();

/// A processor as the system numbers it, and where it sits. Processors of one core share its units.
struct Processor {
  int number = 0;
  int package = 0;
  int core = 0;  ///< within the package
};

/// Those in this process's affinity mask; an unknown place is a core of its own.
std::vector<Processor> usable_processors();

/// `sets` disjoint sets of `each` processors, by their numbers. A set takes whole cores, and one processor of a core if
/// there are cores enough for all sets. Fewer sets if the processors do not suffice.
std::vector<std::vector<int>> disjoint_processors(std::vector<Processor> processors, int sets, int each);

/// Number of processors that a control group's cpu.max ("QUOTA PERIOD" in microseconds) allows, rounded up; nullopt: no
/// quota.
std::optional<int> processors_of_quota(const std::string& cpu_max);

enum class CpuPath { kGeneric, kAvx2, kAvx512 };

NB_ENUM_NAMES(CpuPath, {CpuPath::kGeneric, "generic"}, {CpuPath::kAvx2, "avx2"}, {CpuPath::kAvx512, "avx512"});

/// Paths that this processor can run; the best is last.
std::vector<CpuPath> available_cpu_paths();

/// The best available path.
CpuPath best_cpu_path();

/// How products of bfloat16 matrices are computed. Values are kept in float32 either way. The order of sums differs,
/// and the units treat numbers below 2^-126 as zero.
enum class Bfloat16Path { kEmulated, kAvx512Bf16 };

NB_ENUM_NAMES(Bfloat16Path, {Bfloat16Path::kEmulated, "emulated"}, {Bfloat16Path::kAvx512Bf16, "avx512_bf16"});

/// Paths that this processor can run, whether or not they are faster; the units are last. AMX is not used: no processor
/// has it without AVX512-BF16.
std::vector<Bfloat16Path> available_bfloat16_paths();

/// Returns the units if they are twice as fast as float32 and the kernels' path is kAvx512. That holds for AMD since
/// Zen 4; Intel's units have the same rate as float32, so packing would only add cost.
Bfloat16Path best_bfloat16_path(CpuPath path);

}  // namespace nanobench::core
