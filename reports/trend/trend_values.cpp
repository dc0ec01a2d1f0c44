#include "reports/trend/trend_values.h"

#include <algorithm>
#include <set>

namespace nanobench::reports {
namespace {

TrendValue value_from(std::span<const SeriesValue> members, std::size_t revision) {
  TrendValue result{.revision = revision, .members = {members.begin(), members.end()}};
  for (std::size_t i = 0; i < members.size(); ++i)
    result.value += (members[i].value - result.value) / static_cast<double>(i + 1);
  return result;
}

}  // namespace

int revisions_with_values(const TrendSeries& series) {
  return static_cast<int>(std::count_if(series.revisions.begin(), series.revisions.end(),
                                        [](const SeriesRevision& revision) { return !revision.values.empty(); }));
}

bool seeds_differ(const TrendSeries& series) {
  std::set<std::set<std::uint64_t>> seeds;
  for (const SeriesRevision& revision : series.revisions) {
    if (revision.values.empty()) continue;
    std::set<std::uint64_t> own;
    for (const SeriesValue& item : revision.values) own.insert(item.seed);
    seeds.insert(std::move(own));
  }
  return seeds.size() > 1;
}

std::vector<TrendValue> trend_values(const TrendSeries& series, bool is_by_revision, std::size_t most) {
  std::size_t count = 0;
  for (const SeriesRevision& revision : series.revisions) count += revision.values.size();
  const std::size_t together = std::max<std::size_t>(1, (count + most - 1) / most);
  std::vector<TrendValue> result;
  for (std::size_t i = 0; i < series.revisions.size(); ++i) {
    const std::span<const SeriesValue> own(series.revisions[i].values);
    if (own.empty()) continue;
    const std::size_t parts = is_by_revision ? 1 : std::max<std::size_t>(1, own.size() / together);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = own.size() * part / parts;
      const std::size_t end = own.size() * (part + 1) / parts;
      result.push_back(value_from(own.subspan(begin, end - begin), i));
    }
  }
  return result;
}

std::vector<double> plain(std::span<const TrendValue> values) {
  std::vector<double> result;
  for (const TrendValue& item : values) result.push_back(item.value);
  return result;
}

std::vector<SeriesValue> members_of(std::span<const TrendValue> values) {
  std::vector<SeriesValue> result;
  for (const TrendValue& item : values) result.insert(result.end(), item.members.begin(), item.members.end());
  return result;
}

Boundary boundary_at(std::span<const TrendValue> values, std::size_t split, std::size_t least) {
  const std::size_t revision = values[split].revision;
  std::size_t begin = split, end = split;
  while (begin > 0 && values[begin - 1].revision == revision) --begin;
  while (end < values.size() && values[end].revision == revision) ++end;
  const std::size_t left = split - begin, right = end - split;
  std::size_t index = split;
  const bool is_within = left >= least && right >= least;
  if (!is_within && (begin > 0 || end < values.size())) {
    index = left <= right ? begin : end;
    if (index == 0) index = end;
    if (index == values.size()) index = begin;
  }
  return {.index = index, .before = values[index - 1].revision, .after = values[index].revision};
}

}  // namespace nanobench::reports
