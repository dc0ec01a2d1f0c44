#include "reports/trend/series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reports/stats/summary.h"
#include "reports/stats/t_tests.h"
#include "results/import/log_import.h"

namespace nanobench::reports {

namespace {

/// A run and its revision.
struct Member {
  const TrendRun* run = nullptr;
  std::size_t revision = 0;
};

using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, int, std::string,
                       std::string>;

Key key_of(const TrendConditions& c, TrendMetric metric) {
  const bool is_of_place = is_time(metric);
  return {c.engine,
          c.scale,
          c.config,
          c.data,
          c.dtype,
          c.hardware,
          c.threads,
          is_of_place ? c.host : "",
          is_of_place ? c.gpu : ""};
}

struct SeriesGroup {
  std::vector<Member> members;  ///< in order of time
  int completed = 0;
  std::string last_at;
};

std::vector<OtherCondition> difference(const TrendConditions& other, const TrendConditions& ours, TrendMetric metric) {
  using enum OtherCondition::Kind;
  std::vector<OtherCondition> parts;
  const auto add = [&](bool differs, OtherCondition::Kind kind, const std::string& value) {
    if (differs) parts.push_back({.kind = kind, .value = value});
  };
  add(other.engine != ours.engine, kEngine, other.engine);
  add(other.scale != ours.scale, kScale, other.scale);
  // Another engine or scale is a different configuration anyway.
  add(other.config != ours.config && other.engine == ours.engine && other.scale == ours.scale, kConfiguration, "");
  add(other.data != ours.data, kData, "");
  add(other.dtype != ours.dtype, kDtype, other.dtype);
  add(other.hardware != ours.hardware, kHardware, other.hardware);
  add(other.threads != ours.threads, kThreads, std::to_string(other.threads));
  add(is_time(metric) && other.host != ours.host, kHost, other.host);
  add(is_time(metric) && other.gpu != ours.gpu, kGpu, other.gpu);
  return parts;
}

/// In each revision, the runs of one seed count once.
std::vector<SeriesValue> by_seed(const std::vector<SeriesValue>& values) {
  std::vector<SeriesValue> means;
  std::map<std::uint64_t, std::pair<std::size_t, int>> known;  // place in `means`, number of runs
  for (const SeriesValue& item : values) {
    const auto [at, is_new] = known.try_emplace(item.seed, means.size(), 0);
    if (is_new) means.push_back({.seed = item.seed, .value = 0.0});
    auto& [place, count] = at->second;
    ++count;
    means[place].value += (item.value - means[place].value) / count;
  }
  return means;
}

void add_run(SeriesRevision& revision, const TrendRun& run, TrendMetric metric) {
  revision.failed += run.is_failed() ? 1 : 0;
  if (run.is_failed()) revision.failure = enum_name(*run.outcome);
  if (!run.is_completed()) {
    revision.unfinished += run.is_failed() ? 0 : 1;
    return;
  }
  ++revision.completed;
  revision.disturbed += run.disturbance ? 1 : 0;
  if (const std::optional<double> value = value_of(run, metric))
    revision.values.push_back({.seed = run.seed, .value = *value});
}

TrendSeries series_of(const SeriesGroup& group, TrendMetric metric) {
  const TrendRun& first = *group.members.front().run;
  TrendSeries series{.cell = first.cell, .metric = metric, .conditions = first.conditions};
  if (!is_time(metric)) series.conditions.host = series.conditions.gpu = "";
  std::map<std::size_t, SeriesRevision> revisions;
  for (const Member& member : group.members) {
    const auto [at, is_new] = revisions.try_emplace(member.revision);
    if (is_new) at->second = {.revision = member.revision, .first_at = member.run->started_at};
    add_run(at->second, *member.run, metric);
  }
  for (auto& [index, revision] : revisions) {
    if (metric == TrendMetric::kLoss) revision.values = by_seed(revision.values);
    series.revisions.push_back(std::move(revision));
  }
  return series;
}

class SeriesMaker {
 public:
  SeriesMaker(std::span<const TrendRun> runs, const SeriesChoice& choice) : choice_(choice) { choose(runs); }

  SeriesSet make() {
    for (const std::string& cell : order_) {
      for (const TrendMetric metric : choice_.metrics) add_series(cell, metric);
    }
    return std::move(result_);
  }

 private:
  bool is_chosen(const TrendRun& run) const {
    const std::vector<std::string>& cells = choice_.cells;
    if (!cells.empty() && std::find(cells.begin(), cells.end(), run.cell) == cells.end()) return false;
    return !choice_.host || run.conditions.host == *choice_.host;
  }

  void choose(std::span<const TrendRun> runs) {
    std::vector<const TrendRun*> chosen;
    std::map<std::string, int> imported;
    for (const TrendRun& run : runs) {
      if (!is_chosen(run)) continue;
      if (run.conditions.engine == results::kSpeedrunLogEngine) {
        imported[run.cell] += run.is_completed() ? 1 : 0;
      } else {
        chosen.push_back(&run);
      }
    }
    for (const auto& [cell, count] : imported) {
      result_.left_out.push_back({.cell = cell,
                                  .metrics = choice_.metrics,
                                  .others = {{.kind = OtherCondition::Kind::kImported}},
                                  .runs = count});
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const TrendRun* a, const TrendRun* b) { return a->started_at < b->started_at; });
    name_revisions(chosen);
  }

