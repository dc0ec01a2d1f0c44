#include "reports/comparison/reproduction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace nanobench::reports {
namespace {

std::map<std::int64_t, double> by_step(const std::vector<results::Sample>& samples) {
  std::map<std::int64_t, double> values;
  for (const results::Sample& sample : samples) values[sample.step] = sample.value;
  return values;
}

bool is_same_value(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

double distance(double a, double b) {
  if (is_same_value(a, b)) return 0.0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

void note_difference(RepeatedSeries& series, std::int64_t step) {
  series.first_step = std::min(step, series.first_step.value_or(step));
}

}  // namespace

RepeatedSeries compare_series(const std::string& metric, const std::vector<results::Sample>& stored,
                              const std::vector<results::Sample>& repeated) {
  const std::map<std::int64_t, double> before = by_step(stored), after = by_step(repeated);
  RepeatedSeries series{.metric = metric, .stored = static_cast<std::int64_t>(before.size())};
  for (const auto& [step, value] : before) {
    const auto again = after.find(step);
    if (again == after.end()) {
      note_difference(series, step);
      continue;
    }
    series.largest = std::max(series.largest.value_or(0.0), distance(value, again->second));
    if (is_same_value(value, again->second)) {
      ++series.same;
    } else {
      note_difference(series, step);
    }
  }
  for (const auto& [step, value] : after) {
    if (before.contains(step)) continue;
    ++series.extra;
    note_difference(series, step);
  }
  return series;
}

bool Reproduction::is_same() const {
  return !series.empty() &&
         std::all_of(series.begin(), series.end(), [](const RepeatedSeries& one) { return one.is_same(); });
}

}  // namespace nanobench::reports
