/// A mask made ready for attention. Immutable after construction but for ranges that a device fills; thread-safe.
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
  bool split_full_blocks = true;  ///< what every query of a tile sees is left alone; false: the mask goes everywhere
  KeyBlockOrder block_order = KeyBlockOrder::kAscending;
};

/// Which keys each query sees, ready for attention. Made once per sequence and window, shared by all layers.
///
/// float32 heads of a multiple of 16 numbers take the vector kernel (engine/kernels/attention_kernel.h), which needs
/// first_key only. Everything else takes tiles of tensors: consecutive queries, each tile with the one range of keys
/// that any of them sees; memory O(T * (window + tile)), a dense plan O(T * T). They are laid out when first asked for.
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

  /// On the device, for kernels that take nothing else: int32 [T] each.
  struct Ranges {
    at::Tensor first_key;   ///< the first key that each query sees
    at::Tensor last_query;  ///< the last query that sees each key
  };

  /// `device`: of the tensors of its tiles.
  AttentionPlan(const BlockMask& mask, at::ScalarType dtype, const AttentionPlanOptions& options = {},
                at::Device device = at::kCPU);
  /// Of ranges that a device fills before each use (engine/ops/device_mask.h). The host does not know them: such a plan
  /// has neither first_key() nor tiles, so only the GPU's kernel can take it.
  AttentionPlan(Ranges ranges, const AttentionPlanOptions& options);

  std::int64_t length() const { return length_; }
  /// REQUIRES a mask from the host.
  const std::vector<std::int64_t>& first_key() const { return first_key_; }
  const AttentionPlanOptions& options() const { return options_; }
  /// Whether heads of this width take the vector kernel.
  bool uses_kernel(std::int64_t head_dim) const;
  /// Throws Error{kUnavailable} for a plan of the device's ranges.
  const std::vector<Tile>& tiles() const;
  const Ranges& ranges() const;

  /// Tiles count keys from the end, block by block (KeyBlockOrder::kNearestFirst); 0: in order.
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
