#include "reports/stats/change_points.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Split {
  std::size_t index = 0;
  double statistic = 0.0;
};

/// The energy distance of two samples, times n m / (n + m), from sums of |x - y| over pairs.
double energy(double n, double m, double within_first, double within_second, double between) {
  const double distance =
      2.0 * between / (n * m) - 2.0 * within_first / (n * (n - 1.0)) - 2.0 * within_second / (m * (m - 1.0));
  return n * m / (n + m) * distance;
}

/// before[i]: sum of |x_i - x_j| over the segment's earlier j; after[i]: over the later ones.
struct Distances {
  std::vector<double> before;
  std::vector<double> after;
};

Distances distances_of(const double* values, std::size_t count) {
  Distances result{.before = std::vector<double>(count), .after = std::vector<double>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const double distance = std::abs(values[i] - values[j]);
      result.after[i] += distance;
      result.before[j] += distance;
    }
  }
  return result;
}

/// The best split of one segment; statistic 0 if it is too short or nothing differs.
Split best_split(const std::vector<double>& values, const Segment& segment, std::size_t min) {
  const std::size_t count = segment.end - segment.begin;
  Split best;
  if (count < 2 * min) return best;
  const Distances distances = distances_of(values.data() + segment.begin, count);
  std::vector<double> within_second(count + 1, 0.0);
  for (std::size_t i = count; i > 0; --i) within_second[i - 1] = within_second[i] + distances.after[i - 1];
  double within_first = 0.0;
  for (std::size_t first = 1; first + min <= count; ++first) {
    within_first += distances.before[first - 1];
    if (first < min) continue;
    const double between = within_second[0] - within_first - within_second[first];
    const double statistic = energy(static_cast<double>(first), static_cast<double>(count - first), within_first,
                                    within_second[first], between);
    if (statistic > best.statistic) best = {.index = segment.begin + first, .statistic = statistic};
  }
  return best;
}

Split best_of(const std::vector<double>& values, const std::vector<Segment>& segments, std::size_t min) {
  Split best;
  for (const Segment& segment : segments) {
    const Split split = best_split(values, segment, min);
    if (split.statistic > best.statistic) best = split;
  }
  return best;
}

/// Share of permutations within the segments that split as well as the data; the data count as one of them.
double permutation_p(std::vector<double> values, const std::vector<Segment>& segments, double statistic,
                     const ChangePointSettings& settings, core::RandomStream& random) {
  // The same arrangement gives the same statistic up to rounding.
  const double reached = statistic * (1.0 - 1e-12);
  int as_good = 1;
  for (int i = 0; i < settings.permutations; ++i) {
    for (const Segment& segment : segments) {
      random.shuffle(std::span(values).subspan(segment.begin, segment.end - segment.begin));
    }
    const Split split = best_of(values, segments, static_cast<std::size_t>(settings.min_segment));
    if (split.statistic >= reached) ++as_good;
  }
  return static_cast<double>(as_good) / (settings.permutations + 1.0);
}

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Subtracts the mean of each segment.
std::vector<double> about_means(const std::vector<double>& values, const std::vector<Segment>& segments) {
  std::vector<double> result = values;
  for (const Segment& segment : segments) {
    const std::span<double> own = std::span(result).subspan(segment.begin, segment.end - segment.begin);
    const double mean = *mean_of(own);
    for (double& value : own) value -= mean;
  }
  return result;
}

/// The split of a segment that removes most squares; `values` have the segment's mean subtracted.
Split best_step(const std::vector<double>& values, const Segment& segment, std::size_t min) {
  const std::size_t count = segment.end - segment.begin;
  Split best;
  double sum = 0.0;
  for (std::size_t first = 1; first + min <= count; ++first) {
    sum += values[segment.begin + first - 1];
    if (first < min) continue;
    const double before = static_cast<double>(first), after = static_cast<double>(count - first);
    const double gain = sum * sum * static_cast<double>(count) / (before * after);
    if (gain > best.statistic) best = {.index = segment.begin + first, .statistic = gain};
  }
  return best;
}

void divide(std::vector<Segment>& segments, std::size_t index) {
  const auto segment = std::find_if(segments.begin(), segments.end(), [index](const Segment& candidate) {
    return candidate.begin < index && index < candidate.end;
  });
  const Segment right{.begin = index, .end = segment->end};
  segment->end = index;
  segments.insert(segment + 1, right);
}

/// What the levels leave: the given segments, and as many more steps as a series may take beside its largest one. With
/// the largest step alone, a second one would count as noise and hide both.
std::vector<double> residuals(const std::vector<double>& values, std::vector<Segment> segments, std::size_t min) {
  constexpr int kMoreSteps = 2;
  std::vector<double> rest = about_means(values, segments);
  for (int i = 0; i < kMoreSteps; ++i) {
    Split best;
    for (const Segment& segment : segments) {
      const Split step = best_step(rest, segment, min);
      if (step.statistic > best.statistic) best = step;
    }
    if (!(best.statistic > 0.0)) break;
    divide(segments, best.index);
    rest = about_means(values, segments);
  }
  return rest;
}

