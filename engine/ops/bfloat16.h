/// Rounding to bfloat16, for emulating its storage with float32 arithmetic. Stateless, thread-safe.
///
/// A CPU without bfloat16 units multiplies such matrices two orders of magnitude more slowly, so values are kept in
/// float32 (or float64) and rounded where a bfloat16 program would store them.
#pragma once

#include <cstdint>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// The nearest bfloat16 value of every element (ties to even), in the dtype of x. Not differentiable.
///   x  float32 or float64, any shape. Infinities stay, NaN stays NaN; finite values that round beyond the largest
///      bfloat16 become infinite, as in hardware.
at::Tensor round_to_bfloat16(const at::Tensor& x);

/// The same, in place.
void round_to_bfloat16_(at::Tensor& x);

/// x as a bfloat16 tensor would hold it: the value is rounded, and on the way back its gradient.
at::Tensor stored_as_bfloat16(const at::Tensor& x);

/// One of the two bfloat16 neighbours of every element, in place: the upper with the probability of its distance to the
/// lower. Element i of stream (seed, stream) draws the same number always.
///   x  float32 or float64
void round_stochastically_(at::Tensor& x, std::uint64_t seed, std::uint64_t stream);

}  // namespace nanobench::core
