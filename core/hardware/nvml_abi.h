/// The part of NVML's public binary interface that is called here, declared by us: no header of CUDA is needed to
/// build. Names, numbers and layouts are the library's: do not change. Private to core/hardware.
#pragma once

namespace nanobench::core::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kInsufficientSize = 7;

struct DeviceHandle;  ///< the library's own
using Device = DeviceHandle*;

enum ClockType : int { kSmClock = 1, kMemoryClock = 2 };
inline constexpr int kGpuSensor = 0;
inline constexpr int kEnabled = 1;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// Of nvmlDeviceGetComputeRunningProcesses, before the second version.
struct FirstProcess {
  unsigned int pid;
  unsigned long long used_bytes;
};

/// Of its second and third version.
struct Process {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
static_assert(sizeof(FirstProcess) == 16 && sizeof(Process) == 24);

inline constexpr unsigned long long kNotAvailable = ~0ULL;  ///< in place of used_bytes

/// Bits of the reasons for which clocks are not at their highest.
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

/// Each may be absent: drivers are older and newer.
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
  Return (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  Return (*ecc_mode)(Device, int*, int*) = nullptr;  ///< now, and after a reboot
  Return (*persistence_mode)(Device, int*) = nullptr;
  Return (*mig_mode)(Device, unsigned int*, unsigned int*) = nullptr;  ///< now, and after a reset
  Return (*processes)(Device, unsigned int*, Process*) = nullptr;
  Return (*first_processes)(Device, unsigned int*, FirstProcess*) = nullptr;
};

}  // namespace nanobench::core::nvml
