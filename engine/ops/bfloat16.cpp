#include "engine/ops/bfloat16.h"

#include <ATen/Parallel.h>
#include <bit>
#include <cmath>

#include "core/base/op_timer.h"
#include "core/base/random.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/gemm.h"

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

/// The nearest bfloat16 value of a double, rounded once: the float in between is rounded to an odd last bit if it is
/// not exact, which keeps it on its side of every tie.
inline double rounded_once(double value) {
  const auto near = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(near) == value) return rounded_to_bfloat16(near);
  auto bits = std::bit_cast<std::uint32_t>(near);
  if (std::abs(static_cast<double>(near)) > std::abs(value)) --bits;  // towards zero
  return rounded_to_bfloat16(std::bit_cast<float>(bits | 1U));
}

void round_doubles(const double* from, double* to, std::int64_t count) {
  at::parallel_for(0, count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = rounded_once(from[i]);
  });
}

/// Adds 16 random bits below the kept ones and truncates: the fraction is the probability of the upper neighbour.
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
  const bool is_double = x.scalar_type() == at::kDouble;
  if ((x.scalar_type() != at::kFloat && !is_double) || !x.is_cpu()) return x.to(at::kBFloat16).to(x.scalar_type());
  const at::Tensor from = x.contiguous();
  at::Tensor to = at::empty_like(from);
  if (is_double) {
    round_doubles(from.const_data_ptr<double>(), to.data_ptr<double>(), from.numel());
  } else {
    round_floats(from.const_data_ptr<float>(), to.data_ptr<float>(), from.numel());
  }
  return to;
}

void round_to_bfloat16_(at::Tensor& x) {
  const OpTimer timer("round_to_bfloat16");
  if (!x.is_cpu() && x.scalar_type() == at::kFloat) {
    x.copy_(x.to(at::kBFloat16));  // converts as it copies
    return;
  }
  if (x.scalar_type() != at::kFloat || !x.is_contiguous()) {
    x.copy_(round_to_bfloat16(x));
    return;
  }
  float* values = x.data_ptr<float>();
  round_floats(values, values, x.numel());
}

void truncate_to_bfloat16_(at::Tensor& x) {
  const OpTimer timer("round_to_bfloat16");
  constexpr std::int64_t kDoubleBits = 45, kFloatBits = 16;  // behind the seven digits of bfloat16
  const bool is_double = x.scalar_type() == at::kDouble;
  const std::int64_t kept = -(std::int64_t{1} << (is_double ? kDoubleBits : kFloatBits));
  x.detach().view(is_double ? at::kLong : at::kInt).bitwise_and_(kept);
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

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A matrix, or the transpose of the matrix in memory.
struct Operand {
  const float* values;
  std::int64_t row;
  bool is_transposed;

  explicit Operand(const at::Tensor& matrix)
      : values(matrix.const_data_ptr<float>()),
        row(matrix.stride(1) == 1 ? matrix.stride(0) : matrix.stride(1)),
        is_transposed(matrix.stride(1) != 1) {
    TORCH_CHECK(matrix.stride(0) == 1 || matrix.stride(1) == 1, "bfloat16 product: a matrix of strides ",
                matrix.strides());
  }
};

/// Uses tensor cores: the inputs are bfloat16 values, so their conversion is exact.
void multiply_on_device(const at::Tensor& a, const at::Tensor& b, bool rounds, const at::Tensor& out) {
  const OpTimer timer("bfloat16_product", 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(1)));
  const at::Tensor left = a.to(at::kBFloat16), right = b.to(at::kBFloat16);
  out.copy_(rounds ? at::mm(left, right) : at::mm(left, right, at::kFloat));
}

/// out [rows, columns], contiguous, = a b.
void multiply(const at::Tensor& a, const at::Tensor& b, bool rounds, const at::Tensor& out) {
  if (!out.is_cpu()) {
    multiply_on_device(a, b, rounds, out);
    return;
  }
  const Operand left(a), right(b);
  const OpTimer timer("bfloat16_product", 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.size(1)));
  multiply_bfloat16({.rows = a.size(0),
                     .columns = b.size(1),
                     .inner = a.size(1),
                     .a = left.values,
                     .a_row = left.row,
                     .transposes_a = left.is_transposed,
                     .b = right.values,
                     .b_row = right.row,
                     .transposes_b = right.is_transposed,
                     .c = out.data_ptr<float>(),
                     .c_row = out.size(1)},
                    rounds, kernel_threads());
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b, bool rounds) {
  at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
  multiply(a, b, rounds, out);
  return out;
}

struct Bfloat16Linear : torch::autograd::Function<Bfloat16Linear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight) {
    const at::Tensor rows = x.contiguous(), matrix = round_to_bfloat16(weight);
    context->save_for_backward({rows, matrix});
    return product(rows, matrix.t(), /*rounds=*/true);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor dy = round_to_bfloat16(gradients[0]);
    return {context->needs_input_grad(0) ? product(dy, saved[1], /*rounds=*/false) : at::Tensor(),
            context->needs_input_grad(1) ? product(dy.t(), saved[0], /*rounds=*/true) : at::Tensor()};
  }
};

}  // namespace

bool fits_bfloat16_kernel(const at::Tensor& a, const at::Tensor& b) {
  const auto is_plain = [](const at::Tensor& t) {
    return (t.is_cpu() || t.is_cuda()) && t.scalar_type() == at::kFloat;
  };
  return EngineContext::current().uses_kernels() && is_plain(a) && is_plain(b) && a.numel() > 0 && b.numel() > 0;
}

at::Tensor product_of_bfloat16(const at::Tensor& a, const at::Tensor& b) {
  return fits_bfloat16_kernel(a, b) ? product(a, b, /*rounds=*/false) : at::mm(a, b);
}

at::Tensor bfloat16_linear(const at::Tensor& x, const at::Tensor& weight) {
  return Bfloat16Linear::apply(x, weight);
}

at::Tensor bfloat16_bmm(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu()) return at::bmm(a.to(at::kBFloat16), b.to(at::kBFloat16)).to(at::kFloat);
  at::Tensor out = at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  for (std::int64_t i = 0; i < a.size(0); ++i) multiply(a[i], b[i], /*rounds=*/true, out[i]);
  return out;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// LibTorch's conversion rounds to nearest even but turns too large values into NaN or infinity: hence the clamp.
at::Tensor saturated(at::Tensor&& x, at::ScalarType type, double largest) {
  return x.clamp_(-largest, largest).to(type).to(x.scalar_type());
}

at::Tensor scaled_to(const at::Tensor& x, double scale, at::ScalarType type, double largest) {
  const OpTimer timer("quantize_float8");
  return saturated(x * scale, type, largest);
}

}  // namespace

at::Tensor in_e4m3_units(const at::Tensor& x, const at::Tensor& unit) {
  return saturated(x / unit, at::kFloat8_e4m3fn, kE4m3Max);
}

at::Tensor in_e4m3(const at::Tensor& x, double scale) {
  return scaled_to(x, scale, at::kFloat8_e4m3fn, kE4m3Max);
}

at::Tensor in_e5m2(const at::Tensor& x, double scale) {
  return scaled_to(x, scale, at::kFloat8_e5m2, kE5m2Max);
}

}  // namespace nanobench::core
