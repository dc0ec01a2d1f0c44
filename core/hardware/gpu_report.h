/// A run's GPU as the protocol tells it (core/protocol/FORMAT.md): environment, counters, warning. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/hardware/gpu_monitor.h"
#include "core/hardware/nvml.h"

namespace nanobench::core {

/// For hello's `environment`: "gpu", "gpu_uuid", "driver", "cuda_driver", ...; what is not known is left out.
std::map<std::string, std::string> gpu_environment(const GpuFacts& facts);

/// "gpu/power_w/median", "gpu/other_processes", ...; what is not known is left out.
std::map<std::string, double> gpu_counters(const GpuSummary& summary);

/// What makes the run's times doubtful, a sentence; nullopt when nothing does.
std::optional<std::string> gpu_warning(const GpuSummary& summary);

/// Counter of one reason for lower clocks: 1 when it was seen.
inline constexpr const char* kGpuThrottlePrefix = "gpu/throttle/";
/// Counter of processes of others on the run's GPU.
inline constexpr const char* kGpuOthers = "gpu/other_processes";

/// Counters of one GPU of several begin so, with the number of its process: "gpu/process_3/other_processes".
inline constexpr const char* kGpuOfProcessPrefix = "gpu/process_";

/// Whether a counter of this name says what may disturb a run: foreign processes, and reasons for lower clocks.
bool tells_gpu_disturbance(const std::string& counter);

/// Whether clocks that fell for this reason make times doubtful: for heat or by the board, not for the power limit,
/// which is part of the GPU.
bool is_disturbing_throttle(const std::string& reason);

}  // namespace nanobench::core
