#include "engine/train/micro_step.h"

#include "core/base/error.h"
#include "core/config/schedule.h"

namespace nanobench::core {
namespace {

at::Tensor numbers(const GPT& model, at::IntArrayRef shape, at::ScalarType dtype) {
  return at::zeros(shape, at::TensorOptions().dtype(dtype).device(model.device()));
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
  const std::int64_t masks = attention_.window.half_layers.empty() ? 1 : 2;
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

void MicroStep::load(const at::Tensor& tokens, const at::Tensor& targets, std::optional<std::int64_t> window) {
  tokens_.copy_(tokens, /*non_blocking=*/true);
  targets_.copy_(targets, /*non_blocking=*/true);
  set_window(0, window);
  if (masks_.size() == 2) set_window(1, half_window_tokens(attention_, window));
}

void MicroStep::run() {
  if (!mask_tokens_.is_same(tokens_)) mask_tokens_.copy_(tokens_);
  for (const DeviceMask& mask : masks_) mask.fill();
  const at::Tensor loss = model_.loss(input_, Pass::kTraining);
  loss.backward(weight_);
  loss_.copy_(loss.detach());
}

}  // namespace nanobench::core
