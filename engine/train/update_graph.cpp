#include "engine/train/update_graph.h"

#include "core/base/error.h"
#include "core/base/rethrow.h"

namespace nanobench::core {

UpdateGraph::UpdateGraph(OptimizerSet& optimizers, const CudaPlugin& plugin) : optimizers_(optimizers) {
  optimizers_.prepare_idle();
  graph_ = plugin.capture([this] { optimizers_.launch(); });
}

void UpdateGraph::step(std::int64_t step) {
  optimizers_.prepare(step);
  graph_->replay();
}

UpdateGraphChoice choose_update_graph(OptimizerSet& optimizers, const CudaPlugin& plugin) {
  const auto not_captured = [](const std::string& why) { return UpdateGraphChoice{nullptr, "not captured: " + why}; };
  if (!optimizers.is_replayable()) return not_captured("not all parameters are updated by the GPU's kernels");
  try {
    return {std::make_unique<UpdateGraph>(optimizers, plugin), "captured"};
  } catch (const Error& error) {
    rethrow_internal(error);
    return not_captured(error.what());
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return not_captured(text.substr(0, text.find('\n')));
  }
}

}  // namespace nanobench::core
