#include "core/data/data_loader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/random.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

void require(bool condition, Reason reason, const std::string& subject, const std::string& message) {
  if (!condition) throw Refusal(ErrorCode::kInvalidArgument, reason, message, subject);
}

void check_options(const LoaderOptions& o) {
  constexpr std::int64_t kMax = std::int64_t{1} << 31;  // a shard has fewer tokens; also keeps products within 64 bits
  const auto in_range = [](const char* name, std::int64_t value, std::int64_t low) {
    require(value >= low && value <= kMax, Reason::kOutOfRange, name,
            std::string("data loader: ") + name + " is " + std::to_string(value) + ", expected " + std::to_string(low) +
                " to " + std::to_string(kMax));
  };
  in_range("sequence_length", o.sequence_length, 1);
  in_range("sequences_per_step", o.sequences_per_step, 1);
  in_range("ranks", o.ranks, 1);
  in_range("sequences_per_read", o.sequences_per_read, 1);
  in_range("reserve_tokens", o.reserve_tokens, 0);
  require(o.ranks <= o.sequences_per_step && o.sequences_per_read <= o.sequences_per_step &&
              o.sequences_per_step % (o.ranks * o.sequences_per_read) == 0,
          Reason::kNoMultiple, "sequences_per_step",
          "data loader: sequences_per_step is " + std::to_string(o.sequences_per_step) +
              ", expected a multiple of ranks (" + std::to_string(o.ranks) + ") times sequences_per_read (" +
              std::to_string(o.sequences_per_read) + ")");
  require(o.order == BatchOrder::kSequential || o.position == LoaderPosition::kPerRank, Reason::kExcluded, "order",
          "data loader: order \"shuffled\" is defined for position \"per_rank\" only");
  require(o.alignment == BatchAlignment::kNone || (o.position == LoaderPosition::kGlobal && !o.first_read_twice),
          Reason::kExcluded, "alignment",
          "data loader: aligned sequences need position \"global\", and are not read twice");
}

/// 0 ... count - 1 in an order drawn from (seed, stream), by Fisher and Yates.
std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(seed, stream);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
  return order;
}

}  // namespace

namespace {

constexpr std::int64_t kAlignedShare = 3;         // tokens of documents over tokens of sequences
constexpr std::int64_t kLongDocuments = 1 << 16;  // a few of the generated corpus's longest

/// Tokens that no step may need although they must be there.
std::int64_t aligned_reserve(const DataConfig& data) {
  const bool searches = data.loader.alignment == BatchAlignment::kBos;
  return kLongDocuments + (searches ? data.loader.search_window * data.tokens_per_step() : 0);
}

}  // namespace

std::int64_t tokens_of_steps(const DataConfig& data, std::int64_t steps) {
  // One more: the loader advances before a read that would end exactly at the end of the shard.
  const std::int64_t tokens = data.tokens_per_step() * (steps + 1) + 1;
  return data.loader.alignment == BatchAlignment::kNone ? tokens : kAlignedShare * tokens + aligned_reserve(data);
}

std::int64_t steps_of_tokens(const DataConfig& data, std::int64_t tokens) {
  const std::int64_t usable = tokens - 1 - data.loader.reserve_tokens, read = data.tokens_per_step();
  if (data.loader.alignment == BatchAlignment::kNone) return std::max<std::int64_t>(0, usable) / read;
  return std::max<std::int64_t>(0, usable - aligned_reserve(data)) / (kAlignedShare * read);
}

LoaderOptions loader_options(const TrainConfig& config, std::uint64_t seed) {
  const DataConfig& data = config.data;
  return {.sequence_length = data.sequence_length,
          .sequences_per_step = data.sequences_per_step,
          .ranks = data.ranks,
          .position = data.loader.position,
          .reserve_tokens = data.loader.reserve_tokens,
          .sequences_per_read = data.loader.sequences_per_read,
          .first_read_twice = data.loader.first_read_twice,
          .wrap = data.loader.wrap,
          .order = data.loader.order,
          .seed = seed,
          .alignment = data.loader.alignment,
          .document_separator = config.attention.document_separator,
          .max_document_length = data.loader.max_document_length,
          .search_window = data.loader.search_window,
          .stages = data.stages};
}

