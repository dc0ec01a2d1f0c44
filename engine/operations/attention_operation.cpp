// Attention of one sequence, forward and backward, under the mask of the arm's window and documents.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "engine/kernels/attention_kernel.h"
#include "engine/operations/measured_operation.h"
#include "engine/ops/attention.h"

namespace nanobench::core {
namespace {

constexpr double kBackwardShare = 2.5;  // of the forward pass's multiply-adds: five products instead of two
constexpr std::uint16_t kWord = 1;
constexpr std::int64_t kSteps = 101;  // documents of 1/51 to 101/51 of the mean length, in steps that visit every size
constexpr std::int64_t kStride = 37;

/// A sequence of documents with this mean length; one document when it is 0. Lengths are spread evenly.
std::vector<std::uint16_t> tokens_of(std::int64_t length, std::int64_t mean, std::int64_t separator) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(length), kWord);
  if (mean == 0) return tokens;
  std::int64_t begin = 0;
  for (std::int64_t i = 1; begin < length; ++i) {
    tokens[static_cast<std::size_t>(begin)] = static_cast<std::uint16_t>(separator);
    const std::int64_t part = i * kStride % kSteps + 1;
    begin += std::max<std::int64_t>(1, 2 * mean * part / (kSteps + 1));
  }
  return tokens;
}

BlockMask mask_of(const OperationArm& arm, std::int64_t length) {
  const AttentionConfig& config = arm.config.attention;
  const std::int64_t document = arm.size_or("document_tokens", 0);
  BlockMaskOptions options{.block_size = config.block_size,
                           .document_mask = document > 0 && config.document_mask,
                           .document_separator = config.document_separator,
                           .granularity = config.window.granularity,
                           .window_tokens = std::nullopt};
  if (const std::int64_t window = arm.size_or("window_tokens", 0)) options.window_tokens = window;
  return BlockMask(tokens_of(length, document, config.document_separator), options);
}

struct Heads {
  at::Tensor q, k, v, dy;

  Heads(const OperationArm& arm, std::int64_t length, std::uint64_t seed) {
    const std::int64_t heads = arm.size("H"), width = arm.size("D");
    const ModelConfig& model = arm.config.model;
    if (heads * model.num_kv_heads % model.num_heads != 0) {
      throw Error(ErrorCode::kInvalidArgument, std::to_string(heads) + " heads cannot be grouped as " +
                                                   std::to_string(model.num_heads) + " over " +
                                                   std::to_string(model.num_kv_heads));
    }
    const std::int64_t kv_heads = heads * model.num_kv_heads / model.num_heads;
    Normal normal(seed);
    q = normal.leaf({length, heads, width});
    k = normal.leaf({length, kv_heads, width});
    v = normal.leaf({length, kv_heads, width});
    dy = normal({length, heads, width});
  }
};

}  // namespace

MeasuredOperation attention_operation(const OperationArm& arm, std::uint64_t seed) {
  const std::int64_t length = arm.size("T");
  const BlockMask mask = mask_of(arm, length);
  const AttentionConfig& config = arm.config.attention;
  const AttentionPlanOptions options{.implementation = config.implementation,
                                     .split_full_blocks = config.split_full_blocks,
                                     .block_order = config.block_order};
  const auto plan = std::make_shared<const AttentionPlan>(mask, at::kFloat, options);
  const Heads heads(arm, length, seed);
  const double scale = arm.config.model.attention_scale.value_or(1 / std::sqrt(static_cast<double>(arm.size("D"))));
  const AttentionShape shape{
      .length = length, .heads = arm.size("H"), .kv_heads = heads.k.size(1), .head_dim = arm.size("D")};
  return {.call =
              [=] {
                const at::Tensor y = attention(heads.q, heads.k, heads.v, plan, scale);
                y.backward(heads.dy);
                std::vector<at::Tensor> kept{y.detach()};
                for (const at::Tensor& input : {heads.q, heads.k, heads.v}) {
                  kept.push_back(input.grad());
                  input.mutable_grad().reset();
                }
                return kept;
              },
          .flops = (1 + kBackwardShare) * attention_forward_flops(shape, mask.first_key()),
          .error =
              [=] {
                const at::NoGradGuard no_grad;
                const auto in_double = [](const at::Tensor& x) { return x.to(at::kDouble); };
                return relative_distance(
                    attention(heads.q, heads.k, heads.v, plan, scale),
                    dense_attention(in_double(heads.q), in_double(heads.k), in_double(heads.v), mask, scale));
              },
          .distance_to_polar = {}};
}

}  // namespace nanobench::core
