/// Counts what this process asks of the CUDA driver: launches, copies, waits. By CUPTI (libcupti.so.13), which LibTorch
/// has in the process anyway; the library is loaded on first use. Without it, or while another tool uses it, there are
/// no counts, never an error.
///
/// $NANOBENCH_CUPTI names another library, for tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace nanobench::core {

enum class DriverCall { kLaunch, kGraphLaunch, kCopy, kFill, kWait, kAllocation };

inline constexpr int kDriverCalls = 6;

/// The plural, as in counters.
NB_ENUM_NAMES(DriverCall, {DriverCall::kLaunch, "launches"}, {DriverCall::kGraphLaunch, "graph_launches"},
              {DriverCall::kCopy, "copies"}, {DriverCall::kFill, "fills"}, {DriverCall::kWait, "waits"},
              {DriverCall::kAllocation, "allocations"});

/// What a function of the driver does, by its name: "cuLaunchKernelEx" is a launch, "cuMemcpyHtoDAsync_v2" a copy,
/// "cuStreamSynchronize" a wait. nullopt: nothing that is counted.
std::optional<DriverCall> driver_call_of(std::string_view function);

/// Counts the calls of all threads from its making to its end. One at a time per process; thread-safe. Each call of the
/// driver takes a fraction of a microsecond longer meanwhile.
class DriverCallCounter {
 public:
  /// Null if CUPTI is missing, or refuses because another tool uses it.
  static std::unique_ptr<DriverCallCounter> start();
  ~DriverCallCounter();
  DriverCallCounter(const DriverCallCounter&) = delete;
  DriverCallCounter& operator=(const DriverCallCounter&) = delete;

  std::int64_t count(DriverCall call) const { return counts_[static_cast<std::size_t>(call)].load(); }

 private:
  DriverCallCounter() = default;
  static void called(void* counter, int domain, std::uint32_t id, const void* data);

  void* subscriber_ = nullptr;  ///< CUPTI's
  int (*unsubscribe_)(void*) = nullptr;
  std::atomic<std::int64_t> counts_[kDriverCalls] = {};
};

}  // namespace nanobench::core
