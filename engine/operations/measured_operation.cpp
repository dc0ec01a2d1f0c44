#include "engine/operations/measured_operation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "core/base/error.h"
#include "engine/kernels/attention_kernel.h"
#include "engine/ops/attention.h"
#include "engine/ops/orthogonalize.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "engine/optim/muon.h"

namespace nanobench::core {

MeasuredOperation make_operation(const std::string& op, const OperationArm& arm, std::uint64_t seed) {
  using Make = MeasuredOperation (*)(const OperationArm&, std::uint64_t);
  static const std::map<std::string, Make> makers = {{"attention", attention_operation},
                                                     {"matrix_product", matrix_product_operation},
                                                     {"muon_step", muon_step_operation},
                                                     {"orthogonalize", orthogonalize_operation},
                                                     {"softcapped_cross_entropy", head_operation}};
  const auto found = makers.find(op);
  if (found == makers.end()) throw Error(ErrorCode::kUnavailable, "this engine has no operation " + op);
  return found->second(arm, seed);
}

Normal::Normal(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)) {}

at::Tensor Normal::operator()(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::randn(shape, generator_, at::kDouble).to(dtype);
}

at::Tensor Normal::leaf(at::IntArrayRef shape, at::ScalarType dtype) {
  return (*this)(shape, dtype).requires_grad_(true);
}

double relative_distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor exact = b.to(at::kDouble);
  return ((a.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

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

namespace {

constexpr double kWeightScale = 0.02;  // logits of about the size that training has
constexpr double kProducts = 6;        // of T C V: one product forward, two backward, a multiply-add is two

}  // namespace

MeasuredOperation head_operation(const OperationArm& arm, std::uint64_t seed) {
  const std::int64_t length = arm.size("T"), width = arm.size("C"), vocab = arm.size("V");
  Normal normal(seed);
  const at::Tensor x = normal.leaf({length, width});
  const at::Tensor weight = (normal({vocab, width}) * kWeightScale).detach().requires_grad_(true);
  const at::Tensor targets = (at::arange(length, at::kLong) * 7919).remainder(vocab);
  HeadOptions options;
  options.softcap = {.cap = arm.config.model.logit_softcap, .form = arm.config.model.logit_softcap_form};
  const auto call = [=] {
    const at::Tensor loss = softcapped_cross_entropy(x, weight, targets, options);
    loss.backward();
    std::vector<at::Tensor> kept{loss.detach(), x.grad(), weight.grad()};
    x.mutable_grad().reset();
    weight.mutable_grad().reset();
    return kept;
  };
  return {.call = call,
          .flops = kProducts * static_cast<double>(length) * static_cast<double>(width) * static_cast<double>(vocab),
          .error =
              [=] {
                const at::NoGradGuard no_grad;
                return relative_distance(
                    softcapped_cross_entropy(x, weight, targets, options),
                    softcapped_cross_entropy(x.to(at::kDouble), weight.to(at::kDouble), targets, options));
              },
          .distance_to_polar = {}};
}

namespace {

constexpr double kNoMomentum = 0.0;
constexpr int kErrorSteps = 20;  // updates after which two precisions are compared

std::vector<std::int64_t> shape_of(const OperationArm& arm) {
  return {arm.size("rows"), arm.size("columns")};
}

/// Muon on one matrix with a constant gradient.
struct OneMatrix {
  at::Tensor parameter;
  Muon muon;

  OneMatrix(at::Tensor weights, const at::Tensor& gradient, const OptimizerGroupConfig& config)
      : parameter(with_gradient(std::move(weights), gradient)), muon({{.tensor = parameter}}, config) {}

  static at::Tensor with_gradient(at::Tensor weights, const at::Tensor& gradient) {
    weights.requires_grad_(true);
    weights.mutable_grad() = gradient;
    return weights;
  }
};

/// The update that Muon applies to the matrix after some steps, each with a new gradient, during momentum warm-up.
at::Tensor late_update(const OperationArm& arm, std::uint64_t seed, at::ScalarType dtype) {
  Normal normal(seed);
  const MomentumConfig& schedule = arm.config.schedule.muon_momentum;
  OneMatrix matrix(at::zeros(shape_of(arm), dtype), normal(shape_of(arm), dtype), arm.config.optimizer.hidden_matrices);
  at::Tensor update;
  for (int step = 0; step < kErrorSteps; ++step) {
    const double warmed = static_cast<double>(step) / kErrorSteps;
    matrix.parameter.mutable_grad() = normal(shape_of(arm), dtype);
    update = matrix.muon.single_update(schedule.start + (schedule.end - schedule.start) * warmed);
  }
  return update;
}

}  // namespace

MeasuredOperation matrix_product_operation(const OperationArm& arm, std::uint64_t seed) {
  Normal normal(seed);
  const std::int64_t rows = arm.size("rows"), columns = arm.size("columns"), inner = arm.size_or("inner", columns);
  const at::Tensor a = normal({rows, inner}), b = normal({inner, columns});
  return {.call = [=] { return std::vector<at::Tensor>{at::mm(a, b)}; },
          .flops = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner),
          .error = [=] { return relative_distance(at::mm(a, b), at::mm(a.to(at::kDouble), b.to(at::kDouble))); },
          .distance_to_polar = {}};
}

MeasuredOperation orthogonalize_operation(const OperationArm& arm, std::uint64_t seed) {
  Normal normal(seed);
  const at::Tensor gradient = normal(shape_of(arm));
  const OptimizerGroupConfig& config = arm.config.optimizer.hidden_matrices;
  const auto matrix = std::make_shared<OneMatrix>(at::zeros(shape_of(arm)), gradient, config);
  const auto update = [matrix] { return matrix->muon.single_update(kNoMomentum).reshape_as(matrix->parameter); };
  return {
      .call = [update] { return std::vector<at::Tensor>{update()}; },
      .flops = 0,
      .error =
          [=] {
            OneMatrix exact(at::zeros(shape_of(arm), at::kDouble), gradient.to(at::kDouble), config);
            return relative_distance(update(), exact.muon.single_update(kNoMomentum).reshape_as(gradient));
          },
      .distance_to_polar = [=] { return relative_distance(update(), svd_orthogonalize(gradient.to(at::kDouble))); }};
}

MeasuredOperation muon_step_operation(const OperationArm& arm, std::uint64_t seed) {
  Normal normal(seed);
  const at::Tensor weights = normal(shape_of(arm));
  const auto matrix = std::make_shared<OneMatrix>(weights, normal(shape_of(arm)), arm.config.optimizer.hidden_matrices);
  const double momentum = arm.config.schedule.muon_momentum.end;
  return {
      .call = [matrix, momentum]() -> std::vector<at::Tensor> {
        matrix->muon.step(1.0, momentum);
        return {};
      },
      .flops = 0,
      .error =
          [=] { return relative_distance(late_update(arm, seed, at::kFloat), late_update(arm, seed, at::kDouble)); },
      .distance_to_polar = {}};
}

}  // namespace nanobench::core
