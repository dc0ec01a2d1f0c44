#include "core/data/block_mask.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/config/schedule.h"

namespace nanobench::core {

BlockMask::BlockMask(std::span<const std::uint16_t> tokens, const BlockMaskOptions& options) : options_(options) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (options.block_size < 1 || length % options.block_size != 0) {
    throw Error(ErrorCode::kInvalidArgument, "block mask: " + std::to_string(length) +
                                                 " tokens are not a multiple of the block size " +
                                                 std::to_string(options.block_size));
  }
  documents_.resize(tokens.size(), 0);
  first_key_.resize(tokens.size(), 0);
  std::int32_t document = 0;
  std::int64_t document_start = 0;
  for (std::int64_t q = 0; q < length; ++q) {
    const auto index = static_cast<std::size_t>(q);
    if (options.document_mask && tokens[index] == options.document_separator) {
      ++document;
      document_start = q;
    }
    documents_[index] = document;
    std::int64_t first = document_start;
    if (options.window_tokens) {
      first = std::max(first, first_key_of_window(options.granularity, *options.window_tokens, options.block_size, q));
    }
    first_key_[index] = first;
  }
}

std::int64_t BlockMask::window_blocks() const {
  if (!options_.window_tokens) return num_blocks();
  return (*options_.window_tokens + options_.block_size - 1) / options_.block_size;  // kBlock: exact division
}

BlockMask::BlockKind BlockMask::kind_of(std::int64_t query_block, std::int64_t key_block) const {
  if (key_block > query_block) return BlockKind::kNone;
  const std::int64_t block = options_.block_size;
  const std::int64_t key_begin = key_block * block;
  const std::int64_t key_end = key_begin + block;
  if (options_.granularity == WindowGranularity::kBlock) {
    // From the first and last document of each block, as the records build it.
    const auto document = [&](std::int64_t token) { return documents_[static_cast<std::size_t>(token)]; };
    if (query_block - key_block >= window_blocks() || document(key_end - 1) < document(query_block * block))
      return BlockKind::kNone;
    const bool is_one_document = document(key_begin) == document(query_block * block + block - 1);
    return key_block < query_block && is_one_document ? BlockKind::kFull : BlockKind::kPartial;
  }
  std::int64_t visible = 0;
  for (std::int64_t q = query_block * block; q < (query_block + 1) * block; ++q) {
    const std::int64_t begin = std::max(key_begin, first_key_[static_cast<std::size_t>(q)]);
    visible += std::max<std::int64_t>(0, std::min(key_end, q + 1) - begin);
  }
  if (visible == 0) return BlockKind::kNone;
  const bool counts_full = options_.granularity != WindowGranularity::kTokenBlockClipped;
  return counts_full && visible == block * block ? BlockKind::kFull : BlockKind::kPartial;
}

BlockList BlockMask::list_of(BlockKind kind) const {
  const std::int64_t blocks = num_blocks();
  BlockList list;
  list.indices.reserve(static_cast<std::size_t>(blocks * blocks));
  for (std::int64_t query_block = 0; query_block < blocks; ++query_block) {
    std::vector<std::int32_t> others;
    std::int32_t count = 0;
    for (std::int64_t key_block = 0; key_block < blocks; ++key_block) {
      if (kind_of(query_block, key_block) == kind) {
        list.indices.push_back(static_cast<std::int32_t>(key_block));
        ++count;
      } else {
        others.push_back(static_cast<std::int32_t>(key_block));
      }
    }
    list.indices.insert(list.indices.end(), others.begin(), others.end());
    list.counts.push_back(count);
  }
  return list;
}

BlockList BlockMask::full_blocks() const {
  return list_of(BlockKind::kFull);
}
BlockList BlockMask::partial_blocks() const {
  return list_of(BlockKind::kPartial);
}

std::int64_t BlockMask::allowed_pairs() const {
  std::int64_t pairs = 0;
  for (std::int64_t q = 0; q < length(); ++q) pairs += q + 1 - first_key_[static_cast<std::size_t>(q)];
  return pairs;
}

}  // namespace nanobench::core
