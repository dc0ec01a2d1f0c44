#include "core/data/token_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace nanobench::core {
namespace {

constexpr double kBucketsOfDoubling = 4.0;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // tokens whose memory is held at a time

std::array<std::int64_t, kLogBuckets> bucket_begins() {
  std::array<std::int64_t, kLogBuckets> begins{};
  for (std::size_t b = 0; b < begins.size(); ++b)
    begins[b] = static_cast<std::int64_t>(std::ceil(std::exp2(static_cast<double>(b) / kBucketsOfDoubling)));
  return begins;
}

const std::array<std::int64_t, kLogBuckets>& begins() {
  static const std::array<std::int64_t, kLogBuckets> kBegins = bucket_begins();
  return kBegins;
}

}  // namespace

int log_bucket(std::int64_t number) {
  const auto above = std::upper_bound(begins().begin(), begins().end(), number);
  return static_cast<int>(above - begins().begin()) - 1;
}

std::int64_t log_bucket_begin(int bucket) {
  return bucket < kLogBuckets ? begins()[static_cast<std::size_t>(bucket)] : std::numeric_limits<std::int64_t>::max();
}

TokenPlaces token_places(std::span<const std::uint16_t> stream, std::int64_t begin, std::int64_t count,
                         std::int64_t separator) {
  const auto is_separator = [&](std::uint16_t token) { return token == separator; };
  const auto first = stream.begin() + begin, last = first + count;
  TokenPlaces places;
  auto document = std::find_if(std::make_reverse_iterator(first), stream.rend(), is_separator).base();
  if (document != stream.begin()) --document;  // the separator itself
  for (auto token = first; token != last;) {
    if (is_separator(*token)) document = token;
    const auto end = std::find_if(token + 1, stream.end(), is_separator);
    for (; token != last && token != end; ++token) {
      places.positions.push_back(token - document + 1);
      places.document_lengths.push_back(end - document);
    }
  }
  return places;
}

std::vector<std::int64_t> frequency_ranks(const std::vector<TokenShard>& shards, std::int64_t vocab_size) {
  const auto size = static_cast<std::size_t>(vocab_size);
  std::vector<std::int64_t> counts(size, 0), order(size), ranks(size);
  std::int64_t left = kMaxRankedTokens;
  for (const TokenShard& shard : shards) {
    std::span<const std::uint16_t> tokens = shard.tokens();
    tokens = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(left)));
    left -= static_cast<std::int64_t>(tokens.size());
    for (; !tokens.empty(); tokens = tokens.subspan(std::min(tokens.size(), kPiece))) {
      for (const std::uint16_t token : tokens.first(std::min(tokens.size(), kPiece))) {
        if (token < size) ++counts[token];
      }
      shard.release_memory();
    }
  }
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < size; ++i) ranks[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i) + 1;
  return ranks;
}

}  // namespace nanobench::core
