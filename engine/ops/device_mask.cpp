#include "engine/ops/device_mask.h"

#include "core/base/error.h"

namespace nanobench::core {
namespace {

cuda::AttentionWindow window_kind(WindowGranularity granularity) {
  switch (granularity) {
    case WindowGranularity::kToken: return cuda::AttentionWindow::kToken;
    case WindowGranularity::kTokenBlockClipped: return cuda::AttentionWindow::kTokenBlockClipped;
    case WindowGranularity::kTokenInclusive: return cuda::AttentionWindow::kTokenInclusive;
    case WindowGranularity::kBlock: break;
  }
  return cuda::AttentionWindow::kBlock;
}

}  // namespace

AttentionPlanOptions plan_options(const AttentionConfig& config) {
  return {.implementation = config.implementation,
          .split_full_blocks = config.split_full_blocks,
          .block_order = config.block_order};
}

DeviceMask::DeviceMask(const AttentionConfig& config, const at::Tensor& tokens, const at::Tensor& window_tokens)
    : tokens_(tokens), window_tokens_(window_tokens) {
  TORCH_CHECK(tokens.dim() == 1 && tokens.scalar_type() == at::kInt && window_tokens.scalar_type() == at::kInt &&
                  window_tokens.numel() == 1,
              "device mask: expected int32 tokens [T] and an int32 window [1], got ", tokens.scalar_type(), " ",
              tokens.sizes(), " and ", window_tokens.scalar_type(), " ", window_tokens.sizes());
  inputs_ = {.tokens = tokens_.const_data_ptr<std::int32_t>(),
             .length = static_cast<std::int32_t>(tokens.size(0)),
             .document_mask = config.document_mask,
             .document_separator = static_cast<std::int32_t>(config.document_separator),
             .window = window_kind(config.window.granularity),
             .block_size = static_cast<std::int32_t>(config.block_size),
             .window_tokens = window_tokens_.const_data_ptr<std::int32_t>()};
  plan_ = std::make_shared<const AttentionPlan>(
      AttentionPlan::Ranges{.first_key = at::zeros_like(tokens), .last_query = at::zeros_like(tokens)},
      plan_options(config));
}

void DeviceMask::fill() const {
  const CudaKernels& kernels = *cuda_kernels();
  const AttentionPlan::Ranges& ranges = plan_->ranges();
  kernels.attention_mask(inputs_, ranges.first_key.data_ptr<std::int32_t>(), ranges.last_query.data_ptr<std::int32_t>(),
                         kernels.stream());
}

}  // namespace nanobench::core
