#include "reports/effects/second_opinion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/stats/multiple.h"
#include "reports/stats/rank_tests.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

constexpr double kRounding = 4.0 * std::numeric_limits<double>::epsilon();  // of the losses, as in moments_of()

std::vector<double> losses_of(const CellMeasures& cell) {
  std::vector<double> losses;
  for (const auto& [seed, loss] : val_losses(cell)) losses.push_back(loss);
  return losses;
}

/// Only for exactly two cells with opposite coefficients.
std::optional<RankShift> arms_opinion(const std::vector<ContrastPart>& parts) {
  if (parts.size() != 2 || parts[0].coefficient != -parts[1].coefficient) return std::nullopt;
  const bool is_first = parts[0].coefficient > 0.0;
  const std::vector<double> with = losses_of(*parts[is_first ? 0 : 1].cell);
  const std::vector<double> without = losses_of(*parts[is_first ? 1 : 0].cell);
  const std::optional<HodgesLehmann> shift = hodges_lehmann(with, without);
  if (!shift) return std::nullopt;
  RankShift result{.n = static_cast<int>(with.size()), .n_without = static_cast<int>(without.size())};
  const double scale = std::abs(parts[0].coefficient);
  result.shift = scale * shift->shift;
  if (shift->interval) {
    result.interval = {
        .low = scale * shift->interval->low, .high = scale * shift->interval->high, .level = shift->interval->level};
  }
  if (const std::optional<MannWhitney> test = mann_whitney(with, without)) result.p = test->p;
  result.min_p = min_mann_whitney_p(result.n, result.n_without);
  return result;
}

/// The contrast of each seed; mere rounding of the losses becomes 0.
std::vector<double> contrasts_by_seed(const std::vector<ContrastPart>& parts) {
  std::vector<const CellMeasures*> cells;
  for (const ContrastPart& part : parts) cells.push_back(part.cell);
  std::vector<double> values;
  for (const std::vector<double>& row : loss_rows(cells)) {
    std::vector<double> terms;
    double magnitude = 0.0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      terms.push_back(parts[i].coefficient * row[i]);
      magnitude = std::max(magnitude, std::abs(row[i]));
    }
    const double sum = compensated_sum(terms);
    values.push_back(std::abs(sum) <= kRounding * magnitude ? 0.0 : sum);
  }
  return values;
}

std::optional<RankShift> pairs_opinion(const std::vector<ContrastPart>& parts) {
  const std::vector<double> values = contrasts_by_seed(parts);
  const std::optional<PairedShift> shift = paired_shift(values);
  if (!shift) return std::nullopt;
  RankShift result{.shift = shift->shift, .interval = shift->interval};
  result.n = result.n_without = static_cast<int>(values.size());
  if (const std::optional<SignedRank> test = signed_rank(values)) {
    result.p = test->p;
    result.min_p = min_signed_rank_p(test->n);
  }
  return result;
}

/// Holm over the whole family; missing p-values count.
void adjust(const std::vector<TwoOpinions>& family, std::optional<RankShift> SecondOpinion::*kind, bool is_look) {
  std::vector<std::optional<double>> p;
  for (const TwoOpinions& one : family) {
    const std::optional<RankShift>& shift = one.second->*kind;
    p.push_back(shift ? shift->p : std::nullopt);
  }
  const std::vector<std::optional<double>> adjusted = is_look ? p : holm(p);
  for (std::size_t i = 0; i < family.size(); ++i) {
    std::optional<RankShift>& shift = family[i].second->*kind;
    if (shift) shift->adjusted_p = adjusted[i];
  }
}

}  // namespace

const RankShift* SecondOpinion::beside(const MeasuredEffect& loss) const {
  const bool is_by_seed = loss.source == ErrorSource::kSeeds || loss.source == ErrorSource::kPlan;
  const std::optional<RankShift>& shift = is_by_seed ? pairs : arms;
  return (is_by_seed || loss.source == ErrorSource::kCells) && shift ? &*shift : nullptr;
}

SecondOpinion second_opinion(const std::vector<ContrastPart>& parts) {
  if (parts.empty()) return {};
  return {.arms = arms_opinion(parts), .pairs = pairs_opinion(parts)};
}

void compare_opinions(const std::vector<TwoOpinions>& family, double alpha, bool is_look) {
  adjust(family, &SecondOpinion::arms, is_look);
  adjust(family, &SecondOpinion::pairs, is_look);
  const double members = is_look ? 1.0 : static_cast<double>(family.size());
  for (const TwoOpinions& one : family) {
    const RankShift* const shift = one.second->beside(*one.loss);
    if (shift == nullptr || !shift->adjusted_p || !one.loss->adjusted_p) continue;
    const bool is_sure = *shift->adjusted_p < alpha;
    const bool could_be = is_sure || members * shift->min_p < alpha;
    one.second->disagrees = could_be && is_sure != (*one.loss->adjusted_p < alpha);
  }
}

}  // namespace nanobench::reports