PositionComparison compare_positions(const TrainConfig& config, const ShardList& shards) {
  const auto loader_with = [&](LoaderPosition position) {
    LoaderOptions options = loader_options(config, 0);
    options.position = position;
    return DataLoader(shards, options);
  };
  DataLoader apart = loader_with(LoaderPosition::kPerRank), together = loader_with(LoaderPosition::kGlobal);
  PositionComparison comparison{.is_same = true, .leaves_first_shard = false};
  std::int64_t last = -1;
  for (std::int64_t step = 0; step < config.run.stop_after; ++step) {
    const std::vector<SequenceRef> sequences = together.next_step();
    if (apart.next_step() != sequences) return {.is_same = false, .leaves_first_shard = true};
    const SequenceRef& first = sequences.front();
    if (first.shard != 0 || first.start <= last) comparison.leaves_first_shard = true;
    last = first.start;
  }
  return comparison;
}

DataLoader::DataLoader(ShardList shards, const LoaderOptions& options) : shards_(std::move(shards)), options_(options) {
  require(shards_ != nullptr && !shards_->empty(), Reason::kEmpty, "",
          "data loader: no token shards, expected at least one");
  check_options(options_);
  const std::int64_t sequences = options_.position == LoaderPosition::kGlobal
                                     ? options_.sequences_per_step
                                     : options_.ranks * options_.sequences_per_read;
  for (const TokenShard& shard : *shards_) {
    require(sequences <= (shard.size() - 1) / options_.sequence_length, Reason::kTooShort, shard.path().string(),
            "token shard " + shard.path().string() + " has " + std::to_string(shard.size()) +
                " tokens, too few for one read of " + std::to_string(sequences) + " sequences of " +
                std::to_string(options_.sequence_length) +
                " tokens and one target; use more data, fewer ranks or shorter sequences");
  }
  documents_.resize(shards_->size());
  reset();
}

void DataLoader::reset() {
  const bool is_common = options_.position == LoaderPosition::kGlobal || options_.order == BatchOrder::kShuffled;
  const auto cursors = static_cast<std::size_t>(is_common ? 1 : options_.ranks);
  state_.cursors.assign(cursors, {});
  state_.reads.assign(cursors, 0);
  for (std::size_t rank = 0; rank < cursors; ++rank) {
    state_.cursors[rank].position = static_cast<std::int64_t>(rank) * read_tokens();
  }
}

std::int64_t DataLoader::shard_tokens(std::int64_t shard) const {
  return (*shards_)[static_cast<std::size_t>(shard)].size();
}

std::int64_t DataLoader::total_tokens() const {
  std::int64_t total = 0;
  for (const TokenShard& shard : *shards_) total += shard.size();
  return total;
}

/// Without wrap, a cursor may be past the last shard; only reading there is an error.
void DataLoader::next_shard(LoaderState::Cursor& cursor, std::int64_t position) const {
  const auto count = static_cast<std::int64_t>(shards_->size());
  cursor.shard = options_.wrap ? (cursor.shard + 1) % count : cursor.shard + 1;
  cursor.position = position;
}

void DataLoader::fail_at_end() const {
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kDataEnded,
                "the training data ended: " + std::to_string(shards_->size()) + " shard(s) from " +
                    shards_->front().path().string() + " on hold " + std::to_string(total_tokens()) +
                    " tokens and data.loader.wrap is false; use more data or fewer steps",
                shards_->front().path().string());
}

/// Returns the rank's current position and advances its cursor. The check comes after the read and from the rank's own
/// position, so near a shard's end the ranks change shards at different steps.
LoaderState::Cursor DataLoader::read_of_rank(std::int64_t rank) {
  LoaderState::Cursor& cursor = state_.cursors[static_cast<std::size_t>(rank)];
  std::int64_t& reads = state_.reads[static_cast<std::size_t>(rank)];
  if (cursor.shard >= static_cast<std::int64_t>(shards_->size())) fail_at_end();
  const LoaderState::Cursor here = cursor;
  const bool is_repeated = options_.first_read_twice && reads == 0;
  ++reads;
  if (is_repeated) return here;
  const std::int64_t stride = options_.ranks * read_tokens();
  cursor.position += stride;
  if (cursor.position + stride + options_.reserve_tokens >= shard_tokens(cursor.shard))
    next_shard(cursor, rank * read_tokens());
  return here;
}

