#include "engine/ops/attention_plan.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/config/kernel_coverage.h"

namespace nanobench::core {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [rows, columns] of 0 and -inf for queries query_begin ... and keys key_begin ...
template <class Number>
void fill_bias(at::Tensor& bias, const std::vector<std::int64_t>& first_key, std::int64_t query_begin,
               std::int64_t key_begin) {
  Number* row = bias.data_ptr<Number>();
  const std::int64_t columns = bias.size(1);
  for (std::int64_t i = 0; i < bias.size(0); ++i, row += columns) {
    const std::int64_t query = query_begin + i;
    const std::int64_t begin =
        std::clamp<std::int64_t>(first_key[static_cast<std::size_t>(query)] - key_begin, 0, columns);
    const std::int64_t end = std::clamp<std::int64_t>(query + 1 - key_begin, 0, columns);
    std::fill(row, row + begin, static_cast<Number>(kMinusInfinity));
    std::fill(row + begin, row + end, Number{0});
    std::fill(row + end, row + columns, static_cast<Number>(kMinusInfinity));
  }
}

at::Tensor make_bias(const std::vector<std::int64_t>& first_key, std::int64_t query_begin, std::int64_t query_count,
                     std::int64_t key_begin, std::int64_t key_count, at::ScalarType dtype) {
  at::Tensor bias = at::empty({query_count, key_count}, at::TensorOptions().dtype(dtype));
  if (dtype == at::kDouble) {
    fill_bias<double>(bias, first_key, query_begin, key_begin);
  } else {
    fill_bias<float>(bias, first_key, query_begin, key_begin);
  }
  return bias;
}

/// The tile of queries [begin, begin + count) with the keys they see, in ascending order.
AttentionPlan::Tile make_tile(const std::vector<std::int64_t>& first_key, std::int64_t block_size, std::int64_t begin,
                              std::int64_t count, at::ScalarType dtype, const AttentionPlanOptions& options) {
  const auto length = static_cast<std::int64_t>(first_key.size());
  AttentionPlan::Tile tile;
  tile.query_begin = begin;
  tile.query_count = count;
  const auto from = first_key.begin() + begin;
  const auto [first, last] = std::minmax_element(from, from + count);
  const bool by_blocks = options.block_order == KeyBlockOrder::kNearestFirst;
  const std::int64_t unit = by_blocks ? block_size : 1;
  const bool is_dense = options.implementation == AttentionImplementation::kDense;
  tile.key_begin = is_dense ? 0 : *first / unit * unit;
  tile.key_count = is_dense ? length : (begin + count + unit - 1) / unit * unit - tile.key_begin;
  tile.bias = make_bias(first_key, begin, count, tile.key_begin, tile.key_count, dtype);
  if (options.split_full_blocks && !is_dense && begin >= *last) {
    tile.unmasked_begin = *last - tile.key_begin;
    tile.unmasked_end = begin + 1 - tile.key_begin;  // the first query sees itself
  }
  return tile;
}

/// The same tile over keys whose blocks are in reversed order.
void reverse_blocks(AttentionPlan::Tile& tile, std::int64_t length, std::int64_t block) {
  const std::int64_t blocks = tile.key_count / block;
  tile.bias = tile.bias.view({tile.query_count, blocks, block}).flip(1).reshape({tile.query_count, tile.key_count});
  tile.key_begin = length - tile.key_begin - tile.key_count;
  // Only whole blocks: the others keep their bias.
  const std::int64_t first = (tile.unmasked_begin + block - 1) / block;
  const std::int64_t last = tile.unmasked_end / block;
  const bool any = first < last;
  tile.unmasked_begin = any ? (blocks - last) * block : 0;
  tile.unmasked_end = any ? (blocks - first) * block : 0;
}

}  // namespace

AttentionPlan::AttentionPlan(const BlockMask& mask, at::ScalarType dtype, const AttentionPlanOptions& options,
                             at::Device device)
    : length_(static_cast<std::int64_t>(mask.first_key().size())),
      first_key_(mask.first_key()),
      block_size_(mask.block_size()),
      dtype_(dtype),
      options_(options),
      device_(device) {
  const bool is_tiled = options.implementation == AttentionImplementation::kTiled;
  if (is_tiled && options.block_order == KeyBlockOrder::kNearestFirst) reversed_blocks_of_ = block_size_;
}

AttentionPlan::AttentionPlan(Ranges ranges, const AttentionPlanOptions& options)
    : length_(ranges.first_key.size(0)), is_of_device_(true), options_(options), device_(ranges.first_key.device()) {
  if (options.block_order == KeyBlockOrder::kNearestFirst) reversed_blocks_of_ = block_size_;
  std::call_once(has_ranges_, [&] { ranges_ = std::move(ranges); });
}

bool AttentionPlan::uses_kernel(std::int64_t head_dim) const {
  return options_.implementation == AttentionImplementation::kTiled && dtype_ == at::kFloat && device_.is_cpu() &&
         !is_of_device_ && head_dim % kernel_units::kVector == 0;
}

const std::vector<AttentionPlan::Tile>& AttentionPlan::tiles() const {
  std::call_once(is_laid_out_, [this] { tiles_ = make_tiles(); });
  return tiles_;
}

const AttentionPlan::Ranges& AttentionPlan::ranges() const {
  std::call_once(has_ranges_, [this] { ranges_ = make_ranges(); });
  return ranges_;
}

AttentionPlan::Ranges AttentionPlan::make_ranges() const {
  const auto options = at::TensorOptions().dtype(at::kInt).pinned_memory(device_.is_cuda());
  at::Tensor first_key = at::empty({length()}, options), last_query = at::empty({length()}, options);
  std::int32_t* const first = first_key.data_ptr<std::int32_t>();
  std::int32_t* const last = last_query.data_ptr<std::int32_t>();
  std::int64_t key = 0;  // first_key never decreases: what a query no longer sees, no later one sees
  for (std::int64_t query = 0; query < length(); ++query) {
    first[query] = static_cast<std::int32_t>(first_key_[static_cast<std::size_t>(query)]);
    for (; key < first[query]; ++key) last[key] = static_cast<std::int32_t>(query - 1);
  }
  for (; key < length(); ++key) last[key] = static_cast<std::int32_t>(length() - 1);
  return {first_key.to(device_, /*non_blocking=*/true), last_query.to(device_, /*non_blocking=*/true)};
}

std::vector<AttentionPlan::Tile> AttentionPlan::make_tiles() const {
  if (is_of_device_) {
    throw Error(ErrorCode::kUnavailable,
                "the GPU's kernel does not take this attention (it takes bfloat16 activations, tiled, heads of a "
                "multiple of 16 up to 128 numbers), and nothing else takes a mask made on the GPU");
  }
  const bool is_dense = options_.implementation == AttentionImplementation::kDense;
  const std::int64_t step = is_dense ? length() : kTileQueries;
  std::vector<Tile> tiles;
  for (std::int64_t begin = 0; begin < length(); begin += step) {
    tiles.push_back(make_tile(first_key_, block_size_, begin, std::min(step, length() - begin), dtype_, options_));
    if (reversed_blocks_of_ != 0) reverse_blocks(tiles.back(), length(), block_size_);
    tiles.back().bias = tiles.back().bias.to(device_, /*non_blocking=*/true);
  }
  return tiles;
}

}  // namespace nanobench::core
