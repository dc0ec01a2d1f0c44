/// From token shards to what the model takes: reads in the records' order, fetched when the configuration says. Not
/// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/data/data_loader.h"
#include "core/protocol/run_spec.h"
#include "engine/distributed/rank_share.h"
#include "engine/nn/gpt.h"

namespace nanobench::core {

/// One sequence as it came from its shard; `raw` lives as long as the source. The tensors of a sequence that another
/// process trains are undefined.
struct FetchedSequence {
  SequenceRef place;
  std::span<const std::uint16_t> raw;  ///< T + 1 tokens
  at::Tensor tokens;                   ///< [T] data.loader.token_dtype
  at::Tensor targets;                  ///< [T] int64
};

class BatchSource {
 public:
  /// Opens all shards. Throws Error for shards that cannot be read or do not fit the configuration. Keeps a reference
  /// to `spec`. `share`: whose sequences this process trains; `device`: where the model takes them. Copies to a GPU are
  /// enqueued, from locked memory, and not waited for.
  BatchSource(const RunSpec& spec, at::ScalarType dtype, const RankShare& share, at::Device device = at::kCPU);

  /// The sequences of the next step, fetched now or at the last fetch_ahead.
  std::vector<FetchedSequence> next_step();
  /// Fetches the step after the present one if the configuration does so at this moment and there is one.
  void fetch_ahead(FetchTime moment, bool has_next_step);
  /// Back to the first batch.
  void restart();

  /// The sequences of a validation, always the same, one after the other.
  const std::vector<SequenceRef>& validation_places() const { return validation_places_; }
  FetchedSequence validation_sequence(const SequenceRef& place) const { return fetch(val_loader_, place); }

  /// With the attention plan of `window` tokens.
  SequenceInput make_input(const FetchedSequence& sequence, std::optional<std::int64_t> window) const;

  /// Sentences about what could not be done as configured.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  ShardList open(const std::vector<std::string>& paths);
  FetchedSequence fetch(const DataLoader& loader, const SequenceRef& place) const;
  std::vector<FetchedSequence> fetch_step();
  std::shared_ptr<const AttentionPlan> make_plan(std::span<const std::uint16_t> tokens,
                                                 std::optional<std::int64_t> window) const;

  const TrainConfig& config_;
  at::ScalarType dtype_;
  RankShare share_;
  at::Device device_;
  std::vector<std::string> warnings_;
  DataLoader train_loader_;
  DataLoader val_loader_;
  std::vector<SequenceRef> validation_places_;
  std::optional<std::vector<FetchedSequence>> ahead_;
};

}  // namespace nanobench::core
