/// Groups of tokens: by their place in the document, by its length, by how frequent they are. Pure, thread-safe.
///
/// Numbers from 1 fall into kLogBuckets buckets of the logarithm, four to a doubling: bucket b holds those from 2^(b/4)
/// to below 2^((b+1)/4), and the last one all larger ones too. Small numbers leave buckets empty: 2 is in bucket 4, 3
/// in bucket 6. The buckets are stored: do not change them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/token_shard.h"

namespace nanobench::core {

inline constexpr int kLogBuckets = 64;

/// REQUIRES a number of at least 1.
int log_bucket(std::int64_t number);

/// The smallest whole number of the bucket, or above it if it is empty; the largest there is for kLogBuckets.
std::int64_t log_bucket_begin(int bucket);

/// Where tokens stand in their documents.
struct TokenPlaces {
  std::vector<std::int64_t> positions;         ///< from 1: tokens of the document up to this one
  std::vector<std::int64_t> document_lengths;  ///< tokens of the whole document
};

/// The places of the tokens [begin, begin + count) of a stream. A document begins with the separator and ends before
/// the next one, or where the stream begins and ends; how the stream is cut into sequences does not matter.
TokenPlaces token_places(std::span<const std::uint16_t> stream, std::int64_t begin, std::int64_t count,
                         std::int64_t separator);

inline constexpr std::int64_t kMaxRankedTokens = std::int64_t{1} << 27;

/// The rank of every token of a vocabulary by its count in the shards' first kMaxRankedTokens tokens: 1 is the most
/// frequent one, and of equal counts the smaller token comes first. Tokens beyond the vocabulary are not counted.
std::vector<std::int64_t> frequency_ranks(const std::vector<TokenShard>& shards, std::int64_t vocab_size);

}  // namespace nanobench::core
