#include "engine/cuda/adam.h"

#include <cmath>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kItem = 4 * kThreads * kVector;  // numbers of a block

struct Numbers {
  float p, m, v;
};

__device__ inline Numbers step_number(const AdamFactors& f, Numbers x, float g) {
  x.m = f.lerps_from_gradient != 0 ? g - (g - x.m) * f.keep_first : x.m + f.first * (g - x.m);
  x.v = x.v * f.keep_second + f.second * g * g;
  x.p = x.p * f.keep - f.rate * x.m / (sqrtf(x.v) / f.root + f.eps);
  return x;
}

/// Numbers [begin, end) of a tensor. With bfloat16 moments, all stored numbers are bfloat16 values.
template <class Number, class Moment, class Gradient>
__device__ void step_item(const AdamTensor& tensor, const AdamFactors& factors, std::int64_t begin, std::int64_t end) {
  constexpr bool kRounds = sizeof(Moment) == sizeof(bf16);
  auto* const parameter = static_cast<Number*>(tensor.parameter);
  auto* const first = static_cast<Moment*>(tensor.first_moment);
  auto* const second = static_cast<Moment*>(tensor.second_moment);
  const auto* const gradient = static_cast<const Gradient*>(tensor.gradient);
  const bool has_vectors = is_aligned(parameter) && is_aligned(first) && is_aligned(second) && is_aligned(gradient) &&
                           is_aligned(tensor.copy);
  for (std::int64_t at = begin + static_cast<std::int64_t>(threadIdx.x) * kVector; at < end; at += kThreads * kVector) {
    Floats8 p = load_up_to(parameter, at, end, has_vectors);
    Floats8 m = load_up_to(first, at, end, has_vectors);
    Floats8 v = load_up_to(second, at, end, has_vectors);
    Floats8 g = gradient != nullptr ? load_up_to(gradient, at, end, has_vectors) : Floats8{};
    if (kRounds) g = rounded(g);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const Numbers after = step_number(factors, {p.at[i], m.at[i], v.at[i]}, g.at[i]);
      p.at[i] = after.p, m.at[i] = after.m, v.at[i] = after.v;
    }
    if (kRounds) p = rounded(p);
    store_up_to(parameter, at, end, has_vectors, p);
    store_up_to(first, at, end, has_vectors, m);
    store_up_to(second, at, end, has_vectors, v);
    if (tensor.copy != nullptr) store_up_to(tensor.copy, at, end, has_vectors, p);
  }
}

template <class Gradient>
__device__ void step_typed(const AdamTensor& tensor, const AdamFactors& factors, std::int64_t begin, std::int64_t end) {
  switch (tensor.type) {
    case NumberType::kFloat32: return step_item<float, float, Gradient>(tensor, factors, begin, end);
    case NumberType::kBfloat16: return step_item<bf16, bf16, Gradient>(tensor, factors, begin, end);
    case NumberType::kRoundedFloat32: return step_item<float, bf16, Gradient>(tensor, factors, begin, end);
  }
}

/// The last tensor whose first item is at most `item`.
__device__ inline std::int64_t tensor_of(const AdamTensor* tensors, std::int64_t count, std::int64_t item) {
  std::int64_t low = 0, high = count - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (tensors[middle].first_item <= item) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kThreads)
    step_items(const AdamTensor* tensors, std::int64_t count, const AdamFactors* factors) {
  const std::int64_t item = blockIdx.x;
  const AdamTensor tensor = tensors[tensor_of(tensors, count, item)];
  const AdamFactors group = factors[tensor.group];
  const std::int64_t begin = (item - tensor.first_item) * kItem;
  const std::int64_t end = begin + kItem < tensor.count ? begin + kItem : tensor.count;
  if (tensor.gradient_type == NumberType::kFloat32) return step_typed<float>(tensor, group, begin, end);
  step_typed<bf16>(tensor, group, begin, end);
}

}  // namespace

AdamFactors adam_factors(const AdamStep& s) {
  const auto count = static_cast<double>(s.step);
  return {.keep = static_cast<float>(1.0 - s.rate * s.weight_decay),
          .first = static_cast<float>(1.0 - s.beta1),
          .second = static_cast<float>(1.0 - s.beta2),
          .keep_first = static_cast<float>(s.beta1),
          .keep_second = static_cast<float>(s.beta2),
          .rate = static_cast<float>(s.rate / (1.0 - std::pow(s.beta1, count))),
          .root = static_cast<float>(std::sqrt(1.0 - std::pow(s.beta2, count))),
          .eps = static_cast<float>(s.eps),
          .lerps_from_gradient = 1.0 - s.beta1 >= 0.5 ? 1 : 0};
}

std::int64_t adam_items(std::span<AdamTensor> tensors) {
  std::int64_t items = 0;
  for (AdamTensor& tensor : tensors) {
    tensor.first_item = items;
    items += ceil_div(tensor.count, kItem);
  }
  return items;
}

void adam_update(const AdamTensor* tensors, std::int64_t count, std::int64_t items, const AdamFactors* factors,
                 Stream stream) {
  if (items <= 0) return;
  NB_LAUNCH(step_items, dim3(static_cast<unsigned>(items)), dim3(kThreads), 0, stream, tensors, count, factors);
}

}  // namespace nanobench::core::cuda
