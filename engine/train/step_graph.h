/// The work of a step as a GPU replays it: forward and backward of a sequence, and the update of the optimisers, each
/// recorded once for a run. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "engine/nn/gpt.h"
#include "engine/ops/device_mask.h"
#include "engine/optim/optimizer_set.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core {

template <class Graph>
struct GraphChoice {
  std::unique_ptr<Graph> graph;  ///< null: one operation after the other
  std::string state = "off";     ///< "off", "captured", or "not captured: " and why
};

/// Forward and backward of one sequence on tensors that stay where they are. load() puts a sequence in; run() takes
/// nothing from the host: tokens, targets and the attention window are data of the device, which makes the mask itself.
/// run() adds to the gradients of the parameters, so these must be defined, and stay where they are, for a recording of
/// it to be replayed.
class MicroStep {
 public:
  /// `weight`: what a sequence's loss counts for in the gradients. Begins with tokens 0 and a window of one block.
  /// Keeps references. Throws Error{kUnavailable} where no device has kernels.
  MicroStep(const GPT& model, const TrainConfig& config, double weight);

  /// Enqueues copies; waits for nothing. `tokens` and `targets` [T] on the model's device; `window` in tokens.
  void load(const at::Tensor& tokens, const at::Tensor& targets, std::optional<std::int64_t> window);
  void run();
  /// Of the last run; written anew by the next one.
  const at::Tensor& loss() const { return loss_; }

 private:
  void set_window(std::int64_t mask, std::optional<std::int64_t> window);

  const GPT& model_;
  const AttentionConfig& attention_;
  at::Tensor tokens_;       ///< [T] as the model takes them
  at::Tensor mask_tokens_;  ///< [T] int32, as the mask takes them
  at::Tensor targets_;      ///< [T] int64
  at::Tensor windows_;      ///< [2] int32: of most layers, and of those with half a window; 0: none
  at::Tensor weight_, loss_;
  std::vector<DeviceMask> masks_;                    ///< one, or two with half windows
  std::vector<std::optional<std::int64_t>> loaded_;  ///< windows that are there
  SequenceInput input_;
};

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

/// The graph that a run asks for (gpu.step_graph), or why it has none. `processes`: of the run; `plugin`: of its GPU,
/// or null. Never fails: what cannot be recorded trains without.
GraphChoice<StepGraph> choose_step_graph(const RunSpec& spec, GPT& model, double weight, int processes,
                                         const CudaPlugin* plugin);

class UpdateGraph {
 public:
  /// Does the update a few times with numbers that change nothing, and records it. Gradients must be zero, and stay
  /// where they are. Throws Error and c10::Error when it cannot be recorded. Keeps a reference.
  /// REQUIRES optimizers.is_replayable().
  UpdateGraph(OptimizerSet& optimizers, const CudaPlugin& plugin);

  /// As OptimizerSet::step. Enqueues, waits for nothing.
  void step(std::int64_t step);

 private:
  OptimizerSet& optimizers_;
  std::unique_ptr<DeviceGraph> graph_;
};

/// The graph of a run whose gradients stay where they are. Never fails: what cannot be recorded is done without.
GraphChoice<UpdateGraph> choose_update_graph(OptimizerSet& optimizers, const CudaPlugin& plugin);

}  // namespace nanobench::core
