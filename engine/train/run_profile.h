/// What a run can record beyond its events: its trace, which is detailed enough to compare engines (losses, summaries
/// of activations, gradients and parameters), and the profile of its first timed steps. Not thread-safe; one profile at
/// a time per process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/op_timer.h"
#include "core/base/step_profile.h"
#include "core/protocol/run_spec.h"
#include "engine/nn/parameters.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Summary of a tensor's elements x_i in row-major order, accumulated in double:
/// l2 = sqrt(sum x_i^2), sum = sum x_i, probe = sum x_i (frac(i * 0.6180339887498949) - 0.5), which detects permuted
/// elements.
struct TensorSummary {
  double l2 = 0.0;
  double sum = 0.0;
  double probe = 0.0;
};

TensorSummary summarize(const at::Tensor& tensor);

/// Keys of the JSON file are the member names; keys of `gradients` and `val_losses` are steps.
struct Trace {
  std::vector<double> train_losses;                  ///< per step, mean over its sequences
  std::vector<std::vector<double>> sequence_losses;  ///< ordered by micro-batch, then rank
  std::map<std::int64_t, double> val_losses;
  std::map<std::string, TensorSummary> activations_step_0_sequence_0;
  std::map<std::int64_t, std::map<std::string, TensorSummary>> gradients;  ///< averaged, before the optimiser
  std::map<std::string, TensorSummary> final_parameters;

  /// Atomic. Numbers read back to the same double. Throws Error{kIo}.
  void write(const std::filesystem::path& file) const;
};

/// Summary of every parameter or, with `gradients`, of every gradient (zero if undefined).
std::map<std::string, TensorSummary> summarize(const Parameters& parameters, bool gradients);

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
  /// Profiles the first kMaxProfiledSteps timed steps. `marks`: those of the computing GPU; null: the host's clock.
  RunProfile(std::int64_t untimed_steps, std::unique_ptr<DeviceMarks> marks)
      : untimed_steps_(untimed_steps), profiler_(std::move(marks)) {}

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

  /// Call after a step, when the device has done its work.
  void settle() { profiler_.settle(); }
  /// Summary of the steps so far.
  StepProfile summary();
  /// Writes the trace including `summary`. Atomic. Throws Error{kIo}.
  void write(const std::filesystem::path& file, const StepProfile& summary) const;

 private:
  std::int64_t untimed_steps_;
  Profiler profiler_;
};

}  // namespace nanobench::core
