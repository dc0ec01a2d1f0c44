/// The records' data loaders: the pieces of the token stream that each rank reads at each step.
///
/// One loader serves all ranks; a process that is one rank of many uses the references with its own `rank`. Not
/// thread-safe: one loader has one user. Invariant: every slice is inside one shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/train_config.h"
#include "core/data/aligned_batches.h"
#include "core/data/token_shard.h"

namespace nanobench::core {

/// The fields of `data` and `data.loader` of a train configuration. A *read* is sequences_per_read sequences of one
/// rank (its micro-batch); with kGlobal it is a step's whole batch.
struct LoaderOptions {
  std::int64_t sequence_length = 1024;  ///< tokens T of one sequence; its slice has T + 1
  std::int64_t sequences_per_step = 8;  ///< total over all ranks and micro-batches
  std::int64_t ranks = 1;
  /// kPerRank, #4 to #17: each rank has its own position, which starts `rank` reads in, and changes shards
  /// independently. kGlobal, #18 on: one position for all ranks; a step's whole batch is one read, of which rank r
  /// takes the r-th contiguous part.
  LoaderPosition position = LoaderPosition::kPerRank;
  std::int64_t reserve_tokens = 0;  ///< moves to the next shard when position + read + reserve >= shard length
  std::int64_t sequences_per_read = 1;
  bool first_read_twice = false;  ///< records #4 to #11; for training only
  bool wrap = true;               ///< the first shard follows the last; false: an error at the end
  /// kShuffled (record #1, kPerRank only): an epoch visits the shards in an order drawn from `seed`, and the batches of
  /// all ranks within each shard in an order drawn from it.
  BatchOrder order = BatchOrder::kSequential;
  std::uint64_t seed = 1;
  /// kBos, kDocuments (kGlobal only): core/data/aligned_batches.h. A step that a shard cannot fill comes whole from the
  /// next one.
  BatchAlignment alignment = BatchAlignment::kNone;
  std::int64_t document_separator = 50256;
  std::optional<std::int64_t> max_document_length;
  std::int64_t search_window = 2;  ///< kBos
  std::vector<DataStage> stages;   ///< kDocuments only: lengths that change from step to step
};

/// One sequence: tokens [start, start + T + 1) of a shard, or pieces of it.
struct SequenceRef {
  std::int64_t shard = 0;
  std::int64_t start = 0;
  std::int64_t rank = 0;
  std::int64_t micro_batch = 0;
  std::vector<TokenPiece> pieces;  ///< in order, T + 1 tokens in all; empty: consecutive tokens
  bool operator==(const SequenceRef&) const = default;
};

/// The tokens of a sequence: part of a shard, which must outlive it, or pieces that were put together.
class SequenceTokens {
 public:
  SequenceTokens() = default;
  explicit SequenceTokens(std::span<const std::uint16_t> part) : tokens_(part) {}
  explicit SequenceTokens(std::vector<std::uint16_t> joined)
      : joined_(std::make_shared<const std::vector<std::uint16_t>>(std::move(joined))), tokens_(*joined_) {}

  std::span<const std::uint16_t> span() const { return tokens_; }
  std::size_t size() const { return tokens_.size(); }
  std::uint16_t operator[](std::size_t i) const { return tokens_[i]; }
  auto begin() const { return tokens_.begin(); }
  auto end() const { return tokens_.end(); }

