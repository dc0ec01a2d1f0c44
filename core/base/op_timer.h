/// Measures where a step's time goes: nested scopes name the work, and the Profiler records them.
///
/// Where a device does the work, its own marks take the place of the host's clock: scopes are then times on its stream,
/// whichever threads enqueue the work.
///
/// Code opens a scope, which ends by itself:
///
///     const OpTimer timer("attention", flops, bytes);
///
/// Without a profiler in the process a scope costs one load. With one it costs two readings of the clock and one
/// uncontended lock. Scopes of one thread nest like calls; a scope's self time is its own time minus that of the scopes
/// inside it. Ops may run on any thread; steps and phases belong to the thread that trains.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/device_marks.h"

namespace nanobench::core {

/// What a scope stands for: a whole training step, one of its phases ("data", "forward", ...), or work inside them.
enum class SpanKind { kStep, kPhase, kOp };

/// One scope that has ended.
struct Span {
  const char* name = "";
  const char* phase = "";  ///< the phase in which it began, or that it is; "" outside any phase
  SpanKind kind = SpanKind::kOp;
  int thread = 0;             ///< index into Profiler::threads()
  std::int64_t start_ns = 0;  ///< start on the steady clock
  std::int64_t end_ns = 0;
  std::int64_t self_ns = 0;  ///< time without nested scopes on the same thread
  double flops = 0;          ///< own work, without nested scopes
  double bytes = 0;
  int start_mark = -1;  ///< of the device; -1: the host's clock
  int end_mark = -1;
};

/// Records the spans of a process. Thread-safe.
class Profiler {
 public:
  /// `marks`: those of the device that does the work; null: the host's clock.
  explicit Profiler(std::unique_ptr<DeviceMarks> marks = nullptr) : marks_(std::move(marks)) {}

  void add(Span span);
  /// The next mark on the device's stream; -1 without a device.
  int mark();
  /// Turns the marks of all spans since the last call into times. The spans must have ended. Waits for the device. All
  /// of them count as the calling thread's, as they are on one stream.
  void settle();

  std::vector<Span> spans() const;  ///< in the order in which they ended
  /// The number of the calling thread, as in Span::thread.
  int this_thread();
  /// Names of the threads that ended a span; "main" is the initial thread of the process.
  std::vector<std::string> threads() const;

  const char* phase() const { return phase_.load(std::memory_order_relaxed); }
  void set_phase(const char* name) { phase_.store(name, std::memory_order_relaxed); }

 private:
  int thread_index();

  mutable std::mutex mutex_;
  std::unique_ptr<DeviceMarks> marks_;
  std::size_t settled_ = 0;  ///< spans whose marks are times
  std::vector<Span> spans_;
  std::vector<std::int64_t> thread_ids_;  ///< thread ids of the system
  std::atomic<const char*> phase_{""};
};

namespace detail {
inline std::atomic<Profiler*> installed_profiler{nullptr};
}

/// The profiler of this process, or nullptr.
inline Profiler* profiler() {
  return detail::installed_profiler.load(std::memory_order_acquire);
}

/// Makes scopes report to `profiler` from now on; nullptr: no reporting. It must outlive every scope that began under
/// it.
inline void set_profiler(Profiler* profiler) {
  detail::installed_profiler.store(profiler, std::memory_order_release);
}

/// Times its scope. Names must live as long as the profiler: string literals.
class OpTimer {
 public:
  /// An op that does `flops` floating-point operations and moves `bytes` of memory. If both are 0, the work is that of
  /// the LibTorch calls inside it, if they are observed (engine/train/run_profile.h).
  explicit OpTimer(const char* op, double flops = 0, double bytes = 0) : OpTimer(SpanKind::kOp, op) {
    if (profiler_ == nullptr) return;
    flops_ = flops;
    bytes_ = bytes;
    declares_work_ = flops != 0 || bytes != 0;
  }
  OpTimer(SpanKind kind, const char* name) {
    if (Profiler* const present = profiler()) begin(*present, kind, name);
  }
  ~OpTimer() {
    if (profiler_ != nullptr) end();
  }
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

  /// Adds work that is known only inside the scope.
  void add_work(double flops, double bytes) {
    flops_ += flops;
    bytes_ += bytes;
  }
  double flops() const { return flops_; }
  bool declares_work() const { return declares_work_; }
  SpanKind kind() const { return kind_; }

  /// The innermost open scope of this thread, or nullptr.
  static OpTimer* innermost();

 private:
  void begin(Profiler& profiler, SpanKind kind, const char* name);
  void end();

  Profiler* profiler_ = nullptr;
  OpTimer* outer_ = nullptr;
  const char* name_ = "";
  const char* phase_ = "";  ///< the phase outside this scope
  SpanKind kind_ = SpanKind::kOp;
  std::int64_t start_ns_ = 0;
  int start_mark_ = -1;
  std::int64_t inner_ns_ = 0;
  double flops_ = 0;
  double bytes_ = 0;
  bool declares_work_ = false;
};

}  // namespace nanobench::core
