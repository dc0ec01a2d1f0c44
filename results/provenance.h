/// Provenance: the facts about build, machine and command line that are stored with every run. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/hardware/nvml.h"
#include "results/records.h"

namespace nanobench::results {

struct MachineInfo {
  std::string host;
  std::string cpu_model;
  std::string architecture;
  int cores = 1;  ///< usable by this process: affinity and cgroup quota
  std::int64_t memory_bytes = 0;
  std::string kernel;
  std::optional<core::GpuFacts> gpu;  ///< the GPU that runs are to use; absent: they use only the processors
};
/// Has no GPU: callers that make runs for one set it.
MachineInfo machine_info();

/// Class of machines whose times may be compared: architecture, CPU model, usable cores; with a GPU also its model and
/// driver. The run's environment (RunRecord::gpu) identifies the individual GPU.
std::string hardware_class(const MachineInfo& machine);

/// This process as an owner of running rows.
Owner this_process();

/// Whether the owner's process is known to be alive (true), known to have ended (false), or cannot be observed
/// (nullopt: another host, boot or container; its heartbeat decides).
std::optional<bool> is_alive(const Owner& owner);

/// Build and machine as facts for `environments`.
std::map<std::string, std::string> provenance_facts();

/// "2026-01-31T23:59:59.123Z"
std::string utc_now();

/// Seconds since 1970 of such a time; nullopt for other text.
std::optional<double> seconds_since_epoch(const std::string& utc);

}  // namespace nanobench::results