std::vector<SequenceRef> DataLoader::next_per_rank(std::int64_t micro_batches) {
  std::vector<SequenceRef> sequences;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (std::int64_t rank = 0; rank < options_.ranks; ++rank) {
      const LoaderState::Cursor read = read_of_rank(rank);
      for (std::int64_t i = 0; i < options_.sequences_per_read; ++i) {
        sequences.push_back({read.shard, read.position + i * options_.sequence_length, rank, micro_batch});
      }
    }
  }
  return sequences;
}

/// The check comes before the read and for the whole batch, so all ranks change shards together.
std::vector<SequenceRef> DataLoader::next_global(std::int64_t micro_batches) {
  LoaderState::Cursor& cursor = state_.cursors.front();
  const std::int64_t sequences_per_rank = micro_batches * options_.sequences_per_read;
  const std::int64_t batch_tokens = options_.ranks * sequences_per_rank * options_.sequence_length;
  if (cursor.position + batch_tokens + options_.reserve_tokens >= shard_tokens(cursor.shard)) {
    LoaderState::Cursor moved = cursor;
    next_shard(moved, 0);
    if (moved.shard >= static_cast<std::int64_t>(shards_->size())) fail_at_end();
    require(batch_tokens < shard_tokens(moved.shard), Reason::kTooShort,
            (*shards_)[static_cast<std::size_t>(moved.shard)].path().string(),
            "token shard " + (*shards_)[static_cast<std::size_t>(moved.shard)].path().string() + " has " +
                std::to_string(shard_tokens(moved.shard)) + " tokens, too few for one read of " +
                std::to_string(batch_tokens) + " tokens and one target; use more data or shorter sequences");
    cursor = moved;
  }
  std::vector<SequenceRef> sequences;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (std::int64_t rank = 0; rank < options_.ranks; ++rank) {
      for (std::int64_t i = 0; i < options_.sequences_per_read; ++i) {
        const std::int64_t index = rank * sequences_per_rank + micro_batch * options_.sequences_per_read + i;
        sequences.push_back({cursor.shard, cursor.position + index * options_.sequence_length, rank, micro_batch});
      }
    }
  }
  const bool is_repeated = options_.first_read_twice && state_.reads.front() == 0;
  ++state_.reads.front();
  if (!is_repeated) cursor.position += batch_tokens;
  return sequences;
}

const std::vector<std::int64_t>& DataLoader::documents_of(std::int64_t shard) {
  std::optional<std::vector<std::int64_t>>& documents = documents_[static_cast<std::size_t>(shard)];
  if (!documents)
    documents = document_starts((*shards_)[static_cast<std::size_t>(shard)].tokens(), options_.document_separator);
  return *documents;
}

/// The step at `cursor`; nullopt: its shard cannot fill it.
std::optional<AlignedStep> DataLoader::aligned_step(const LoaderState::Cursor& cursor, std::int64_t sequences) {
  const std::vector<std::int64_t>& documents = documents_of(cursor.shard);
  const std::int64_t tokens = shard_tokens(cursor.shard);
  const std::int64_t number = state_.reads.front();  // each step is one read
  if (const DataStage* const now = stage_at(options_.stages, number); now != nullptr) {
    return sequences_of_documents(documents, tokens, cursor.position, sequences, now->sequence_length,
                                  now->max_document_length);
  }
  if (options_.alignment == BatchAlignment::kDocuments) {
    return sequences_of_documents(documents, tokens, cursor.position, sequences, options_.sequence_length,
                                  options_.max_document_length);
  }
  const std::int64_t window = options_.search_window * sequences * options_.sequence_length;
  if (cursor.position + window + options_.reserve_tokens >= tokens) return std::nullopt;
  std::optional<AlignedStep> step =
      sequences_from_documents(documents, cursor.position, sequences, options_.sequence_length, window);
  const std::string shard = (*shards_)[static_cast<std::size_t>(cursor.shard)].path().string();
  require(step.has_value(), Reason::kTooFewDocuments, shard,
          "token shard " + shard + ": the " + std::to_string(window) + " tokens from " +
              std::to_string(cursor.position) + " on do not hold " + std::to_string(sequences) + " sequences of " +
              std::to_string(options_.sequence_length) +
              " tokens that begin with a document; raise data/loader/search_window, or choose "
              "another data/loader/alignment");
  return step;
}

