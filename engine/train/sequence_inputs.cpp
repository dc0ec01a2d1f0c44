#include "engine/train/sequence_inputs.h"

#include <algorithm>
#include <vector>

#include "core/base/op_timer.h"
#include "engine/ops/device_mask.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

at::ScalarType SequenceInputs::token_type() const {
  return config_.data.loader.token_dtype == TokenDtype::kInt32 ? at::kInt : at::kLong;
}

SequenceInputs::Tokens SequenceInputs::shifted(std::span<const std::uint16_t> raw, at::ScalarType type) {
  const auto length = static_cast<std::int64_t>(raw.size()) - 1;
  const at::Tensor ids = at::empty({length + 1}, at::kLong);
  std::copy(raw.begin(), raw.end(), ids.data_ptr<std::int64_t>());
  return {.tokens = ids.narrow(0, 0, length).to(type), .targets = ids.narrow(0, 1, length)};
}

std::shared_ptr<const AttentionPlan> SequenceInputs::make_plan(std::span<const std::uint16_t> tokens,
                                                               std::optional<std::int64_t> window) const {
  return make_plan(tokens, window, config_.attention.window.granularity);
}

std::shared_ptr<const AttentionPlan> SequenceInputs::make_plan(std::span<const std::uint16_t> tokens,
                                                               std::optional<std::int64_t> window,
                                                               WindowGranularity granularity) const {
  const OpTimer timer("block_mask");
  const AttentionConfig& attention = config_.attention;
  const BlockMask mask(tokens, {.block_size = attention.block_size,
                                .document_mask = attention.document_mask,
                                .document_separator = attention.document_separator,
                                .granularity = granularity,
                                .window_tokens = window});
  return std::make_shared<const AttentionPlan>(mask, dtype_, plan_options(attention), device_);
}

/// The plan of the sequence of paired heads: two rows for each token, the same window number in rows.
std::shared_ptr<const AttentionPlan> SequenceInputs::make_paired_plan(std::span<const std::uint16_t> tokens,
                                                                      std::optional<std::int64_t> window) const {
  const std::int64_t separator = config_.attention.document_separator;
  const auto filler = static_cast<std::uint16_t>(separator == 0 ? 1 : 0);  // anything but the separator
  std::vector<std::uint16_t> doubled;
  for (const std::uint16_t token : tokens) {
    doubled.push_back(token);
    doubled.push_back(token == separator ? filler : token);
  }
  return make_plan(doubled, window);
}

SequenceInput SequenceInputs::make(std::span<const std::uint16_t> raw, const at::Tensor& tokens,
                                   const at::Tensor& targets, const StepWindows& windows) const {
  SequenceInput input{.tokens = tokens, .targets = targets, .plan = make_plan(raw, windows.whole)};
  if (!config_.attention.window.narrow_layers().empty()) input.half_plan = make_plan(raw, windows.half);
  if (!config_.model.paired_head_layers.empty()) {
    input.paired_plan = make_paired_plan(raw, windows.whole);
    if (input.half_plan) input.paired_half_plan = make_paired_plan(raw, windows.half);
  }
  if (config_.model.has_dc_attention())
    input.dc_plan = make_plan(raw, config_.model.dc_attention.window, WindowGranularity::kToken);
  if (windows.listed) input.listed_plan = make_plan(raw, windows.listed);
  return input;
}

SequenceInput SequenceInputs::make(std::span<const std::uint16_t> raw, const StepWindows& windows) const {
  const std::span<const std::uint16_t> first = raw.first(raw.size() - 1);
  if (takes_device_tensors(device_) && cuda_kernels()->upload != nullptr) {
    const CudaKernels& gpu = *cuda_kernels();
    return make(first, gpu.upload(first, token_type(), Upload::kBlocking),
                gpu.upload(raw.subspan(1), at::kLong, Upload::kBlocking), windows);
  }
  const Tokens own = shifted(raw, token_type());
  return make(first, own.tokens.to(device_), own.targets.to(device_), windows);
}

}  // namespace nanobench::core
