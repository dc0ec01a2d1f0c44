#include "reports/trend/trend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/gate/gate_policy.h"
#include "reports/stats/change_points.h"
#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"
#include "reports/stats/multiple.h"
#include "reports/stats/prediction.h"
#include "reports/stats/summary.h"
#include "reports/trend/trend_values.h"

namespace nanobench::reports {
namespace {

constexpr int kFirstPermutations = 199;
constexpr double kFirstAlpha = 0.1;  // a p above it with few permutations is not tested again
constexpr int kMinPermutations = 999;
constexpr int kMaxPermutations = 19999;
// Times of neighbouring revisions are alike because a machine changes slowly; up to this correlation that is no change.
constexpr double kTimeAutocorrelation = 0.5;

double binomial(int n, int k) {
  double count = 1.0;
  for (int i = 1; i <= k; ++i) count = count * (n - k + i) / i;
  return count;
}

/// Means of revisions are used if even the latest possible change, with the fewest values after it, leaves room below
/// alpha / family for the permutations' own error.
bool are_enough_revisions(int revisions, int family, double alpha) {
  if (revisions < 2 * kMinBeside) return false;
  return 1.0 / binomial(revisions, kMinBeside) <= alpha / (4.0 * family);
}

/// A loss or a size does not depend on the state of the machine.
double autocorrelation_of(TrendMetric metric) {
  return metric == TrendMetric::kStepTime || metric == TrendMetric::kTrainTime ? kTimeAutocorrelation : 0.0;
}

/// All changes with p <= alpha; none when the first search, with few permutations, finds none.
std::vector<ChangePoint> search(const std::vector<double>& values, double autocorrelation, int family,
                                const TrendSettings& settings) {
  ChangePointSettings look{.alpha = std::max(kFirstAlpha, settings.alpha),
                           .permutations = kFirstPermutations,
                           .min_segment = kMinBeside,
                           .autocorrelation = autocorrelation,
                           .seed = settings.seed};
  const auto first = change_points(values, look);
  if (!first || first->empty()) return {};
  look.alpha = settings.alpha;
  const double wanted = std::min(2.0 * family / settings.alpha, static_cast<double>(kMaxPermutations));
  look.permutations = std::max(kMinPermutations, static_cast<int>(std::ceil(wanted)));
  return change_points(values, look).value_or(std::vector<ChangePoint>{});
}

/// The p of the first split, which is that of "nothing ever changed".
std::optional<double> first_p(const std::vector<ChangePoint>& changes) {
  for (const ChangePoint& change : changes) {
    if (change.order == 1) return change.p;
  }
  return std::nullopt;
}

/// The values of each revision, in order.
std::vector<std::span<const TrendValue>> by_revision(std::span<const TrendValue> values) {
  std::vector<std::span<const TrendValue>> groups;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin;
    while (end < values.size() && values[end].revision == values[begin].revision) ++end;
    groups.push_back(values.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

/// The losses of one revision, in which each seed has one value.
BySeed losses_of(std::span<const TrendValue> revision) {
  BySeed losses;
  for (const SeriesValue& item : members_of(revision)) losses[item.seed] = item.value;
  return losses;
}

double margin_of(TrendMetric metric) {
  const GatePolicy usual;
  if (metric == TrendMetric::kLoss) return usual.loss.margin;
  return metric == TrendMetric::kPeakMemory ? usual.memory.margin : usual.time.margin;
}

/// The analysis of one series.
class SeriesAnalysis {
 public:
  SeriesAnalysis(TrendSeries series, int family, const TrendSettings& settings)
      : settings_(settings), needed_(needed_values(family, settings.alpha)) {
    trend_.series = std::move(series);
    const int revisions = revisions_with_values(trend_.series);
    trend_.is_by_revision = are_enough_revisions(revisions, family, settings.alpha);
    trend_.has_mixed_seeds = trend_.series.metric == TrendMetric::kLoss && seeds_differ(trend_.series);
    trend_.needed = needed_;
    values_ = trend_values(trend_.series, trend_.is_by_revision);
    trend_.values = static_cast<int>(values_.size());
    if (trend_.values < needed_) return;
    const std::vector<double> all = plain(values_);
    const std::vector<double> searched = averaged(all, kMaxSearched);
    found_ = search(searched, autocorrelation_of(trend_.series.metric), family, settings);
    if (searched.size() < all.size()) place_exactly(all, searched.size());
  }

  std::optional<double> p() const { return first_p(found_); }

  /// `adjusted`: p of the first change; the other changes get the same factor.
  void decide(const std::optional<double>& adjusted) {
    if (trend_.values >= needed_) trend_.answer = TrendAnswer::kSteady;
    if (adjusted && *adjusted <= settings_.alpha) {
      trend_.answer = TrendAnswer::kChanged;
      place_changes(*adjusted / *p());
    }
    add_rows();
  }

  SeriesTrend& trend() { return trend_; }

 private:
  /// Converts the indices of `parts` means to indices of the values, each between its neighbours.
  void place_exactly(std::span<const double> all, std::size_t parts) {
    for (ChangePoint& change : found_) change.index = all.size() * change.index / parts;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const std::size_t end = i + 1 < found_.size() ? found_[i + 1].index : all.size();
      const std::size_t split =
          refined_split(all.subspan(begin, end - begin), found_[i].index - begin, all.size() / parts, kMinBeside);
      found_[i].index = begin = begin + split;
    }
  }

  void place_changes(double factor) {
    for (const ChangePoint& change : found_) {
      const double adjusted = std::min(1.0, change.p * factor);
      if (adjusted > settings_.alpha) continue;
      const Boundary boundary = boundary_at(values_, change.index, kMinBeside);
      if (!boundaries_.empty() && boundaries_.back() >= boundary.index) continue;  // two splits of one boundary
      boundaries_.push_back(boundary.index);
      trend_.changes.push_back(
          {.before = boundary.before, .after = boundary.after, .p = change.p, .adjusted_p = adjusted});
    }
    for (std::size_t i = 0; i < trend_.changes.size(); ++i) measure(i);
    // A loss depends on seeds, not on the state of the machine.
    if (trend_.is_by_revision || trend_.series.metric == TrendMetric::kLoss) return;
    trend_.has_days = day_effect_p(values_, boundaries_).value_or(1.0) <= settings_.alpha;
  }

  void measure(std::size_t i) {
    TrendChange& change = trend_.changes[i];
    const std::span<const TrendValue> all(values_);
    const std::size_t begin = i == 0 ? 0 : boundaries_[i - 1];
    const std::size_t end = i + 1 < boundaries_.size() ? boundaries_[i + 1] : all.size();
    const std::span<const TrendValue> before = all.subspan(begin, boundaries_[i] - begin);
    const std::span<const TrendValue> after = all.subspan(boundaries_[i], end - boundaries_[i]);
    change.n_before = static_cast<int>(before.size());
    change.n_after = static_cast<int>(after.size());
    change.mean_before = *mean_of(plain(before));
    change.mean_after = *mean_of(plain(after));
    if (trend_.series.metric == TrendMetric::kLoss) {
      change.shift = loss_shift(members_of(before), members_of(after));
    } else {
      change.shift = ratio_shift(plain(before), plain(after));
    }
    if (change.shift && change.shift->is_clear()) change.harm = change.shift->value / margin_of(trend_.series.metric);
  }

  void add_rows() {
    for (std::size_t i = 0; i < trend_.series.revisions.size(); ++i) {
      std::vector<double> own;
      for (const SeriesValue& item : trend_.series.revisions[i].values) own.push_back(item.value);
      trend_.rows.push_back({.summary = summarise(own), .expectation = expectation_of(i)});
    }
  }

  /// Relative to the values since the last change before this revision.
  Expectation expectation_of(std::size_t revision) const {
    const auto first = std::find_if(values_.begin(), values_.end(),
                                    [&](const TrendValue& value) { return value.revision >= revision; });
    const auto last =
        std::find_if(first, values_.end(), [&](const TrendValue& value) { return value.revision > revision; });
    const auto own_begin = static_cast<std::size_t>(first - values_.begin());
    std::size_t begin = 0;
    for (const std::size_t boundary : boundaries_) {
      if (boundary < own_begin) begin = boundary;
    }
    const std::span<const TrendValue> before = std::span(values_).subspan(begin, own_begin - begin);
    const std::span<const TrendValue> own(first, last);
    if (trend_.series.metric == TrendMetric::kLoss) {
      if (auto result = expect_loss(before, own)) return *result;
      return expect(plain(before), plain(own));
    }
    return expect_time(before, own);
  }

  /// By means of revisions where there are enough, because the runs of one revision share the state of the machine.
  Expectation expect_time(std::span<const TrendValue> before, std::span<const TrendValue> own) const {
    std::vector<double> means;
    for (const std::span<const TrendValue> revision : by_revision(before)) means.push_back(*mean_of(plain(revision)));
    if (own.empty() || means.size() < static_cast<std::size_t>(kMinBeside)) return expect(plain(before), plain(own));
    Expectation result = expect(means, {*mean_of(plain(own))});
    result.before = static_cast<int>(before.size());
    return result;
  }

  /// By revision and seed; it also holds for a program that changes every loss. nullopt for too few seeds.
  std::optional<Expectation> expect_loss(std::span<const TrendValue> before, std::span<const TrendValue> own) const {
    Expectation result{.before = static_cast<int>(members_of(before).size())};
    if (own.empty() || result.before < kMinBeside) return result;
    std::vector<BySeed> rows;
    for (const std::span<const TrendValue> revision : by_revision(before)) rows.push_back(losses_of(revision));
    const BySeed losses = losses_of(own);
    const std::optional<Shift> shift = newest_loss_shift(rows, losses, 1.0 - settings_.alpha);
    if (!shift) return std::nullopt;
    const double mean = *summarise(losses).mean;
    result.mean_before = mean - shift->value;
    if (shift->interval) {
      result.interval = ConfidenceInterval{
          .low = mean - shift->interval->high, .high = mean - shift->interval->low, .level = shift->interval->level};
      result.p = shift->p;
    }
    result.position = !shift->is_clear()   ? TrendPosition::kInside
                      : shift->value > 0.0 ? TrendPosition::kAbove
                                           : TrendPosition::kBelow;
    return result;
  }

  Expectation expect(const std::vector<double>& before, const std::vector<double>& own) const {
    Expectation result{.before = static_cast<int>(before.size())};
    const std::optional<Moments> moments = moments_of(before);
    if (own.empty() || result.before < kMinBeside || !moments) return result;
    result.mean_before = moments->mean;
    const double mean = *mean_of(own);
    const int count = static_cast<int>(own.size());
    result.interval = prediction_interval(before, count, 1.0 - settings_.alpha);
    double low = moments->mean, high = moments->mean;
    if (result.interval) {
      low = result.interval->low;
      high = result.interval->high;
      const double se = moments->sd * std::sqrt(1.0 / count + 1.0 / moments->n);
      result.p = t_p_value((mean - moments->mean) / se, moments->n - 1.0, Tail::kTwoSided);
    } else {  // all equal: any difference beyond rounding is an outlier
      const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * std::abs(mean);
      low -= rounding;
      high += rounding;
    }
    result.position = mean > high ? TrendPosition::kAbove : mean < low ? TrendPosition::kBelow : TrendPosition::kInside;
    return result;
  }

  const TrendSettings& settings_;
  int needed_ = 0;
  SeriesTrend trend_;
  std::vector<TrendValue> values_;
  std::vector<ChangePoint> found_;
  std::vector<std::size_t> boundaries_;  ///< first values of new levels; one for each change
};

/// If all earlier values are equal, nothing is left to chance: a difference counts if a gate would reject it.
bool is_beyond_margin(const SeriesTrend& trend) {
  const RevisionTrend& newest = trend.rows.back();
  if (newest.expectation.position == TrendPosition::kUnknown || !newest.summary.mean) return false;
  const double before = *newest.expectation.mean_before;
  const double difference = std::abs(*newest.summary.mean - before);
  const bool is_ratio = trend.series.metric != TrendMetric::kLoss;
  return difference > margin_of(trend.series.metric) * (is_ratio ? before : 1.0);
}

/// Judges the newest revisions of all series together.
void judge_newest(std::vector<SeriesAnalysis>& all, double alpha) {
  std::vector<std::optional<double>> p;
  for (SeriesAnalysis& analysis : all) {
    const std::vector<RevisionTrend>& rows = analysis.trend().rows;
    p.push_back(rows.empty() ? std::nullopt : rows.back().expectation.p);
  }
  const std::vector<std::optional<double>> adjusted = holm(p);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SeriesTrend& trend = all[i].trend();
    trend.newest_p = adjusted[i];
    if (!trend.rows.empty()) trend.is_newest_apart = adjusted[i] ? *adjusted[i] <= alpha : is_beyond_margin(trend);
  }
}

/// Worst first: rises, changes without a clear direction, falls; then a newest revision that is an outlier.
int rank_of(const SeriesTrend& trend) {
  switch (trend.answer) {
    case TrendAnswer::kChanged: return 0;
    case TrendAnswer::kSteady: return trend.is_newest_apart ? 1 : 2;
    case TrendAnswer::kTooFew: break;
  }
  return trend.is_newest_apart ? 1 : 3;
}

}  // namespace

double SeriesTrend::harm() const {
  double worst = changes.empty() ? 0.0 : changes.front().harm;
  for (const TrendChange& change : changes) worst = std::max(worst, change.harm);
  return worst;
}

bool Trend::has_answer() const {
  return std::any_of(series.begin(), series.end(), [](const SeriesTrend& item) {
    const bool is_judged = !item.rows.empty() && item.rows.back().expectation.position != TrendPosition::kUnknown;
    return item.answer != TrendAnswer::kTooFew || is_judged;
  });
}

int needed_values(int family, double alpha) {
  require_fraction(alpha, "alpha");
  require_count(family, 1, "the number of series");
  // The best case is a clean step in the middle: of all arrangements, only it and its mirror image split equally well.
  int count = 2 * kMinBeside;
  while (2.0 / binomial(count, count / 2) > alpha / family) ++count;
  return count;
}

Trend analyse_trend(SeriesSet set, const TrendSettings& settings) {
  require_fraction(settings.alpha, "alpha");
  Trend trend{.revisions = std::move(set.revisions), .left_out = std::move(set.left_out), .alpha = settings.alpha};
  const int family = static_cast<int>(set.series.size());
  std::vector<SeriesAnalysis> all;
  std::vector<std::optional<double>> p;
  for (TrendSeries& series : set.series) {
    all.emplace_back(std::move(series), family, settings);
    p.push_back(all.back().p());
  }
  const std::vector<std::optional<double>> adjusted = holm(p);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].decide(adjusted[i]);
  judge_newest(all, settings.alpha);
  for (SeriesAnalysis& analysis : all) trend.series.push_back(std::move(analysis.trend()));
  std::stable_sort(trend.series.begin(), trend.series.end(), [](const SeriesTrend& a, const SeriesTrend& b) {
    return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a.harm() > b.harm();
  });
  return trend;
}

}  // namespace nanobench::reports