std::vector<SequenceRef> DataLoader::next_aligned(std::int64_t micro_batches) {
  LoaderState::Cursor& cursor = state_.cursors.front();
  const std::int64_t per_rank = micro_batches * options_.sequences_per_read;
  std::optional<AlignedStep> step = aligned_step(cursor, options_.ranks * per_rank);
  if (!step) {
    next_shard(cursor, 0);
    if (cursor.shard >= static_cast<std::int64_t>(shards_->size())) fail_at_end();
    step = aligned_step(cursor, options_.ranks * per_rank);
  }
  const std::string shard = (*shards_)[static_cast<std::size_t>(cursor.shard)].path().string();
  require(step.has_value(), Reason::kTooFewDocuments, shard,
          "token shard " + shard + " has too few documents for a step of " + std::to_string(options_.ranks * per_rank) +
              " sequences of " + std::to_string(options_.sequence_length) +
              " tokens; use more data or shorter sequences");
  std::vector<SequenceRef> sequences;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (std::int64_t rank = 0; rank < options_.ranks; ++rank) {
      for (std::int64_t i = 0; i < options_.sequences_per_read; ++i) {
        const std::int64_t index = rank * per_rank + micro_batch * options_.sequences_per_read + i;
        std::vector<TokenPiece>& pieces = step->sequences[static_cast<std::size_t>(index)];
        const std::int64_t start = pieces.front().start;
        if (pieces.size() == 1 && options_.stages.empty()) pieces.clear();  // consecutive tokens, of the usual number
        sequences.push_back({cursor.shard, start, rank, micro_batch, std::move(pieces)});
      }
    }
  }
  ++state_.reads.front();
  cursor.position = step->cursor;
  return sequences;
}

/// Number of whole batches of all ranks in a shard, each with the one extra token that targets need.
std::int64_t DataLoader::batches_of(std::int64_t shard) const {
  return (shard_tokens(shard) - 1) / (options_.ranks * read_tokens());
}

/// Where batch `number` of the endless shuffled sequence begins. Depends only on the seed and the number.
LoaderState::Cursor DataLoader::shuffled_batch(std::int64_t number) const {
  const auto shards = static_cast<std::int64_t>(shards_->size());
  std::int64_t per_epoch = 0;
  for (std::int64_t shard = 0; shard < shards; ++shard) per_epoch += batches_of(shard);
  const std::int64_t epoch = number / per_epoch;
  if (epoch > 0 && !options_.wrap) fail_at_end();
  const auto stream = static_cast<std::uint64_t>(epoch) * static_cast<std::uint64_t>(shards + 1);
  std::int64_t left = number % per_epoch;
  for (const std::int64_t shard : permutation(shards, options_.seed, stream)) {
    const std::int64_t batches = batches_of(shard);
    if (left < batches) {
      const std::vector<std::int64_t> order =
          permutation(batches, options_.seed, stream + 1 + static_cast<std::uint64_t>(shard));
      return {shard, order[static_cast<std::size_t>(left)] * options_.ranks * read_tokens()};
    }
    left -= batches;
  }
  fail_at_end();
}

std::vector<SequenceRef> DataLoader::next_shuffled(std::int64_t micro_batches) {
  std::vector<SequenceRef> sequences;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    std::int64_t& reads = state_.reads.front();
    const LoaderState::Cursor batch =
        shuffled_batch(options_.first_read_twice ? std::max<std::int64_t>(0, reads - 1) : reads);
    ++reads;
    for (std::int64_t rank = 0; rank < options_.ranks; ++rank) {
      for (std::int64_t i = 0; i < options_.sequences_per_read; ++i) {
        const std::int64_t offset = rank * read_tokens() + i * options_.sequence_length;
        sequences.push_back({batch.shard, batch.position + offset, rank, micro_batch});
      }
    }
  }
  return sequences;
}

