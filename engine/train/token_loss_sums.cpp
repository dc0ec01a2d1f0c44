#include "engine/train/token_loss_sums.h"

#include <limits>
#include <span>

#include "core/data/token_groups.h"

namespace nanobench::core {
namespace {

constexpr auto kBuckets = static_cast<std::size_t>(kLogBuckets);

ShardList opened(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    for (const std::filesystem::path& file : expand_shards(path)) files.push_back(file);
  }
  return open_shards(files);
}

/// The sums of each bucket over all sequences, in their order.
std::vector<double> totals_of(const std::vector<double>& by_sequence) {
  std::vector<double> totals(kBuckets, 0.0);
  for (std::size_t i = 0; i < by_sequence.size(); ++i) totals[i % kBuckets] += by_sequence[i];
  return totals;
}

}  // namespace

TokenLossSums::TokenLossSums(const RunSpec& spec, std::size_t sequences)
    : spec_(spec), metrics_(metrics_by_bucket(spec.metrics)), val_shards_(opened(spec.val_shards)) {
  if (spec.metrics.contains(AskedMetric::kLossByTokenFrequency))
    ranks_ = frequency_ranks(*opened(spec.train_shards), spec.config.model.vocab_size);
  for (const AskedMetric metric : metrics_) {
    sums_[metric].resize(sequences * kBuckets);
    counts_[metric].resize(sequences * kBuckets);
  }
}

std::vector<int> TokenLossSums::buckets_of(AskedMetric metric, const FetchedSequence& sequence) const {
  std::vector<int> buckets;
  if (metric == AskedMetric::kLossByTokenFrequency) {
    const at::Tensor targets = sequence.targets.to(at::kCPU, at::kLong).contiguous();
    const std::int64_t* const tokens = targets.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < targets.numel(); ++i)
      buckets.push_back(log_bucket(ranks_[static_cast<std::size_t>(tokens[i])]));
    return buckets;
  }
  const TokenShard& shard = val_shards_->at(static_cast<std::size_t>(sequence.place.shard));
  const auto inputs = static_cast<std::int64_t>(sequence.raw.size()) - 1;
  const TokenPlaces places =
      token_places(shard.tokens(), sequence.place.start, inputs, spec_.config.attention.document_separator);
  const bool is_position = metric == AskedMetric::kLossAtPosition;
  for (const std::int64_t number : is_position ? places.positions : places.document_lengths)
    buckets.push_back(log_bucket(number));
  return buckets;
}

void TokenLossSums::add(std::size_t index, const FetchedSequence& sequence, const at::Tensor& losses) {
  const at::Tensor values = losses.to(at::kCPU, at::kDouble).contiguous();
  const std::span<const double> nats(values.const_data_ptr<double>(), static_cast<std::size_t>(values.numel()));
  for (const AskedMetric metric : metrics_) {
    const std::vector<int> buckets = buckets_of(metric, sequence);
    TORCH_CHECK(buckets.size() == nats.size(), "token losses: ", nats.size(), " losses of ", buckets.size(), " tokens");
    double* const sums = sums_.at(metric).data() + index * kBuckets;
    double* const counts = counts_.at(metric).data() + index * kBuckets;
    for (std::size_t i = 0; i < nats.size(); ++i) {
      sums[buckets[i]] += nats[i];
      counts[buckets[i]] += 1.0;
    }
  }
}

void TokenLossSums::report(Communicator& communicator, MetricSink& sink, std::int64_t step) {
  for (const AskedMetric metric : metrics_) {
    complete(communicator, sums_.at(metric));
    complete(communicator, counts_.at(metric));
    BucketsEvent event{.metric = enum_name(metric),
                       .step = step,
                       .means = totals_of(sums_.at(metric)),
                       .counts = totals_of(counts_.at(metric))};
    for (std::size_t i = 0; i < kBuckets; ++i) {
      double& mean = event.means[i];
      mean = event.counts[i] > 0.0 ? mean / event.counts[i] : std::numeric_limits<double>::quiet_NaN();
    }
    sink.report(event);
  }
}

}  // namespace nanobench::core
