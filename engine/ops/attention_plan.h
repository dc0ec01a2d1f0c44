/// A mask prepared for attention. Immutable after construction, except for ranges that a device fills; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/config/train_config.h"
#include "core/data/block_mask.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

struct AttentionPlanOptions {
  AttentionImplementation implementation = AttentionImplementation::kTiled;  ///< kDense: T x T products
  bool split_full_blocks = true;  ///< keys that every query of a tile sees skip the mask; false: all are masked
  KeyBlockOrder block_order = KeyBlockOrder::kAscending;
};

/// The keys that each query sees, prepared for attention. Built once per sequence and window, shared by all layers.
///
/// float32 heads whose width is a multiple of 16 use the vector kernel (engine/kernels/attention_kernel.h), which needs
/// only first_key. Everything else uses tiles of tensors: consecutive queries, with the range of keys that any of them
/// sees. Memory is O(T * (window + tile)), or O(T * T) for a dense plan. Tiles are built on first use.
class AttentionPlan {
 public:
  struct Tile {
    std::int64_t query_begin = 0;
    std::int64_t query_count = 0;
    std::int64_t key_begin = 0;
    std::int64_t key_count = 0;
    /// Columns [unmasked_begin, unmasked_end) are seen by every query of the tile: they need no bias.
    std::int64_t unmasked_begin = 0;
    std::int64_t unmasked_end = 0;
    at::Tensor bias;  ///< [query_count, key_count], 0 where allowed and -inf elsewhere
  };

  /// Ranges on the device, for kernels that need nothing else: int32 [T] each.
  struct Ranges {
    at::Tensor first_key;   ///< the first key that each query sees
    at::Tensor last_query;  ///< the last query that sees each key
  };

  /// `device`: device of the tiles' tensors.
  AttentionPlan(const BlockMask& mask, at::ScalarType dtype, const AttentionPlanOptions& options = {},
                at::Device device = at::kCPU);
  /// From ranges that a device fills before each use (engine/ops/device_mask.h). The host does not know them: such a
  /// plan has neither first_key() nor tiles, so only the GPU kernel can use it.
  AttentionPlan(Ranges ranges, const AttentionPlanOptions& options);

  std::int64_t length() const { return length_; }
  /// REQUIRES a mask from the host.
  const std::vector<std::int64_t>& first_key() const { return first_key_; }
  const AttentionPlanOptions& options() const { return options_; }
  /// Whether heads of this width use the vector kernel.
  bool uses_kernel(std::int64_t head_dim) const;
  /// Throws Error{kUnavailable} for a plan from device ranges.
  const std::vector<Tile>& tiles() const;
  const Ranges& ranges() const;

  /// Block size if tiles order key blocks from the end (KeyBlockOrder::kNearestFirst); 0: in order.
  std::int64_t reversed_blocks_of() const { return reversed_blocks_of_; }

 private:
  std::vector<Tile> make_tiles() const;
  Ranges make_ranges() const;

  std::int64_t length_;
  bool is_of_device_ = false;  ///< only ranges_ holds the mask
  std::vector<std::int64_t> first_key_;
  std::int64_t block_size_ = 1;
  at::ScalarType dtype_ = at::kFloat;
  AttentionPlanOptions options_;
  at::Device device_;
  std::int64_t reversed_blocks_of_ = 0;
  mutable std::once_flag is_laid_out_;
  mutable std::vector<Tile> tiles_;
  mutable std::once_flag has_ranges_;
  mutable Ranges ranges_;
};

/// Carries a plan through autograd's saved data.
struct AttentionPlanHolder : torch::CustomClassHolder {
  explicit AttentionPlanHolder(std::shared_ptr<const AttentionPlan> shared) : plan(std::move(shared)) {}
  std::shared_ptr<const AttentionPlan> plan;
};

/// Queries per tile of a tiled plan.
inline constexpr std::int64_t kTileQueries = 128;

}  // namespace nanobench::core
