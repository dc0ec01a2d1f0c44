// Losses of rows of logits and their gradient, with the softcap and without.
#include "engine/cuda/cross_entropy.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;
using core::cuda::CrossEntropyOptions;
using core::cuda::fp8_e5m2;

constexpr std::int64_t kRows = 16384;  // logits of 65,536 would take what the alternatives need beside them

struct Head {
  Head() : logits(normal({kRows, kVocabulary}) * 4), targets(tokens(kRows, kVocabulary).to(at::kLong)) {}
  at::Tensor logits, targets;
};

template <class Gradient>
Body own(CrossEntropyOptions options) {
  const Head head;
  const at::Tensor losses = zeros({kRows}, at::kFloat);
  const at::Tensor gradient = zeros({kRows, kVocabulary}, sizeof(Gradient) == 1 ? at::kByte : at::kBFloat16);
  options.factor = 1.0f / static_cast<float>(kRows);
  return [=] {
    core::cuda::cross_entropy_rows({kRows, kVocabulary, kVocabulary, kVocabulary}, numbers<bf16>(head.logits),
                                   numbers<std::int64_t>(head.targets), options, numbers<float>(losses),
                                   numbers<Gradient>(gradient), stream());
    return sizeof(Gradient) == 1 ? at::Tensor() : gradient;
  };
}

/// LibTorch's operations in float32, forward and backward by hand.
Body single_operations(double cap) {
  const Head head;
  const at::Tensor one = at::ones({}, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  return [=] {
    at::Tensor capped = head.logits.to(at::kFloat), squashed;
    if (cap > 0) {
      squashed = at::tanh(capped / cap);
      capped = squashed * cap;
    }
    const at::Tensor log_shares = at::_log_softmax(capped, 1, /*half_to_float=*/false);
    const auto [loss, weight] =
        at::nll_loss_forward(log_shares, head.targets, {}, at::Reduction::Mean, /*ignore_index=*/-100);
    at::Tensor d = at::nll_loss_backward(one, log_shares, head.targets, {}, at::Reduction::Mean, -100, weight);
    d = at::_log_softmax_backward_data(d, log_shares, 1, at::kFloat);
    if (cap > 0) d = at::tanh_backward(d, squashed);
    return d.to(at::kBFloat16);
  };
}

void add(const std::string& name, double cap) {
  const CrossEntropyOptions options{.cap = static_cast<float>(cap)};
  CrossEntropyOptions scaled = options;
  scaled.e5m2_scale = 65536.0f;
  const double logits = static_cast<double>(kRows * kVocabulary);
  add_rows(
      "cross_entropy_rows", shape_name({{"T", kRows}, {"V", kVocabulary}}) + name,
      {{.name = "own", .prepare = [=] { return own<bf16>(options); }, .work = {.bytes = 4 * logits}},
       {.name = "single_operations", .prepare = [=] { return single_operations(cap); }, .work = {.bytes = 4 * logits}},
       {.name = "own_to_e5m2",
        .prepare = [=] { return own<fp8_e5m2>(scaled); },
        .work = {.bytes = 3 * logits},
        .note = "a gradient in eight bits",
        .is_same_problem = false}});
}

}  // namespace

void cross_entropy_bench() {
  add("/cap:15", 15.0);
  add("/cap:0", 0.0);
}

}  // namespace nanobench::gpu_bench
