/// Counts the work of one training step: floating-point operations, bytes, visited blocks of attention. The count
/// depends only on the configuration and the documents of the data, not on the machine, the kernels or the time. Two
/// runs of one spec therefore cost the same to the last bit. Pure functions, plain C++.
///
/// FLOPs. A multiply-add is two; an exponential, square root or division is one. Matrix products of activations take
/// 2 m n k forward and twice that backward. Attention takes two products per visited pair of query and key forward and
/// five backward (the weights are computed again), plus the softmax; a pair is visited when its block is visited.
/// Newton-Schulz products are counted in full, although they are symmetric. The SVD is 6 l s^2 + 20 s^3 for a long side
/// l and a short side s (Golub and Van Loan, R-SVD with thin U). Element-wise work counts a fixed number per element
/// and op.
///
/// Bytes. For each sequence, each op reads each input once and writes each output once. Values internal to an op
/// (logits, attention weights) do not count, and cache hits are not subtracted. A value has the size of its configured
/// storage precision: two bytes in bfloat16, whether or not the machine emulates it.
///
/// Phases are those of the algorithm: the head's gradient is backward work, wherever an engine computes it. For a run
/// of several processes, the cost is the work of all of them together, without communication.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/enum_names.h"
#include "core/config/train_config.h"

namespace nanobench::core {

enum class OpFamily {
  kLinear,             ///< matrix products of the blocks
  kAttention,          ///< products and softmax over the visited pairs
  kHead,               ///< product with the vocabulary, softcap, cross-entropy
  kEmbeddings,         ///< lookups in and additions to tables of tokens, values, positions
  kElementWise,        ///< norms, rotation, blends, activation, residual sums, gradient sums and clipping
  kOrthogonalization,  ///< Newton-Schulz or SVD
  kMuon,               ///< momentum and update of the matrices
  kAdam,
};
inline constexpr std::size_t kOpFamilies = 8;
enum class CostPhase { kForward, kBackward, kOptimizer };
inline constexpr std::size_t kCostPhases = 3;

/// Stable counter names.
NB_ENUM_NAMES(OpFamily, {OpFamily::kLinear, "linear"}, {OpFamily::kAttention, "attention"}, {OpFamily::kHead, "head"},
              {OpFamily::kEmbeddings, "embeddings"}, {OpFamily::kElementWise, "element_wise"},
              {OpFamily::kOrthogonalization, "orthogonalization"}, {OpFamily::kMuon, "muon"},
              {OpFamily::kAdam, "adam"});
NB_ENUM_NAMES(CostPhase, {CostPhase::kForward, "forward"}, {CostPhase::kBackward, "backward"},
              {CostPhase::kOptimizer, "optimizer"});

struct Cost {
  double flops = 0;
  double bytes = 0;

  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
};

/// Counts from block masks, summed over sequences, for one layer and one head.
struct MaskCounts {
  std::int64_t visited_blocks = 0;  ///< pairs of query and key block with at least one allowed pair
  std::int64_t full_blocks = 0;     ///< visited blocks that need no mask
  std::int64_t visible_pairs = 0;   ///< pairs of query and key that are allowed

  MaskCounts& operator+=(const MaskCounts& other) {
    visited_blocks += other.visited_blocks;
    full_blocks += other.full_blocks;
    visible_pairs += other.visible_pairs;
    return *this;
  }
};

/// Mask counts of some steps: for most layers, and for attention.window.half_layers (zero if there are none).
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

  std::int64_t visited_blocks = 0;  ///< for one head, summed over sequences and layers
  std::int64_t visible_pairs = 0;

 private:
  static std::size_t index(OpFamily family) { return static_cast<std::size_t>(family); }
  std::array<std::array<Cost, kCostPhases>, kOpFamilies> costs_{};
};

/// The cost of `steps` training steps whose mask counts sum to `attention`. `number_bytes`: size of a number that is
/// not stored in bfloat16 (4 for float32, 8 for float64).
StepCost training_cost(const TrainConfig& config, const AttentionCounts& attention, std::int64_t steps = 1,
                       std::int64_t number_bytes = 4);

/// Counts of the mask in which query q sees the keys [first_key[q], q]. first_key never decreases;
/// core/data/block_mask.h defines full blocks.
MaskCounts count_mask(std::span<const std::int64_t> first_key, std::int64_t block_size, WindowGranularity granularity);

/// Mask counts of one step if every sequence were one document: the maximum for any data. `window_tokens`: the window
/// at that step; nullopt: none.
AttentionCounts counts_without_documents(const TrainConfig& config, std::optional<std::int64_t> window_tokens,
                                         std::optional<std::int64_t> half_window_tokens);

}  // namespace nanobench::core
