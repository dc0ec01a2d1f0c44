/// The part of NVML's public binary interface that we call, declared here so that the build needs no CUDA header.
/// Names, numbers and layouts are the library's: do not change them. Private to core/hardware.
#pragma once

namespace nanobench::core::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kInsufficientSize = 7;

struct DeviceHandle;  ///< opaque type of the library
using Device = DeviceHandle*;

enum ClockType : int { kSmClock = 1, kMemoryClock = 2 };
inline constexpr int kGpuSensor = 0;
enum PcieCounter : int { kPcieSent = 0, kPcieReceived = 1 };
inline constexpr int kEnabled = 1;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// Percent of the last sample period in which a kernel ran, and in which memory was read or written.
struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};

/// Entry of nvmlDeviceGetComputeRunningProcesses, version 1.
struct FirstProcess {
  unsigned int pid;
  unsigned long long used_bytes;
};

/// Entry of versions 2 and 3.
struct Process {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
static_assert(sizeof(FirstProcess) == 16 && sizeof(Process) == 24);

inline constexpr unsigned long long kNotAvailable = ~0ULL;  ///< value of used_bytes if unknown

/// Bits of the reasons for clocks below their maximum.
struct ThrottleBit {
  unsigned long long bit;
  const char* name;
};
inline constexpr ThrottleBit kThrottleBits[] = {
    {0x001, "idle"},
    {0x002, "application_clocks"},
    {0x004, "power_cap"},
    {0x008, "hw_slowdown"},
    {0x010, "sync_boost"},
    {0x020, "sw_thermal_slowdown"},
    {0x040, "hw_thermal_slowdown"},
    {0x080, "hw_power_brake"},
    {0x100, "display_clocks"},
};

/// Any of them may be absent, depending on the driver version.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_text)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned int) = nullptr;
  Return (*cuda_version)(int*) = nullptr;
  Return (*device_count)(unsigned int*) = nullptr;
  Return (*device_by_index)(unsigned int, Device*) = nullptr;
  Return (*device_by_uuid)(const char*, Device*) = nullptr;
  Return (*device_by_bus)(const char*, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned int) = nullptr;
  Return (*uuid)(Device, char*, unsigned int) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*power)(Device, unsigned int*) = nullptr;        ///< mW
  Return (*power_limit)(Device, unsigned int*) = nullptr;  ///< mW
  Return (*clock)(Device, int, unsigned int*) = nullptr;   ///< MHz
  Return (*highest_clock)(Device, int, unsigned int*) = nullptr;
  Return (*temperature)(Device, int, unsigned int*) = nullptr;  ///< C
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*pcie_throughput)(Device, int, unsigned int*) = nullptr;  ///< KB/s; samples for 20 ms
  Return (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  Return (*ecc_mode)(Device, int*, int*) = nullptr;  ///< current, and pending after a reboot
  Return (*persistence_mode)(Device, int*) = nullptr;
  Return (*mig_mode)(Device, unsigned int*, unsigned int*) = nullptr;  ///< current, and pending after a reset
  Return (*processes)(Device, unsigned int*, Process*) = nullptr;
  Return (*first_processes)(Device, unsigned int*, FirstProcess*) = nullptr;
};

}  // namespace nanobench::core::nvml
