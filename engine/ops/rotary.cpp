#include "engine/ops/rotary.h"

#include <numbers>

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Rotation by -angle (sign = 1) or by +angle (sign = -1, the backward of the first).
at::Tensor rotate_halves(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double sign) {
  const std::int64_t half = x.size(-1) / 2;
  at::Tensor y = at::empty_like(x, at::MemoryFormat::Contiguous);
  const at::Tensor x1 = x.narrow(-1, 0, half);
  const at::Tensor x2 = x.narrow(-1, half, half);
  at::Tensor y1 = y.narrow(-1, 0, half);
  at::Tensor y2 = y.narrow(-1, half, half);
  at::mul_out(y1, x1, cos).addcmul_(x2, sin, sign);
  at::mul_out(y2, x2, cos).addcmul_(x1, sin, -sign);
  return y;
}

/// The same with every product and sum rounded, as a sequence of tensor operations does.
at::Tensor rotate_halves_rounded(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double sign) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor x1 = x.narrow(-1, 0, half);
  const at::Tensor x2 = x.narrow(-1, half, half);
  const auto product = [](const at::Tensor& a, const at::Tensor& b) { return round_to_bfloat16(a * b); };
  const at::Tensor y1 = product(x1, cos).add_(product(x2, sin), sign);
  const at::Tensor y2 = product(x2, cos).sub_(product(x1, sin), sign);
  return round_to_bfloat16(at::cat({y1, y2}, -1));
}

struct Rotate : torch::autograd::Function<Rotate> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                            bool rounds) {
    context->save_for_backward({cos, sin});
    context->saved_data["rounds"] = rounds;
    return turned(x, cos, sin, 1.0, rounds);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const bool rounds = context->saved_data["rounds"].toBool();
    return {turned(gradients[0], saved[0], saved[1], -1.0, rounds), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double sign,
                           bool rounds) {
    const OpTimer timer("rotary");
    return rounds ? rotate_halves_rounded(x, cos, sin, sign) : rotate_halves(x, cos, sin, sign);
  }
};

}  // namespace

at::Tensor yarn_frequencies(const at::Tensor& frequencies, std::int64_t window, std::int64_t next_window) {
  constexpr double kSlow = 1, kFast = 32;  // turns in a window, between which the change fades out
  const double ratio = static_cast<double>(window) / static_cast<double>(next_window);
  const at::Tensor turns = frequencies * (static_cast<double>(window) / (2 * std::numbers::pi));
  const at::Tensor kept = ((turns - kSlow) / (kFast - kSlow)).clamp(0.0, 1.0);
  return frequencies * (kept * (1.0 - ratio) + ratio);
}

RotaryTables rotary_tables(const RopeConfig& config, std::int64_t head_dim, const at::Tensor& positions,
                           at::ScalarType dtype, RotaryPrecision precision, const std::vector<std::int64_t>& windows) {
  const auto options = positions.options().dtype(dtype);
  at::Tensor frequencies;
  if (config.half_truncate) {
    const std::int64_t turning = head_dim / 4;
    const at::Tensor exponents = at::linspace(0, 1, turning, options);
    frequencies =
        at::cat({at::pow(at::scalar_tensor(1.0 / config.base, options), exponents), at::zeros({turning}, options)});
  } else {
    const at::Tensor exponents = at::arange(0, head_dim, 2, options).div_(static_cast<double>(head_dim));
    frequencies = at::pow(at::scalar_tensor(config.base, options), exponents).reciprocal_();
  }
  for (std::size_t i = 1; config.window_scaling == RopeWindowScaling::kYarn && i < windows.size(); ++i)
    frequencies = yarn_frequencies(frequencies, windows[i - 1], windows[i]);
  if (precision == RotaryPrecision::kBfloat16Frequencies) frequencies = round_to_bfloat16(frequencies);
  at::Tensor angles = at::outer(positions.to(dtype), frequencies);
  if (precision == RotaryPrecision::kBfloat16Frequencies)
    angles = at::outer(round_to_bfloat16(positions.to(dtype)), frequencies);
  if (precision == RotaryPrecision::kBfloat16Frequencies) angles = round_to_bfloat16(angles);
  RotaryTables tables{at::cos(angles), at::sin(angles)};
  if (precision != RotaryPrecision::kFloat32) tables = {round_to_bfloat16(tables.cos), round_to_bfloat16(tables.sin)};
  return tables;
}

at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables, bool rounds_to_bfloat16) {
  const std::int64_t length = x.size(0);
  return Rotate::apply(x, tables.cos.narrow(0, 0, length).unsqueeze(1), tables.sin.narrow(0, 0, length).unsqueeze(1),
                       rounds_to_bfloat16);
}

at::Tensor rotate_late(const at::Tensor& x, const RotaryTables& tables, const RotationForm& form,
                       bool rounds_to_bfloat16) {
  const std::int64_t length = x.size(0), heads = x.size(1);
  const auto rows_of = [&](const at::Tensor& table) {
    if (!form.has_paired_heads) return table.narrow(0, 0, length).unsqueeze(1);
    return table.narrow(0, 0, 2 * length).reshape({length, 2, -1}).repeat({1, heads / 2, 1});
  };
  const bool is_adjacent = form.pairing == RopePairing::kAdjacent;
  // Neighbours become halves, are turned as such, and go back.
  const at::Tensor halves = is_adjacent ? x.unflatten(-1, {-1, 2}).transpose(-1, -2).flatten(-2) : x;
  const at::Tensor turned = Rotate::apply(halves, rows_of(tables.cos), rows_of(tables.sin), rounds_to_bfloat16);
  return is_adjacent ? turned.unflatten(-1, {2, -1}).transpose(-1, -2).flatten(-2) : turned;
}

}  // namespace nanobench::core
