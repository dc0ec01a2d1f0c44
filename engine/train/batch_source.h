/// Turns token shards into model inputs: reads in the records' order, fetched at the configured time. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/schedule.h"
#include "core/data/data_loader.h"
#include "core/protocol/run_spec.h"
#include "engine/distributed/rank_share.h"
#include "engine/nn/gpt.h"
#include "engine/train/sequence_inputs.h"

namespace nanobench::core {

/// One sequence from its shard; `raw` is valid as long as the source. The tensors are undefined if another process
/// trains the sequence.
struct FetchedSequence {
  SequenceRef place;
  SequenceTokens raw;  ///< T + 1 tokens
  at::Tensor tokens;   ///< [T] data.loader.token_dtype
  at::Tensor targets;  ///< [T] int64
};

class BatchSource {
 public:
  /// Opens all shards. Throws Error for shards that cannot be read or do not fit the configuration. Keeps a reference
  /// to `spec`. `share`: the sequences that this process trains; `device`: the model's device. A GPU gets tokens and
  /// targets as the records copied them: enqueued from locked memory if the shards lie in it (data.loader.storage
  /// "pinned"), and otherwise from ordinary memory, for which the host waits.
  BatchSource(const RunSpec& spec, at::ScalarType dtype, const RankShare& share, at::Device device = at::kCPU);

  /// The sequences of the next step, fetched now or by the last fetch_ahead.
  std::vector<FetchedSequence> next_step();
  /// Fetches the step after the current one, if there is one and the configuration fetches at this moment.
  void fetch_ahead(FetchTime moment, bool has_next_step);
  /// Returns to the first batch.
  void restart();
  /// Where next_step() reads, whatever has been fetched ahead.
  LoaderState position() const { return ahead_ ? before_ahead_ : train_loader_.state(); }
  /// Continues from the position() of another source with the same shards and settings. Throws Error{kInvalidArgument}
  /// for an impossible one.
  void restore(const LoaderState& position);
  /// Tokens of all training shards.
  std::int64_t total_tokens() const { return train_loader_.total_tokens(); }

  /// The sequences of a validation, in order; always the same.
  const std::vector<SequenceRef>& validation_places() const { return validation_places_; }
  FetchedSequence validation_sequence(const SequenceRef& place) const { return fetch(val_loader_, place); }

  /// Builds the input with the attention plans of these windows.
  SequenceInput make_input(const FetchedSequence& sequence, const StepWindows& windows) const;

  /// Sentences on settings that could not be applied as configured.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  ShardList open(const std::vector<std::string>& paths);
  FetchedSequence fetch(const DataLoader& loader, const SequenceRef& place) const;
  std::vector<FetchedSequence> fetch_step();

  const TrainConfig& config_;
  RankShare share_;
  at::Device device_;
  SequenceInputs inputs_;
  std::vector<std::string> warnings_;
  DataLoader train_loader_;
  DataLoader val_loader_;
  std::vector<SequenceRef> validation_places_;
  std::optional<std::vector<FetchedSequence>> ahead_;
  LoaderState before_ahead_;  ///< position of what is fetched ahead
};

}  // namespace nanobench::core
