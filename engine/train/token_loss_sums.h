/// The losses of a validation's tokens, summed by group: the metrics that a run measures only where they are asked for
/// (RunSpec::metrics). Not thread-safe; report() is a collective.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/protocol/run_spec.h"
#include "engine/distributed/communicator.h"
#include "engine/train/batch_source.h"
#include "engine/train/run_counters.h"

namespace nanobench::core {

class TokenLossSums {
 public:
  /// For a validation of so many sequences. Opens the validation shards, and reads the training shards if tokens are
  /// grouped by their frequency; throws as open_shards() does. Keeps a reference to `spec`.
  TokenLossSums(const RunSpec& spec, std::size_t sequences);

  /// Adds a sequence of this process. `losses` [T] nats: GPT::Losses::tokens. Waits for a GPU.
  void add(std::size_t index, const FetchedSequence& sequence, const at::Tensor& losses);

  /// Reports a BucketsEvent for each metric: of the sequences of all processes, added up in their order, so that the
  /// number of processes changes no bit. Every process calls it, once.
  void report(Communicator& communicator, MetricSink& sink, std::int64_t step);

 private:
  /// The bucket of each target of a sequence.
  std::vector<int> buckets_of(AskedMetric metric, const FetchedSequence& sequence) const;

  const RunSpec& spec_;
  AskedMetrics metrics_;
  ShardList val_shards_;
  std::vector<std::int64_t> ranks_;                    ///< by token; empty unless asked for
  std::map<AskedMetric, std::vector<double>> sums_;    ///< by sequence, then bucket: losses
  std::map<AskedMetric, std::vector<double>> counts_;  ///< likewise: targets
};

}  // namespace nanobench::core
