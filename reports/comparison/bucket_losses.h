/// The losses of a validation's tokens by group, of the runs that were asked for them (core/protocol/run_choices.h,
/// AskedMetric). Pure functions of store rows; as thread-safe as the Store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_choices.h"
#include "reports/comparison/comparison.h"
#include "results/store.h"

namespace nanobench::reports {

/// Buckets from `first` to below `end` (core/data/token_groups.h).
struct BucketRange {
  int first = 0;
  int end = 0;

  friend bool operator==(const BucketRange&, const BucketRange&) = default;
};

/// "1 to 15", "16 on": the numbers that fall into the range.
std::string range_text(const BucketRange& range);

/// One run.
struct BucketLosses {
  std::vector<double> means;   ///< by bucket: nats per token
  std::vector<double> counts;  ///< by bucket: targets; 0: the mean is meaningless

  double count(const BucketRange& range) const;
  /// The mean over all targets of the range; nullopt without any.
  std::optional<double> mean(const BucketRange& range) const;
};

/// The completed runs of one cell that have the metric, by seed.
struct CellBuckets {
  std::string cell;
  std::map<std::uint64_t, BucketLosses> runs;

  /// nullopt without a run that has the metric.
  Summary summary(const BucketRange& range) const;
};

/// One metric of a plan.
struct PlanBuckets {
  core::AskedMetric metric = core::AskedMetric::kLossAtPosition;
  std::vector<CellBuckets> cells;  ///< in the plan's order, those without the metric too

  bool empty() const;
};

PlanBuckets read_buckets(const results::Store& store, const std::vector<CellMeasures>& cells, core::AskedMetric metric);
/// The losses of one run; nullopt if it has no such samples.
std::optional<BucketLosses> read_buckets(const results::Store& store, std::int64_t run_id, core::AskedMetric metric);

/// The targets of all runs together, by bucket.
std::vector<double> pooled_counts(const PlanBuckets& buckets);

/// The doublings (four buckets each) from the first to the last one that has targets.
std::vector<BucketRange> doublings(const std::vector<double>& counts);

/// The fewest last buckets that hold a quarter of the targets or more: the long positions, the long documents, the rare
/// tokens. nullopt without targets, or if that would be all of them.
std::optional<BucketRange> last_quarter(const std::vector<double>& counts);

/// Whether all runs have the same number of targets in each bucket: they validated on the same tokens, cut alike.
bool share_targets(const PlanBuckets& buckets);

/// The cells with the loss over the range in place of the final loss, and nothing else to judge by. Runs without it
/// have no loss.
std::vector<CellMeasures> with_range_losses(std::vector<CellMeasures> cells, const PlanBuckets& buckets,
                                            const BucketRange& range);

}  // namespace nanobench::reports
