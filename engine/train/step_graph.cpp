#include "engine/train/step_graph.h"

#include "core/base/error.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

at::Tensor numbers(const GPT& model, at::IntArrayRef shape, at::ScalarType dtype) {
  return at::zeros(shape, at::TensorOptions().dtype(dtype).device(model.device()));
}

/// Why a run of this kind is not recorded; empty if it may be.
std::optional<std::string> obstacle(const RunSpec& spec, int processes, const CudaPlugin* plugin) {
  if (plugin == nullptr) return "this run computes on the CPU";
  if (processes > 1) return "its processes sum their gradients during the backward pass";
  if (!spec.config.loss.multi_token.empty() || !spec.config.loss.prefix.empty())
    return "the weights of its targets change";
  if (spec.config.model.has_dc_attention()) return "composed heads have a mask of their own";
  if (!spec.config.model.paired_head_layers.empty()) return "paired heads have masks of their own";
  if (spec.config.precision.mlp_down == ProductPrecision::kFp8)
    return "8-bit products of the MLPs have the ranges of earlier passes";
  if (!spec.config.data.stages.empty()) return "its sequences change their length";
  if (spec.trace_file) return "a trace keeps what the layers compute";
  if (spec.profile_file) return "a profile times single operations";
  if (window_changes_attention(spec.config.model))
    return "rotary frequencies and attention scale change with the window";
  return std::nullopt;
}

template <class Graph>
GraphChoice<Graph> not_captured(const std::string& why) {
  return {nullptr, "not captured: " + why};
}

/// The result of `record`, or the reason why it failed.
template <class Graph, class Record>
GraphChoice<Graph> recorded(Record&& record) {
  try {
    return {record(), "captured"};
  } catch (const Error& error) {
    rethrow_internal(error);
    return not_captured<Graph>(error.what());
  } catch (const c10::Error& error) {
    return not_captured<Graph>(first_line(error.what_without_backtrace()));
  }
}

}  // namespace

MicroStep::MicroStep(const GPT& model, const TrainConfig& config, double weight)
    : model_(model), attention_(config.attention) {
  if (cuda_kernels() == nullptr) throw Error(ErrorCode::kUnavailable, "there are no kernels of a GPU");
  const std::int64_t length = config.data.sequence_length;
  const bool is_int32 = config.data.loader.token_dtype == TokenDtype::kInt32;
  tokens_ = numbers(model, {length}, is_int32 ? at::kInt : at::kLong);
  mask_tokens_ = is_int32 ? tokens_ : numbers(model, {length}, at::kInt);
  targets_ = numbers(model, {length}, at::kLong);
  windows_ = numbers(model, {2}, at::kInt).fill_(attention_.block_size);
  weight_ = numbers(model, {}, model.dtype()).fill_(weight);
  loss_ = numbers(model, {}, model.dtype());
  const std::int64_t masks = attention_.window.narrow_layers().empty() ? 1 : 2;
  for (std::int64_t mask = 0; mask < masks; ++mask)
    masks_.emplace_back(attention_, mask_tokens_, windows_.narrow(0, mask, 1));
  loaded_.resize(masks_.size(), attention_.block_size);
  input_ = {.tokens = tokens_,
            .targets = targets_,
            .plan = masks_.front().plan(),
            .half_plan = masks == 2 ? masks_.back().plan() : nullptr};
}

void MicroStep::set_window(std::int64_t mask, std::optional<std::int64_t> window) {
  std::optional<std::int64_t>& loaded = loaded_[static_cast<std::size_t>(mask)];
  if (loaded == window) return;
  windows_.narrow(0, mask, 1).fill_(window.value_or(0));
  loaded = window;
}

void MicroStep::load(const at::Tensor& tokens, const at::Tensor& targets, const StepWindows& windows) {
  tokens_.copy_(tokens, /*non_blocking=*/true);
  targets_.copy_(targets, /*non_blocking=*/true);
  set_window(0, windows.whole);
  if (masks_.size() == 2) set_window(1, windows.half);
}

void MicroStep::run() {
  if (!mask_tokens_.is_same(tokens_)) mask_tokens_.copy_(tokens_);
  for (const DeviceMask& mask : masks_) mask.fill();
  const at::Tensor loss = model_.loss(input_, Pass::kTraining);
  loss.backward(weight_);
  loss_.copy_(loss.detach());
}

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

at::Tensor StepGraph::run(const at::Tensor& tokens, const at::Tensor& targets, const StepWindows& windows) {
  step_.load(tokens, targets, windows);
  graph_->replay();
  return step_.loss().clone();
}

GraphChoice<StepGraph> choose_step_graph(const RunSpec& spec, GPT& model, double weight, int processes,
                                         const CudaPlugin* plugin) {
  if (!spec.config.gpu.step_graph) return {};
  if (const std::optional<std::string> why = obstacle(spec, processes, plugin)) return not_captured<StepGraph>(*why);
  return recorded<StepGraph>([&] { return std::make_unique<StepGraph>(model, spec.config, weight, *plugin); });
}

UpdateGraph::UpdateGraph(OptimizerSet& optimizers, const CudaPlugin& plugin) : optimizers_(optimizers) {
  optimizers_.prepare_idle();
  graph_ = plugin.capture([this] { optimizers_.launch(); });
}

void UpdateGraph::step(std::int64_t step) {
  optimizers_.prepare(step);
  graph_->replay();
}

GraphChoice<UpdateGraph> choose_update_graph(OptimizerSet& optimizers, const CudaPlugin& plugin) {
  if (!optimizers.is_replayable())
    return not_captured<UpdateGraph>("not all parameters are updated by the GPU's kernels");
  return recorded<UpdateGraph>([&] { return std::make_unique<UpdateGraph>(optimizers, plugin); });
}

}  // namespace nanobench::core
