/// Training sequences that are aligned to documents: which tokens of a shard they take. Pure functions, plain C++.
/// Source: the loaders of records #26 to #28 (bos) and from #29 on (documents).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nanobench::core {

/// Consecutive tokens of a shard.
struct TokenPiece {
  std::int64_t start = 0;
  std::int64_t count = 0;
  bool operator==(const TokenPiece&) const = default;
};

/// The sequences of one step, in the order of the ranks, T + 1 tokens each, and where the next step begins.
struct AlignedStep {
  std::vector<std::vector<TokenPiece>> sequences;
  std::int64_t cursor = 0;
};

/// Positions of the separator in `tokens`, ascending. A document begins with its separator.
std::vector<std::int64_t> document_starts(std::span<const std::uint16_t> tokens, std::int64_t separator);

/// Sequences that begin with a document. From the first document of [cursor, cursor + window) on, each sequence begins
/// with the first document that is T or more tokens after the beginning of the one before it, which is known when that
/// document is found; what lies between two sequences is not used. `cursor` is a token. nullopt: the window has fewer
/// than `sequences` of them.
std::optional<AlignedStep> sequences_from_documents(std::span<const std::int64_t> starts, std::int64_t cursor,
                                                    std::int64_t sequences, std::int64_t length, std::int64_t window);

/// Sequences of whole documents, one after the other. The last document of a sequence is cut where the sequence is
/// full, every document at `max_document`; what is cut off is not used. `cursor` is the index of a document. nullopt:
/// the shard has too few documents left.
std::optional<AlignedStep> sequences_of_documents(std::span<const std::int64_t> starts, std::int64_t shard_tokens,
                                                  std::int64_t cursor, std::int64_t sequences, std::int64_t length,
                                                  std::optional<std::int64_t> max_document);

}  // namespace nanobench::core
