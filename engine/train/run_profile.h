/// The profile of a run: spans of its first timed steps. Not thread-safe; one at a time in a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/base/op_timer.h"
#include "core/base/step_profile.h"
#include "core/protocol/run_spec.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Watches this thread for as long as it lives. Calls directly in a step or phase, and autograd's functions, become
/// spans: "add", "mul", ...; the backward functions of products are "linear". FLOPs are those of matrix and dot
/// products; bytes are those of a call's inputs and outputs, or of the calls it makes when they are more; views move
/// none.
class OpObserver {
 public:
  OpObserver();
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

 private:
  std::uint64_t handle_;
};

/// One run's. Measures with an OpObserver while a step is profiled.
class RunProfile {
 public:
  /// The first kMaxProfiledSteps of the timed steps will be profiled.
  explicit RunProfile(std::int64_t untimed_steps) : untimed_steps_(untimed_steps) {}

  /// Profiles its scope, the whole of `step`, if the step is one of those.
  class Step {
   public:
    Step(RunProfile& profile, std::int64_t step);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    bool is_profiled_;
    std::optional<OpObserver> observer_;
    std::optional<OpTimer> timer_;
  };

  /// What the steps so far come to, with the machine's rate, which it measures (some milliseconds).
  StepProfile summary();
  /// The trace with `summary` in it. Atomic. Throws Error{kIo}.
  void write(const std::filesystem::path& file, const StepProfile& summary) const;

 private:
  std::int64_t untimed_steps_;
  Profiler profiler_;
};

/// Billions of FLOPs a second that this process reaches in float32 products of 512 x 512 matrices with its threads: the
/// best of several, about 50 ms.
double measure_sgemm_gflops();

}  // namespace nanobench::core
