#include "reports/comparison/bucket_losses.h"

#include <algorithm>
#include <numeric>

#include "core/base/text.h"
#include "core/data/token_groups.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

constexpr int kBucketsOfDoubling = 4;
constexpr double kLastShare = 0.25;

std::size_t index(int bucket) {
  return static_cast<std::size_t>(bucket);
}

std::string tag_of(core::AskedMetric metric) {
  return results::kValPrefix + enum_name(metric);
}

/// Looks at the first and the last completed run alone: a report over thousands of runs without the metric stays quick.
bool may_have_buckets(const results::Store& store, const CellMeasures& cell, const std::string& tag) {
  const auto is_completed = [](const RunMeasure& run) { return run.run.is_completed(); };
  const auto first = std::find_if(cell.runs.begin(), cell.runs.end(), is_completed);
  if (first == cell.runs.end()) return false;
  const auto last = std::find_if(cell.runs.rbegin(), cell.runs.rend(), is_completed);
  return !store.samples(first->run.id, tag).empty() || !store.samples(last->run.id, tag).empty();
}

}  // namespace

std::string range_text(const BucketRange& range) {
  const std::int64_t first = core::log_bucket_begin(range.first);
  if (range.end >= core::kLogBuckets) return format_count(first) + " on";
  const std::int64_t last = core::log_bucket_begin(range.end) - 1;
  return last <= first ? format_count(first) : format_count(first) + " to " + format_count(last);
}

double BucketLosses::count(const BucketRange& range) const {
  return std::accumulate(counts.begin() + range.first, counts.begin() + range.end, 0.0);
}

std::optional<double> BucketLosses::mean(const BucketRange& range) const {
  double sum = 0.0, all = 0.0;
  for (int bucket = range.first; bucket < range.end; ++bucket) {
    const double tokens = counts[index(bucket)];
    if (tokens > 0.0) sum += means[index(bucket)] * tokens;
    all += tokens;
  }
  return all > 0.0 ? std::optional(sum / all) : std::nullopt;
}

Summary CellBuckets::summary(const BucketRange& range) const {
  std::vector<double> values;
  for (const auto& [seed, run] : runs) {
    if (const std::optional<double> mean = run.mean(range)) values.push_back(*mean);
  }
  return summarise(values);
}

bool PlanBuckets::empty() const {
  return std::all_of(cells.begin(), cells.end(), [](const CellBuckets& cell) { return cell.runs.empty(); });
}

std::optional<BucketLosses> read_buckets(const results::Store& store, std::int64_t run_id, core::AskedMetric metric) {
  const std::string tag = tag_of(metric);
  const std::vector<results::Sample> means = store.samples(run_id, tag);
  if (means.empty()) return std::nullopt;
  BucketLosses losses{.means = std::vector<double>(core::kLogBuckets, 0.0),
                      .counts = std::vector<double>(core::kLogBuckets, 0.0)};
  const auto fill = [](const std::vector<results::Sample>& samples, std::vector<double>& values) {
    for (const results::Sample& sample : samples) {
      if (sample.step >= 0 && sample.step < core::kLogBuckets)
        values[static_cast<std::size_t>(sample.step)] = sample.value;
    }
  };
  fill(means, losses.means);
  fill(store.samples(run_id, tag + results::kCountSuffix), losses.counts);
  return losses;
}

PlanBuckets read_buckets(const results::Store& store, const std::vector<CellMeasures>& cells,
                         core::AskedMetric metric) {
  PlanBuckets buckets{.metric = metric, .cells = {}};
  for (const CellMeasures& cell : cells) {
    CellBuckets& own = buckets.cells.emplace_back();
    own.cell = cell.cell.label;
    if (!may_have_buckets(store, cell, tag_of(metric))) continue;
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed()) continue;
      if (std::optional<BucketLosses> losses = read_buckets(store, run.run.id, metric))
        own.runs.insert_or_assign(run.run.seed, *std::move(losses));
    }
  }
  return buckets;
}

std::vector<double> pooled_counts(const PlanBuckets& buckets) {
  std::vector<double> counts(core::kLogBuckets, 0.0);
  for (const CellBuckets& cell : buckets.cells) {
    for (const auto& [seed, run] : cell.runs)
      std::transform(counts.begin(), counts.end(), run.counts.begin(), counts.begin(), std::plus<>());
  }
  return counts;
}

std::vector<BucketRange> doublings(const std::vector<double>& counts) {
  std::vector<BucketRange> ranges;
  for (int first = 0; first < core::kLogBuckets; first += kBucketsOfDoubling)
    ranges.push_back({first, first + kBucketsOfDoubling});
  const auto is_empty = [&](const BucketRange& range) {
    return std::all_of(counts.begin() + range.first, counts.begin() + range.end, [](double n) { return n <= 0.0; });
  };
  while (!ranges.empty() && is_empty(ranges.back())) ranges.pop_back();
  while (!ranges.empty() && is_empty(ranges.front())) ranges.erase(ranges.begin());
  return ranges;
}

std::optional<BucketRange> last_quarter(const std::vector<double>& counts) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double held = 0.0;
  for (int bucket = core::kLogBuckets - 1; bucket >= 0 && all > 0.0; --bucket) {
    held += counts[index(bucket)];
    if (held < kLastShare * all) continue;
    if (held >= all) return std::nullopt;
    return BucketRange{bucket, core::kLogBuckets};
  }
  return std::nullopt;
}

bool share_targets(const PlanBuckets& buckets) {
  const std::vector<double>* first = nullptr;
  for (const CellBuckets& cell : buckets.cells) {
    for (const auto& [seed, run] : cell.runs) {
      if (first == nullptr) first = &run.counts;
      if (run.counts != *first) return false;
    }
  }
  return true;
}

std::vector<CellMeasures> with_range_losses(std::vector<CellMeasures> cells, const PlanBuckets& buckets,
                                            const BucketRange& range) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& runs = buckets.cells[i].runs;
    for (RunMeasure& run : cells[i].runs) {
      const auto own = runs.find(run.run.seed);
      run.val_loss = own == runs.end() || !run.run.is_completed() ? std::nullopt : own->second.mean(range);
      run.curve.clear();
    }
  }
  return cells;
}

}  // namespace nanobench::reports
