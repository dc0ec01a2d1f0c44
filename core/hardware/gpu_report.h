/// Reports a run's GPU in the protocol's terms (core/protocol/FORMAT.md): environment, counters, warning. Pure
/// functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/hardware/gpu_monitor.h"
#include "core/hardware/nvml.h"

namespace nanobench::core {

/// For hello's `environment`: "gpu", "gpu_uuid", "driver", "cuda_driver", ...; unknown values are omitted.
std::map<std::string, std::string> gpu_environment(const GpuFacts& facts);

/// "gpu/power_w/median", "gpu/other_processes", ...; unknown values are omitted.
std::map<std::string, double> gpu_counters(const GpuSummary& summary);

/// A sentence on what makes the run's times doubtful; nullopt if nothing does.
std::optional<std::string> gpu_warning(const GpuSummary& summary);

/// Prefix of the counters of reasons for lower clocks: 1 if the reason was seen.
inline constexpr const char* kGpuThrottlePrefix = "gpu/throttle/";
/// Counter of foreign processes on the run's GPU.
inline constexpr const char* kGpuOthers = "gpu/other_processes";
/// 10^9 FLOP/s of matrix products in the run's type, on all GPUs of the run together.
inline constexpr const char* kGpuGflops = "gpu/product_gflops";

/// Prefix of the counters of one GPU of several, followed by the number of its process:
/// "gpu/process_3/other_processes".
inline constexpr const char* kGpuOfProcessPrefix = "gpu/process_";

/// Whether a counter of this name reports a possible disturbance of a run: foreign processes or reasons for lower
/// clocks.
bool tells_gpu_disturbance(const std::string& counter);

/// Whether a clock reduction for this reason makes times doubtful. Heat and the board's limits do; the power limit does
/// not, as it is part of the GPU.
bool is_disturbing_throttle(const std::string& reason);

}  // namespace nanobench::core
