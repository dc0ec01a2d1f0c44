/// The optimisers' update as a GPU replays it: recorded once for a run. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/optim/optimizer_set.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core {

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

struct UpdateGraphChoice {
  std::unique_ptr<UpdateGraph> graph;  ///< null: one operation after the other
  std::string state = "off";           ///< "off", "captured", or "not captured: " and why
};

/// The graph of a run whose gradients stay where they are. Never fails: what cannot be recorded is done without.
UpdateGraphChoice choose_update_graph(OptimizerSet& optimizers, const CudaPlugin& plugin);

}  // namespace nanobench::core