  void name_revisions(const std::vector<const TrendRun*>& chosen) {
    std::vector<RevisionRun> revision_runs;
    for (const TrendRun* run : chosen) revision_runs.push_back({.source = run->source, .started_at = run->started_at});
    Revisions revisions = revisions_of(revision_runs);
    const std::size_t count = revisions.all.size();
    const std::size_t skipped = count - std::min(count, choice_.last_revisions.value_or(count));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (revisions.of_run[i] < skipped) continue;
      std::vector<Member>& members = members_[chosen[i]->cell];
      if (members.empty()) order_.push_back(chosen[i]->cell);
      members.push_back({.run = chosen[i], .revision = revisions.of_run[i] - skipped});
    }
    result_.revisions.assign(revisions.all.begin() + static_cast<std::ptrdiff_t>(skipped), revisions.all.end());
  }

  void add_series(const std::string& cell, TrendMetric metric) {
    std::map<Key, SeriesGroup> groups;
    for (const Member& member : members_.at(cell)) {
      SeriesGroup& group = groups[key_of(member.run->conditions, metric)];
      group.members.push_back(member);
      group.completed += member.run->is_completed() ? 1 : 0;
      group.last_at = member.run->started_at;
    }
    const auto best = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return std::tie(a.second.completed, a.second.last_at) < std::tie(b.second.completed, b.second.last_at);
    });
    for (auto group = groups.begin(); group != groups.end(); ++group) {
      if (group != best) leave_out(cell, metric, group->second, best->second);
    }
    result_.series.push_back(series_of(best->second, metric));
  }

  /// Metrics that leave out runs for the same reason share one entry.
  void leave_out(const std::string& cell, TrendMetric metric, const SeriesGroup& group, const SeriesGroup& best) {
    const std::vector<OtherCondition> others =
        difference(group.members.front().run->conditions, best.members.front().run->conditions, metric);
    const bool is_newer = group.last_at > best.last_at;
    for (LeftOutRuns& known : result_.left_out) {
      if (known.cell != cell || known.others != others || known.metrics.back() == metric) continue;
      if (known.runs != group.completed || known.is_newer != is_newer) continue;
      known.metrics.push_back(metric);
      return;
    }
    result_.left_out.push_back(
        {.cell = cell, .metrics = {metric}, .others = others, .runs = group.completed, .is_newer = is_newer});
  }

  const SeriesChoice& choice_;
  std::vector<std::string> order_;  ///< cells, ordered by their first run
  std::map<std::string, std::vector<Member>> members_;
  SeriesSet result_;
};

}  // namespace

SeriesSet make_series(std::span<const TrendRun> runs, const SeriesChoice& choice) {
  return SeriesMaker(runs, choice).make();
}

namespace {

bool has_no_spread(std::span<const double> values) {
  const std::optional<Moments> moments = moments_of(values);
  return moments && !moments->has_spread();
}

Shift shift_of(double value, const std::optional<Estimate>& estimate, bool is_exact, double level = 0.95) {
  Shift shift{.value = value, .is_exact = is_exact};
  if (!estimate) return shift;
  shift.interval = interval_of(*estimate, level);
  shift.p = p_of(*estimate);
  return shift;
}

/// Mean of each seed's values.
BySeed means_by_seed(std::span<const SeriesValue> values) {
  BySeed means;
  std::map<std::uint64_t, int> counts;
  for (const SeriesValue& item : values) {
    double& mean = means[item.seed];
    mean += (item.value - mean) / ++counts[item.seed];
  }
  return means;
}

std::vector<double> values_of(const BySeed& values) {
  std::vector<double> result;
  for (const auto& [seed, value] : values) result.push_back(value);
  return result;
}

}  // namespace

bool Shift::is_clear() const {
  if (value == 0.0) return false;
  return interval ? !interval->contains(0.0) : is_exact;
}

std::optional<Shift> ratio_shift(std::span<const double> before, std::span<const double> after) {
  std::vector<double> logs[2];
  for (const auto& [values, target] : {std::pair(before, &logs[0]), std::pair(after, &logs[1])}) {
    for (const double value : values) {
      if (!(value > 0.0) || !std::isfinite(value)) return std::nullopt;
      target->push_back(std::log(value));
    }
  }
  const std::optional<double> first = mean_of(logs[0]);
  const std::optional<double> second = mean_of(logs[1]);
  if (!first || !second) return std::nullopt;
  Shift shift = shift_of(*second - *first, welch(logs[1], logs[0]), has_no_spread(logs[0]) && has_no_spread(logs[1]));
  shift.value = std::expm1(shift.value);
  if (shift.interval) {
    shift.interval->low = std::expm1(shift.interval->low);
    shift.interval->high = std::expm1(shift.interval->high);
  }
  return shift;
}

std::optional<Shift> loss_shift(std::span<const SeriesValue> before, std::span<const SeriesValue> after, double level) {
  const BySeed first = means_by_seed(before);
  const BySeed second = means_by_seed(after);
  std::vector<double> paired_first, paired_second;
  for (const auto& [seed, value] : first) {
    const auto other = second.find(seed);
    if (other == second.end()) continue;
    paired_first.push_back(value);
    paired_second.push_back(other->second);
  }
  if (paired_first.size() >= 2) {
    const std::optional<PairedMoments> pairs = paired_moments(paired_second, paired_first);
    if (!pairs) return std::nullopt;
    return shift_of(pairs->moments.mean, paired_t(paired_second, paired_first), !pairs->moments.has_spread(), level);
  }
  const std::vector<double> old_values = values_of(first);
  const std::vector<double> new_values = values_of(second);
  const std::optional<double> old_mean = mean_of(old_values);
  const std::optional<double> new_mean = mean_of(new_values);
  if (!old_mean || !new_mean) return std::nullopt;
  return shift_of(*new_mean - *old_mean, welch(new_values, old_values),
                  has_no_spread(old_values) && has_no_spread(new_values), level);
}

}  // namespace nanobench::reports
