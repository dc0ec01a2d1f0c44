/// The profile of a run: spans of its first timed steps. Not thread-safe; one at a time per process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/base/op_timer.h"
#include "core/base/step_profile.h"
#include "core/protocol/run_spec.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Observes this thread during its lifetime. LibTorch calls made directly in a step or phase, and autograd's functions,
/// become spans: "add", "mul", ...; the backward functions of products are "linear". FLOPs count matrix and dot
/// products. Bytes count a call's inputs and outputs, or those of its nested calls if they are larger; views move none.
class OpObserver {
 public:
  OpObserver();
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

 private:
  std::uint64_t handle_;
};

/// The profile of one run. Uses an OpObserver while a step is profiled.
class RunProfile {
 public:
  /// Profiles the first kMaxProfiledSteps timed steps.
  explicit RunProfile(std::int64_t untimed_steps) : untimed_steps_(untimed_steps) {}

  /// Profiles its scope, which is the whole of `step`, if that step is profiled.
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

  /// Summary of the steps so far, with the machine's rate, which it measures (some milliseconds).
  StepProfile summary();
  /// Writes the trace including `summary`. Atomic. Throws Error{kIo}.
  void write(const std::filesystem::path& file, const StepProfile& summary) const;

 private:
  std::int64_t untimed_steps_;
  Profiler profiler_;
};

/// GFLOP/s that this process reaches with its threads in float32 products of 512 x 512 matrices: the best of several
/// runs, about 50 ms.
double measure_sgemm_gflops();

}  // namespace nanobench::core
