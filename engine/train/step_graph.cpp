#include "engine/train/step_graph.h"

#include "core/base/error.h"
#include "core/base/rethrow.h"

namespace nanobench::core {
namespace {

/// Why a run of this kind is not recorded; nothing when it may be.
std::optional<std::string> obstacle(const RunSpec& spec, int processes, const CudaPlugin* plugin) {
  if (plugin == nullptr) return "this run computes on the CPU";
  if (processes > 1) return "its processes sum their gradients during the backward pass";
  if (spec.trace_file) return "a trace keeps what the layers compute";
  if (spec.profile_file) return "a profile times single operations";
  return std::nullopt;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

StepGraphChoice not_captured(const std::string& why) {
  return {nullptr, "not captured: " + why};
}

}  // namespace

StepGraph::StepGraph(GPT& model, const TrainConfig& config, double weight, const CudaPlugin& plugin)
    : parameters_(model.parameters()), step_(model, config, weight) {
  parameters_.zero_gradients();
  try {
    step_.run();  // it shows which parameters get gradients
    keep_gradients();
    graph_ = plugin.capture([this] { step_.run(); });
  } catch (...) {
    parameters_.zero_gradients();
    throw;
  }
  zero_gradients();
}

void StepGraph::keep_gradients() {
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : parameters_.all()) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (!gradient.defined()) continue;
    gradient = at::zeros_like(parameter.tensor, at::MemoryFormat::Contiguous);
    gradients_.push_back(gradient);
  }
}

void StepGraph::zero_gradients() {
  if (!gradients_.empty()) at::_foreach_zero_(gradients_);
}

at::Tensor StepGraph::run(const at::Tensor& tokens, const at::Tensor& targets, std::optional<std::int64_t> window) {
  step_.load(tokens, targets, window);
  graph_->replay();
  return step_.loss().clone();
}

StepGraphChoice choose_step_graph(const RunSpec& spec, GPT& model, double weight, int processes,
                                  const CudaPlugin* plugin) {
  if (!spec.config.gpu.step_graph) return {nullptr, "off"};
  if (const std::optional<std::string> why = obstacle(spec, processes, plugin)) return not_captured(*why);
  try {
    return {std::make_unique<StepGraph>(model, spec.config, weight, *plugin), "captured"};
  } catch (const Error& error) {
    rethrow_internal(error);
    return not_captured(error.what());
  } catch (const c10::Error& error) {
    return not_captured(first_line(error.what_without_backtrace()));
  }
}

}  // namespace nanobench::core
