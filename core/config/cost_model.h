/// What one training step must do, by counting: floating-point operations, bytes, visited blocks of attention. It
/// depends on the configuration and the documents of the data alone, not on the machine, the kernels or the time, so
/// two runs of one spec cost the same to the last bit. Pure functions, plain C++.
///
/// FLOPs. A multiply-add is two; an exponential, square root or division is one. Matrix products of activations take
/// 2 m n k forward and twice that backward. Attention takes two products per visited pair of query and key forward and
/// five backward (the weights are computed again), plus the softmax; a pair is visited when its block is. Products of
/// Newton-Schulz are counted in full, although they are symmetric. The SVD is 6 l s^2 + 20 s^3 for a long side l and a
/// short side s (Golub and Van Loan, R-SVD with thin U). Element-wise work has a fixed number per element and op.
///
/// Bytes. For each sequence, each op reads each of its inputs once and writes each of its outputs once; what an op
/// holds inside (logits, attention weights) does not count, nor does what caches save. A value has the size that the
/// configured precision stores it in: two bytes in bfloat16, whether or not a machine emulates it.
///
/// Phases are those of the algorithm: the head's gradient is backward work, wherever an engine does it. Of a run of
/// several processes it is the work of all together, without communication.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/config/train_config.h"

namespace nanobench::core {

enum class OpFamily {
  kLinear,             ///< matrix products of the blocks
  kAttention,          ///< products and softmax over the visited pairs
  kHead,               ///< product with the vocabulary, softcap, cross-entropy
  kEmbeddings,         ///< looking up and adding into tables of tokens, values, positions
  kElementWise,        ///< norms, rotation, blends, activation, residual sums, gradient sums and clipping
  kOrthogonalization,  ///< Newton-Schulz or SVD
  kMuon,               ///< momentum and update of the matrices
  kAdam,
};
inline constexpr std::size_t kOpFamilies = 8;
enum class CostPhase { kForward, kBackward, kOptimizer };
inline constexpr std::size_t kCostPhases = 3;

/// "linear", "attention", ...: stable names of counters.
const char* to_string(OpFamily family);
const char* to_string(CostPhase phase);

struct Cost {
  double flops = 0;
  double bytes = 0;

  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
};

/// What block masks count, summed over sequences; of one layer and one head.
struct MaskCounts {
  std::int64_t visited_blocks = 0;  ///< pairs of query and key block with any allowed pair
  std::int64_t full_blocks = 0;     ///< of them those that need no mask
  std::int64_t visible_pairs = 0;   ///< pairs of query and key that are allowed

  MaskCounts& operator+=(const MaskCounts& other) {
    visited_blocks += other.visited_blocks;
    full_blocks += other.full_blocks;
    visible_pairs += other.visible_pairs;
    return *this;
  }
};

/// The masks of some steps: those of most layers, and those of attention.window.half_layers (zero without any).
struct AttentionCounts {
  MaskCounts whole;
  MaskCounts half;

  AttentionCounts& operator+=(const AttentionCounts& other) {
    whole += other.whole;
    half += other.half;
    return *this;
  }
};

/// The cost of some training steps.
class StepCost {
 public:
  Cost& at(OpFamily family, CostPhase phase) { return costs_[index(family)][static_cast<std::size_t>(phase)]; }
  const Cost& at(OpFamily family, CostPhase phase) const {
    return costs_[index(family)][static_cast<std::size_t>(phase)];
  }
  Cost of(OpFamily family) const;
  Cost of(CostPhase phase) const;
  Cost total() const;

  std::int64_t visited_blocks = 0;  ///< of one head, summed over sequences and layers
  std::int64_t visible_pairs = 0;

 private:
  static std::size_t index(OpFamily family) { return static_cast<std::size_t>(family); }
  std::array<std::array<Cost, kCostPhases>, kOpFamilies> costs_{};
};

/// The cost of `steps` training steps whose masks count `attention` in sum. `number_bytes`: of what is not stored in
/// bfloat16 (4 for float32, 8 for float64).
StepCost training_cost(const TrainConfig& config, const AttentionCounts& attention, std::int64_t steps = 1,
                       std::int64_t number_bytes = 4);

/// What the mask counts under which query q sees the keys [first_key[q], q]; first_key never decreases
/// (core/data/block_mask.h, which defines full blocks).
MaskCounts count_mask(std::span<const std::int64_t> first_key, std::int64_t block_size, WindowGranularity granularity);

/// The masks of one step if every sequence were one document: no data counts more. `window_tokens` as of the step;
/// nullopt: none.
AttentionCounts counts_without_documents(const TrainConfig& config, std::optional<std::int64_t> window_tokens,
                                         std::optional<std::int64_t> half_window_tokens);

}  // namespace nanobench::core
