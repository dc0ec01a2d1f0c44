#include "ablations/screening.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/random.h"

namespace nanobench::ablations {
namespace {

std::size_t second_levels(const DesignCell& cell) {
  return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), [](std::size_t level) { return level > 0; }));
}

class ScreeningDesign {
 public:
  ScreeningDesign(std::size_t factors, const TurnFactor& turn)
      : factors_(factors), turn_(turn), uses_(factors, 0), random_(factors) {
    add(DesignCell(factors, 0));
  }

  std::vector<DesignCell> cells(std::size_t count) {
    constexpr std::size_t kTries = 4;  // for each cell: near the end, most may exist already
    for (std::size_t tries = 0; cells_.size() < count && tries < kTries * count; ++tries) {
      DesignCell cell = draw();
      if (!known_.contains(cell)) add(std::move(cell));
    }
    return std::move(cells_);
  }

 private:
  void add(DesignCell cell) {
    for (std::size_t i = 0; i < factors_; ++i) uses_[i] += cell[i];
    known_.insert(cell);
    cells_.push_back(std::move(cell));
  }

  /// Those at their second level in the fewest cells come first, in random order.
  std::vector<std::size_t> order() {
    std::vector<std::size_t> order(factors_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = factors_; i > 1; --i) std::swap(order[i - 1], order[random_.next() % i]);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return uses_[a] < uses_[b]; });
    return order;
  }

  /// Sizes differ, or the sum of all effects could not be told from the level of the base.
  std::size_t draw_size() {
    const double mean = kScreeningShare * static_cast<double>(factors_);
    const auto least = static_cast<std::size_t>(std::max(1.0, std::round(mean / 2)));
    const auto most = std::max(least + 1, static_cast<std::size_t>(std::round(mean * 3 / 2)));
    return least + random_.next() % (most - least + 1);
  }

  DesignCell draw() {
    DesignCell cell(factors_, 0);
    const std::size_t size = draw_size();
    for (const std::size_t factor : order()) {
      if (second_levels(cell) >= size) break;
      if (cell[factor] > 0) continue;
      if (std::optional<DesignCell> more = turn_(cell, factor)) cell = std::move(*more);
    }
    return cell;
  }

  std::size_t factors_;
  const TurnFactor& turn_;
  std::vector<std::size_t> uses_;  ///< cells with each factor at its second level
  core::SplitMix64 random_;
  std::vector<DesignCell> cells_;
  std::set<DesignCell> known_;
};

}  // namespace

std::size_t screening_size(std::size_t factors) {
  return 1 + static_cast<std::size_t>(std::ceil(kScreeningCellsPerFactor * static_cast<double>(factors)));
}

std::vector<DesignCell> screening_cells(std::size_t factors, std::size_t cells, const TurnFactor& turn) {
  return ScreeningDesign(factors, turn).cells(cells);
}

}  // namespace nanobench::ablations
