/// The micro-step as a GPU replays it: recorded once, for the only shape of a run. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "engine/train/cuda_plugin.h"
#include "engine/train/micro_step.h"

namespace nanobench::core {

/// The gradients of the parameters are its own tensors as long as it lives, and stay where they are; those of
/// parameters that get none stay undefined.
class StepGraph {
 public:
  /// Runs the micro-step a few times, which leaves parameters as they are and gradients zero, and records it. Throws
  /// Error and c10::Error when it cannot be recorded; gradients are undefined then, as they are without a graph. Keeps
  /// references.
  StepGraph(GPT& model, const TrainConfig& config, double weight, const CudaPlugin& plugin);

  void zero_gradients();
  /// Adds the gradients of one sequence; returns its loss. Enqueues, waits for nothing.
  at::Tensor run(const at::Tensor& tokens, const at::Tensor& targets, std::optional<std::int64_t> window);

 private:
  void keep_gradients();

  Parameters& parameters_;
  MicroStep step_;
  std::vector<at::Tensor> gradients_;
  std::unique_ptr<DeviceGraph> graph_;
};

struct StepGraphChoice {
  std::unique_ptr<StepGraph> graph;  ///< null: one operation after the other
  std::string state;                 ///< "off", "captured", or "not captured: " and why
};

/// The graph that a run asks for (gpu.step_graph), or why it has none. `processes`: of the run; `plugin`: of its GPU,
/// or null. Never fails: what cannot be recorded trains without.
StepGraphChoice choose_step_graph(const RunSpec& spec, GPT& model, double weight, int processes,
                                  const CudaPlugin* plugin);

}  // namespace nanobench::core
