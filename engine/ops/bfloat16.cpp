#include "engine/ops/bfloat16.h"

#include <ATen/Parallel.h>

#include <bit>
#include <cmath>

#include "core/base/op_timer.h"
#include "core/base/random.h"
#include "engine/kernels/bfloat16_rounding.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kGrain = 1 << 15;  // elements a thread takes at least

void round_floats(const float* from, float* to, std::int64_t count) {
  at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = rounded_to_bfloat16(from[i]);
  });
}

/// Adds 16 random bits below the kept ones and cuts: the upper neighbour comes with the probability of the fraction.
inline float rounded_stochastically(float value, std::uint64_t random) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + static_cast<std::uint32_t>(random & 0xffffU)) & 0xffff0000U);
}

struct StoredAsBfloat16 : torch::autograd::Function<StoredAsBfloat16> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& x) { return round_to_bfloat16(x); }
  static variable_list backward(AutogradContext*, variable_list gradients) { return {round_to_bfloat16(gradients[0])}; }
};

}  // namespace

at::Tensor round_to_bfloat16(const at::Tensor& x) {
  const OpTimer timer("round_to_bfloat16");
  if (x.scalar_type() != at::kFloat || !x.is_cpu()) return x.to(at::kBFloat16).to(x.scalar_type());
  const at::Tensor from = x.contiguous();
  at::Tensor to = at::empty_like(from);
  round_floats(from.const_data_ptr<float>(), to.data_ptr<float>(), from.numel());
  return to;
}

void round_to_bfloat16_(at::Tensor& x) {
  const OpTimer timer("round_to_bfloat16");
  if (x.scalar_type() != at::kFloat || !x.is_contiguous() || !x.is_cpu()) {
    x.copy_(round_to_bfloat16(x));
    return;
  }
  float* values = x.data_ptr<float>();
  round_floats(values, values, x.numel());
}

at::Tensor stored_as_bfloat16(const at::Tensor& x) {
  return StoredAsBfloat16::apply(x);
}

void round_stochastically_(at::Tensor& x, std::uint64_t seed, std::uint64_t stream) {
  at::Tensor values = x.to(at::kCPU, at::kFloat).contiguous();
  float* data = values.data_ptr<float>();
  const std::uint64_t key = splitmix64(splitmix64(seed) ^ stream);
  at::parallel_for(0, values.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      data[i] = rounded_stochastically(data[i], splitmix64(key + static_cast<std::uint64_t>(i)));
  });
  if (!values.is_same(x)) x.copy_(values);
}

}  // namespace nanobench::core