/// Permutes the innovations of a first-order autoregression; see change_points().
class InnovationTest {
 public:
  InnovationTest(const std::vector<Segment>& segments, const ChangePointSettings& settings)
      : segments_(segments),
        settings_(settings),
        min_(static_cast<std::size_t>(settings.min_segment)),
        first_scale_(std::sqrt(1.0 - settings.autocorrelation * settings.autocorrelation)) {}

  /// nullopt if the values have no spread about their levels.
  std::optional<double> p_of(const std::vector<double>& values, double statistic, core::RandomStream& random) const {
    const std::vector<double> rest = residuals(values, segments_, min_);
    const double spread = std::sqrt(sum_of_squares(rest));
    if (!(spread > kRounding * std::sqrt(sum_of_squares(values)))) return std::nullopt;
    const double reached = statistic / spread * (1.0 - kRounding);
    std::vector<double> innovations = innovations_of(rest);
    int as_good = 1;
    for (int i = 0; i < settings_.permutations; ++i) {
      random.shuffle(innovations);
      const std::vector<double> series = series_of(innovations);
      const double other = std::sqrt(sum_of_squares(residuals(series, segments_, min_)));
      if (best_of(series, segments_, min_).statistic >= reached * other) ++as_good;
    }
    return static_cast<double>(as_good) / (settings_.permutations + 1.0);
  }

 private:
  static constexpr double kRounding = 1e-12;

  std::vector<double> innovations_of(const std::vector<double>& rest) const {
    std::vector<double> result = {rest.front() * first_scale_};
    for (std::size_t i = 1; i < rest.size(); ++i) result.push_back(rest[i] - settings_.autocorrelation * rest[i - 1]);
    return result;
  }

  std::vector<double> series_of(const std::vector<double>& innovations) const {
    std::vector<double> result = {innovations.front() / first_scale_};
    for (std::size_t i = 1; i < innovations.size(); ++i)
      result.push_back(settings_.autocorrelation * result.back() + innovations[i]);
    return result;
  }

  const std::vector<Segment>& segments_;
  const ChangePointSettings& settings_;
  std::size_t min_;
  double first_scale_;  ///< of the first innovation, so that the series begins with its own spread
};

double p_of_split(const std::vector<double>& values, const std::vector<Segment>& segments, double statistic,
                  const ChangePointSettings& settings, core::RandomStream& random) {
  if (settings.autocorrelation > 0.0) {
    if (const auto p = InnovationTest(segments, settings).p_of(values, statistic, random)) return *p;
  }
  return permutation_p(values, segments, statistic, settings, random);
}

/// The means beside every change, once all are known.
void add_means(std::vector<ChangePoint>& changes, std::span<const double> values,
               const std::vector<Segment>& segments) {
  const auto mean = [values](const Segment& segment) {
    return *mean_of(values.subspan(segment.begin, segment.end - segment.begin));
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i].mean_before = mean(segments[i]);
    changes[i].mean_after = mean(segments[i + 1]);
  }
}

/// Distances do not need the offset, and lose fewer digits without it.
std::vector<double> centred(std::span<const double> values, double centre) {
  std::vector<double> result;
  for (const double value : values) result.push_back(value - centre);
  return result;
}

}  // namespace

std::optional<std::vector<ChangePoint>> change_points(std::span<const double> values,
                                                      const ChangePointSettings& settings) {
  require_fraction(settings.alpha, "alpha");
  require_count(settings.permutations, 19, "the number of permutations");
  require_count(settings.min_segment, 2, "the smallest segment");
  if (settings.autocorrelation != 0.0) require_fraction(settings.autocorrelation, "the autocorrelation");
  const std::size_t min = static_cast<std::size_t>(settings.min_segment);
  const std::optional<double> mean = mean_of(values);
  if (values.size() < 2 * min || !mean) return std::nullopt;
  const std::vector<double> series = centred(values, *mean);
  std::vector<Segment> segments = {{.begin = 0, .end = values.size()}};
  std::vector<ChangePoint> changes;
  core::RandomStream random(settings.seed, 0);
  while (true) {
    const Split split = best_of(series, segments, min);
    if (!(split.statistic > 0.0)) break;
    const double p = p_of_split(series, segments, split.statistic, settings, random);
    if (p > settings.alpha) break;
    divide(segments, split.index);
    changes.push_back(
        {.index = split.index, .statistic = split.statistic, .p = p, .order = static_cast<int>(changes.size()) + 1});
  }
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  add_means(changes, values, segments);
  return changes;
}

}  // namespace nanobench::reports
