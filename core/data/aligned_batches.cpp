#include "core/data/aligned_batches.h"

#include <algorithm>
#include <limits>

namespace nanobench::core {

std::vector<std::int64_t> document_starts(std::span<const std::uint16_t> tokens, std::int64_t separator) {
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == separator) starts.push_back(static_cast<std::int64_t>(i));
  }
  return starts;
}

std::optional<AlignedStep> sequences_from_documents(std::span<const std::int64_t> starts, std::int64_t cursor,
                                                    std::int64_t sequences, std::int64_t length, std::int64_t window) {
  auto next = std::lower_bound(starts.begin(), starts.end(), cursor);
  const auto end = std::lower_bound(next, starts.end(), cursor + window);
  if (next == end) return std::nullopt;
  AlignedStep step;
  std::int64_t begin = *next;
  for (++next; next != end; ++next) {
    if (*next - begin < length) continue;
    step.sequences.push_back({{.start = begin, .count = length + 1}});
    begin = *next;
    step.cursor = begin;
    if (static_cast<std::int64_t>(step.sequences.size()) == sequences) return step;
  }
  return std::nullopt;
}

std::optional<AlignedStep> sequences_of_documents(std::span<const std::int64_t> starts, std::int64_t shard_tokens,
                                                  std::int64_t cursor, std::int64_t sequences, std::int64_t length,
                                                  std::optional<std::int64_t> max_document) {
  const auto documents = static_cast<std::int64_t>(starts.size());
  const std::int64_t longest = max_document.value_or(std::numeric_limits<std::int64_t>::max());
  AlignedStep step{.sequences = std::vector<std::vector<TokenPiece>>(static_cast<std::size_t>(sequences)),
                   .cursor = cursor};
  for (std::vector<TokenPiece>& pieces : step.sequences) {
    for (std::int64_t missing = length + 1; missing > 0; missing -= pieces.back().count) {
      if (step.cursor >= documents) return std::nullopt;
      const auto document = static_cast<std::size_t>(step.cursor++);
      const std::int64_t end = document + 1 < starts.size() ? starts[document + 1] : shard_tokens;
      pieces.push_back({.start = starts[document], .count = std::min({end - starts[document], longest, missing})});
    }
  }
  return step;
}

}  // namespace nanobench::core
