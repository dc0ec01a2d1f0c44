/// Rotary position embedding: tables and rotation. Stateless, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

struct RotaryTables {
  at::Tensor cos;  ///< [positions, E/2]
  at::Tensor sin;  ///< [positions, E/2]
};

/// Rotary tables for heads of width E.
///   positions  [n] any integer or floating type; positions in the sequence, not reset at documents;
///              the tables are on their device
///   dtype      type in which frequencies, angles and tables are computed
///   precision  kBfloat16Tables: cosines and sines are rounded (#5 to #13, #17); kBfloat16Frequencies: the frequencies,
///              then angles, cosines and sines (#14 to #16, as a sequence of tensor operations does)
/// Source: frequencies base^(-2j/E); with half_truncate, E/4 frequencies from 1 to 1/base and E/4 zeros (record #17).
///   windows    attention windows in tokens, the first and each later one; the frequencies follow them with
///              config.window_scaling kYarn
RotaryTables rotary_tables(const RopeConfig& config, std::int64_t head_dim, const at::Tensor& positions,
                           at::ScalarType dtype, RotaryPrecision precision = RotaryPrecision::kFloat32,
                           const std::vector<std::int64_t>& windows = {});

/// YaRN's change of frequencies when the attention window changes from w to w' tokens: f becomes f (w / w' + k (1 - w /
/// w')), k = clamp((w f / (2 pi) - 1) / 31, 0, 1). Frequencies that turn often in a window keep their pace.
///   frequencies  [n] float32 or float64, in radians per token; returns the same
/// Source: record #31.
at::Tensor yarn_frequencies(const at::Tensor& frequencies, std::int64_t window, std::int64_t next_window);

/// Rotates each pair (j, j + E/2): y1 = x1 cos + x2 sin, y2 = x2 cos - x1 sin.
///   x        [T, H, E], dtype of the tables; the first T rows of the tables are used
///   rounds_to_bfloat16  each product and sum is rounded (#5 to #16); false: none is, and the caller rounds the result
///   returns  [T, H, E]; differentiable in x
at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables, bool rounds_to_bfloat16 = false);

/// How rotate_late reads a head, and which position its rows have.
struct RotationForm {
  RopePairing pairing = RopePairing::kHalf;
  bool has_paired_heads = false;  ///< head h of token t is at position 2 t + h mod 2, for which the tables have rows
};
/// rotate() in the forms of records #58 on.
at::Tensor rotate_late(const at::Tensor& x, const RotaryTables& tables, const RotationForm& form,
                       bool rounds_to_bfloat16 = false);

}  // namespace nanobench::core