 private:
  std::shared_ptr<const std::vector<std::uint16_t>> joined_;
  std::span<const std::uint16_t> tokens_;
};

/// A loader's position, sufficient to continue exactly there.
struct LoaderState {
  struct Cursor {
    std::int64_t shard = 0;
    std::int64_t position = 0;  ///< first token of this rank's next read, or the next document; unused if shuffled
    bool operator==(const Cursor&) const = default;
  };
  std::vector<Cursor> cursors;      ///< one per rank, or one with kGlobal
  std::vector<std::int64_t> reads;  ///< reads done since reset, per cursor
  bool operator==(const LoaderState&) const = default;
};

/// Tokens that a training of this many steps needs at most. Aligned sequences leave tokens out: how many depends on the
/// documents, and three times the tokens of the sequences suffice unless these are shorter than most documents.
std::int64_t tokens_of_steps(const DataConfig& data, std::int64_t steps);
/// The steps that a shard of this many tokens suffices for by the same measure.
std::int64_t steps_of_tokens(const DataConfig& data, std::int64_t tokens);

/// The options of a training's loader. `seed`: of a shuffled order.
LoaderOptions loader_options(const TrainConfig& config, std::uint64_t seed);

/// What the ranks read with a position of their own each, beside what they read with a common one.
struct PositionComparison {
  bool is_same = false;             ///< the same tokens in every step
  bool leaves_first_shard = false;  ///< some rank changes shards, or reads the only one again
};
/// Compares the steps of a training in turn, until they differ. Throws as DataLoader.
PositionComparison compare_positions(const TrainConfig& config, const ShardList& shards);

class DataLoader {
 public:
  /// Starts at the first token of the first shard. Throws Error{kInvalidArgument} for inconsistent options and for a
  /// shard too short for one read of every rank.
  DataLoader(ShardList shards, const LoaderOptions& options);

  /// The sequences of the next step, sequences_per_step of them: ordered by micro-batch, then rank, then stream
  /// position. Throws Error{kInvalidArgument} when the data ends (wrap = false); the loader's position is then
  /// unchanged.
  std::vector<SequenceRef> next_step() { return next(options_.sequences_per_step); }

  /// Like next_step, for any number of sequences that is a multiple of ranks * sequences_per_read. With kGlobal they
  /// are one read.
  std::vector<SequenceRef> next(std::int64_t sequences);

  /// Calls reset(), then returns the first `count` sequences in pieces of one step (the last may be smaller), as a
  /// validation reads them: always from the first shard, and never the first read twice.
  std::vector<SequenceRef> validation_sequences(std::int64_t count);

  /// T + 1 tokens: inputs are the first T, targets the last T. Valid as long as the shards exist.
  SequenceTokens tokens(const SequenceRef& sequence) const;

  /// Where a document of the sequence was cut, except at the sequence's end: the place of its last token, and the token
  /// that follows it in the shard.
  struct Cut {
    std::int64_t place = 0;
    std::uint16_t next = 0;
    bool operator==(const Cut&) const = default;
  };
  std::vector<Cut> cuts(const SequenceRef& sequence) const;

  /// Returns to the first token of the first shard.
  void reset();

  /// Total number of tokens in all shards, for messages.
  std::int64_t total_tokens() const;

  const LoaderState& state() const { return state_; }
  /// Continues from the state of another loader with the same shards and options. Throws Error{kInvalidArgument} for an
  /// impossible state.
  void restore(const LoaderState& state);

  const LoaderOptions& options() const { return options_; }

 private:
  std::int64_t read_tokens() const { return options_.sequences_per_read * options_.sequence_length; }
  std::int64_t shard_tokens(std::int64_t shard) const;
  void next_shard(LoaderState::Cursor& cursor, std::int64_t position) const;
  LoaderState::Cursor read_of_rank(std::int64_t rank);
  std::vector<SequenceRef> next_per_rank(std::int64_t micro_batches);
  std::vector<SequenceRef> next_global(std::int64_t micro_batches);
  std::vector<SequenceRef> next_shuffled(std::int64_t micro_batches);
  std::vector<SequenceRef> next_aligned(std::int64_t micro_batches);
  std::optional<AlignedStep> aligned_step(const LoaderState::Cursor& cursor, std::int64_t sequences);
  const std::vector<std::int64_t>& documents_of(std::int64_t shard);
  LoaderState::Cursor shuffled_batch(std::int64_t number) const;
  std::int64_t batches_of(std::int64_t shard) const;
  [[noreturn]] void fail_at_end() const;

  ShardList shards_;
  LoaderOptions options_;
  LoaderState state_;
  std::vector<std::optional<std::vector<std::int64_t>>> documents_;  ///< by shard, found when first needed
};

}  // namespace nanobench::core
