#include "tools/terminal/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace nanobench::tools {
namespace {

constexpr std::size_t kHeights = 8;
constexpr std::array<const char*, kHeights> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, kHeights> kAscii = {"_", ".", "-", "~", "=", "+", "*", "#"};
constexpr double kNone = std::numeric_limits<double>::infinity();  // a column without samples

/// Means of the columns up to the last one that has samples: NaN where none is finite, kNone where there is none.
std::vector<double> column_means(const std::vector<results::Sample>& samples, std::int64_t last_step,
                                 std::size_t width) {
  std::vector<double> sums(width, 0.0);
  std::vector<std::size_t> finite(width, 0), all(width, 0);
  std::size_t used = 0;
  const double columns_per_step = static_cast<double>(width) / (static_cast<double>(last_step) + 1.0);
  for (const results::Sample& sample : samples) {
    const double place = std::max(0.0, static_cast<double>(sample.step) * columns_per_step);
    const std::size_t column = std::min(static_cast<std::size_t>(place), width - 1);
    used = std::max(used, column + 1);
    ++all[column];
    if (!std::isfinite(sample.value)) continue;
    ++finite[column];
    sums[column] += sample.value;
  }
  std::vector<double> means;
  for (std::size_t i = 0; i < used; ++i) {
    const double mean = sums[i] / static_cast<double>(finite[i]);
    means.push_back(all[i] == 0 ? kNone : finite[i] == 0 ? std::nan("") : mean);
  }
  for (std::size_t i = 1; i < means.size(); ++i) {
    if (means[i] == kNone) means[i] = means[i - 1];
  }
  return means;
}

struct Range {
  double low = 0.0, high = 0.0;
};

Range range_of(const std::vector<double>& means) {
  std::vector<double> known;
  std::copy_if(means.begin(), means.end(), std::back_inserter(known), [](double mean) { return std::isfinite(mean); });
  if (known.empty()) return {};
  std::sort(known.begin(), known.end());
  return {known.front(), known[(9 * (known.size() - 1) + 9) / 10]};
}

}  // namespace

std::string sparkline(const std::vector<results::Sample>& samples, std::int64_t last_step, std::size_t width,
                      bool is_utf8) {
  if (width == 0 || samples.empty()) return "";
  const std::vector<double> means = column_means(samples, std::max(last_step, samples.back().step), width);
  const Range range = range_of(means);
  const auto& heights = is_utf8 ? kBlocks : kAscii;
  std::string text;
  for (const double mean : means) {
    if (mean == kNone) {
      text += ' ';
    } else if (!std::isfinite(mean)) {
      text += '!';
    } else {
      const double part = range.high > range.low ? (mean - range.low) / (range.high - range.low) : 0.0;
      const auto height = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * (kHeights - 1) + 0.5);
      text += heights[height];
    }
  }
  return text;
}

}  // namespace nanobench::tools
