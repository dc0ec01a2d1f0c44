// Adam's update of an embedding table, of several at once, and of the many small tensors.
#include "engine/cuda/adam.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::AdamFactors;
using core::cuda::AdamTensor;
using core::cuda::NumberType;

const core::cuda::AdamStep kStep{.rate = 1e-3, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-10, .step = 10};

/// Tensors of one shape.
struct State {
  State(std::int64_t count, at::IntArrayRef shape, at::ScalarType type) {
    for (std::int64_t i = 0; i < count; ++i) {
      p.push_back(normal(shape, type));
      g.push_back(normal(shape, type));
      m.push_back(zeros(shape, type));
      v.push_back(zeros(shape, type));
      steps.push_back(at::full({}, 10.0, at::TensorOptions(at::kCUDA).dtype(at::kFloat)));
    }
  }
  std::vector<at::Tensor> p, g, m, v, steps;
};

Body own(const State& state) {
  const NumberType type = state.p[0].scalar_type() == at::kFloat ? NumberType::kFloat32 : NumberType::kBfloat16;
  std::vector<AdamTensor> entries;
  for (std::size_t i = 0; i < state.p.size(); ++i)
    entries.push_back({.parameter = state.p[i].data_ptr(),
                       .first_moment = state.m[i].data_ptr(),
                       .second_moment = state.v[i].data_ptr(),
                       .gradient = state.g[i].data_ptr(),
                       .count = state.p[i].numel(),
                       .type = type,
                       .gradient_type = type});
  const std::int64_t items = core::cuda::adam_items(entries);
  const auto count = static_cast<std::int64_t>(entries.size());
  const at::Tensor table = upload(entries), factors = upload(std::vector{core::cuda::adam_factors(kStep)});
  return [=] {
    core::cuda::adam_update(numbers<AdamTensor>(table), count, items, numbers<AdamFactors>(factors), stream());
    return state.p[0];
  };
}

Body fused(const State& state) {
  return [=] {
    at::_fused_adamw_(state.p, state.g, state.m, state.v, {}, state.steps, kStep.rate, kStep.beta1, kStep.beta2,
                      kStep.weight_decay, kStep.eps, /*amsgrad=*/false, /*maximize=*/false);
    return state.p[0];
  };
}

void add(std::int64_t count, std::vector<std::int64_t> shape, at::ScalarType type) {
  std::int64_t each = 1;
  for (const std::int64_t size : shape) each *= size;
  constexpr double kAccesses = 7;  // reads p, g, m, v and writes p, m, v
  const Work work{.bytes = kAccesses * static_cast<double>(count * each) * (type == at::kFloat ? 4.0 : 2.0)};
  const auto with = [=](Body (*body)(const State&)) -> std::function<Body()> {
    return [=] { return body(State(count, shape, type)); };
  };
  add_rows("adam_update", shape_name({{"tensors", count}, {"numbers", each}}) + (type == at::kFloat ? "/f32" : "/bf16"),
           {{.name = "own", .prepare = with(own), .work = work},
            {.name = "fused_adamw", .prepare = with(fused), .work = work}});
}

}  // namespace

void adam_bench() {
  add(1, {kVocabulary, kWidth}, at::kFloat);
  add(5, {kVocabulary, kWidth}, at::kBFloat16);
  add(64, {kWidth}, at::kFloat);
}

}  // namespace nanobench::gpu_bench
