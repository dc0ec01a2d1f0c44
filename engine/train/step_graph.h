/// The work of a step that a GPU replays: the forward and backward pass of a sequence, and the optimiser update, each
/// recorded once per run. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/schedule.h"
#include "core/protocol/run_spec.h"
#include "engine/nn/gpt.h"
#include "engine/ops/device_mask.h"
#include "engine/optim/optimizer_set.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core {

template <class Graph>
struct GraphChoice {
  std::unique_ptr<Graph> graph;  ///< null: operations run one by one
  std::string state = "off";     ///< "off", "captured", or "not captured: " and the reason
};

/// Forward and backward pass of one sequence on tensors with fixed addresses. load() loads a sequence. run() reads
/// nothing from the host: tokens, targets and the attention window are device data, and the device builds the mask.
/// run() adds to the parameters' gradients, so these must be defined and keep their addresses for a recording to be
/// replayed.
class MicroStep {
 public:
  /// `weight`: factor of a sequence's loss in the gradients. Starts with tokens 0 and a window of one block. Keeps
  /// references. Throws Error{kUnavailable} if no device has kernels.
  MicroStep(const GPT& model, const TrainConfig& config, double weight);

  /// Enqueues copies without waiting. `tokens` and `targets` [T] on the model's device; `windows` in tokens.
  void load(const at::Tensor& tokens, const at::Tensor& targets, const StepWindows& windows);
  void run();
  /// Loss of the last run; the next run overwrites it.
  const at::Tensor& loss() const { return loss_; }

 private:
  void set_window(std::int64_t mask, std::optional<std::int64_t> window);

  const GPT& model_;
  const AttentionConfig& attention_;
  at::Tensor tokens_;       ///< [T] in the model's dtype
  at::Tensor mask_tokens_;  ///< [T] int32, for the mask
  at::Tensor targets_;      ///< [T] int64
  at::Tensor windows_;      ///< [2] int32: window of most layers, and of half-window layers; 0: none
  at::Tensor weight_, loss_;
  std::vector<DeviceMask> masks_;                    ///< one, or two with half windows
  std::vector<std::optional<std::int64_t>> loaded_;  ///< windows currently loaded
  SequenceInput input_;
};

/// Owns the parameters' gradients during its lifetime; their addresses do not change. Parameters without a gradient
/// keep an undefined one.
class StepGraph {
 public:
  /// Runs the micro-step a few times and records it; parameters are unchanged and gradients zero afterwards. Throws
  /// Error and c10::Error if it cannot be recorded; gradients are then undefined, as without a graph. Keeps references.
  StepGraph(GPT& model, const TrainConfig& config, double weight, const CudaPlugin& plugin);

  void zero_gradients();
  /// Adds the gradients of one sequence; returns its loss. Enqueues its work and does not wait.
  at::Tensor run(const at::Tensor& tokens, const at::Tensor& targets, const StepWindows& windows);

 private:
  void keep_gradients();

  Parameters& parameters_;
  MicroStep step_;
  std::vector<at::Tensor> gradients_;
  std::unique_ptr<DeviceGraph> graph_;
};

/// The graph that a run asks for (gpu.step_graph), or the reason why it has none. `processes`: those of the run;
/// `plugin`: the GPU's, or null. Never fails: a step that cannot be recorded runs without a graph.
GraphChoice<StepGraph> choose_step_graph(const RunSpec& spec, GPT& model, double weight, int processes,
                                         const CudaPlugin* plugin);

class UpdateGraph {
 public:
  /// Runs the update a few times with numbers that change nothing, and records it. Gradients must be zero and keep
  /// their addresses. Throws Error and c10::Error if it cannot be recorded. Keeps a reference.
  /// REQUIRES optimizers.is_replayable().
  UpdateGraph(OptimizerSet& optimizers, const CudaPlugin& plugin);

  /// Like OptimizerSet::step. Enqueues its work and does not wait.
  void step(std::int64_t step);

 private:
  OptimizerSet& optimizers_;
  std::unique_ptr<DeviceGraph> graph_;
};

/// The update graph of a run whose gradients keep their addresses. Never fails: an update that cannot be recorded runs
/// without a graph.
GraphChoice<UpdateGraph> choose_update_graph(OptimizerSet& optimizers, const CudaPlugin& plugin);

}  // namespace nanobench::core