std::vector<SequenceRef> DataLoader::next(std::int64_t sequences) {
  const std::int64_t unit = options_.ranks * options_.sequences_per_read;
  require(sequences > 0 && sequences % unit == 0, Reason::kNoMultiple, std::to_string(sequences),
          "data loader: " + std::to_string(sequences) + " sequences asked for, expected a multiple of ranks (" +
              std::to_string(options_.ranks) + ") times sequences_per_read (" +
              std::to_string(options_.sequences_per_read) + ")");
  const LoaderState before = state_;
  try {
    if (options_.order == BatchOrder::kShuffled) return next_shuffled(sequences / unit);
    if (options_.alignment != BatchAlignment::kNone) return next_aligned(sequences / unit);
    return options_.position == LoaderPosition::kGlobal ? next_global(sequences / unit)
                                                        : next_per_rank(sequences / unit);
  } catch (...) {
    state_ = before;
    throw;
  }
}

std::vector<SequenceRef> DataLoader::validation_sequences(std::int64_t count) {
  reset();
  state_.reads.assign(state_.reads.size(), 1);  // the records repeat the first read in training only
  std::vector<SequenceRef> all;
  while (count > 0) {
    const std::int64_t piece = std::min(count, options_.sequences_per_step);
    const std::vector<SequenceRef> sequences = next(piece);
    all.insert(all.end(), sequences.begin(), sequences.end());
    count -= piece;
  }
  return all;
}

SequenceTokens DataLoader::tokens(const SequenceRef& sequence) const {
  NB_CHECK(sequence.shard >= 0 && sequence.shard < static_cast<std::int64_t>(shards_->size()), "no such shard");
  const std::span<const std::uint16_t> all = (*shards_)[static_cast<std::size_t>(sequence.shard)].tokens();
  std::vector<std::uint16_t> joined;
  for (const TokenPiece& piece : sequence.pieces) {
    NB_CHECK(piece.start >= 0 && piece.start + piece.count <= static_cast<std::int64_t>(all.size()),
             "a piece outside its shard");
    const auto begin = all.begin() + piece.start;
    joined.insert(joined.end(), begin, begin + piece.count);
  }
  if (!joined.empty()) return SequenceTokens(std::move(joined));
  const std::int64_t last_start = static_cast<std::int64_t>(all.size()) - options_.sequence_length - 1;
  NB_CHECK(sequence.start >= 0 && sequence.start <= last_start, "a sequence outside its shard");
  return SequenceTokens(
      all.subspan(static_cast<std::size_t>(sequence.start), static_cast<std::size_t>(options_.sequence_length) + 1));
}

std::vector<DataLoader::Cut> DataLoader::cuts(const SequenceRef& sequence) const {
  const std::span<const std::uint16_t> all = (*shards_)[static_cast<std::size_t>(sequence.shard)].tokens();
  std::vector<Cut> cuts;
  std::int64_t place = -1;
  for (std::size_t i = 0; i + 1 < sequence.pieces.size(); ++i) {
    place += sequence.pieces[i].count;
    const auto end = static_cast<std::size_t>(sequence.pieces[i].start + sequence.pieces[i].count);
    if (end < all.size() && all[end] != options_.document_separator) cuts.push_back({place, all[end]});
  }
  return cuts;
}

void DataLoader::restore(const LoaderState& state) {
  const auto count = static_cast<std::int64_t>(shards_->size());
  const bool fits = state.cursors.size() == state_.cursors.size() && state.reads.size() == state_.reads.size();
  require(fits, Reason::kWrongLength, std::to_string(state.cursors.size()),
          "saved loader state has " + std::to_string(state.cursors.size()) + " positions, expected " +
              std::to_string(state_.cursors.size()) + "; it belongs to a run with other ranks");
  for (std::size_t i = 0; i < state.cursors.size(); ++i) {
    const LoaderState::Cursor& cursor = state.cursors[i];
    const bool at_end = !options_.wrap && cursor.shard == count;
    const bool inside =
        cursor.shard >= 0 && cursor.shard < count && cursor.position >= 0 &&
        cursor.position < shard_tokens(cursor.shard) &&
        (options_.position == LoaderPosition::kGlobal || cursor.position + read_tokens() < shard_tokens(cursor.shard));
    require((at_end || inside) && state.reads[i] >= 0, Reason::kOutOfRange, std::to_string(cursor.position),
            "saved loader state points to token " + std::to_string(cursor.position) + " of shard " +
                std::to_string(cursor.shard) + ", outside the data; it belongs to other data");
  }
  state_ = state;
}

}  // namespace nanobench::core
