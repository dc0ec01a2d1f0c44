#include "reports/effects/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/stats/shapley.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

using results::PlanContrast;
using Sets = std::map<std::string, FeatureSet>;  // by cell

std::vector<const PlanContrast*> contrasts_of(const results::PlanRecord& plan, results::ContrastKind kind) {
  std::vector<const PlanContrast*> found;
  for (const PlanContrast& contrast : plan.contrasts) {
    if (contrast.kind == kind) found.push_back(&contrast);
  }
  return found;
}

/// A main effect has every cell on one of its sides.
Sets sets_of_factorial(const std::vector<const PlanContrast*>& mains, std::size_t cells) {
  Sets sets;
  for (std::size_t i = 0; i < mains.size(); ++i) {
    if (mains[i]->coefficients.size() != cells) return {};
    for (const auto& [label, coefficient] : mains[i]->coefficients)
      sets[label] |= coefficient > 0.0 ? FeatureSet{1} << i : FeatureSet{0};
  }
  return sets;
}

/// The two simple effects share a cell; the fourth cell is the one that only their interaction has.
Sets sets_of_pair(const std::vector<const PlanContrast*>& simple, const PlanContrast& interaction) {
  const auto& first = simple[0]->coefficients;
  const auto& second = simple[1]->coefficients;
  if (first.size() != 2 || second.size() != 2 || interaction.coefficients.size() != 4) return {};
  const auto meeting =
      std::find_if(first.begin(), first.end(), [&](const auto& entry) { return second.contains(entry.first); });
  if (meeting == first.end()) return {};
  const FeatureSet at_meeting = (meeting->second > 0.0 ? 1U : 0U) | (second.at(meeting->first) > 0.0 ? 2U : 0U);
  Sets sets;
  for (const auto& [label, coefficient] : interaction.coefficients) {
    FeatureSet changed = 3;
    if (label == meeting->first) {
      changed = 0;
    } else if (first.contains(label)) {
      changed = 1;
    } else if (second.contains(label)) {
      changed = 2;
    }
    sets[label] = at_meeting ^ changed;
  }
  return sets;
}

FactorShare share_of(std::string factor, const std::vector<double>& by_seed, double magnitude) {
  FactorShare share{.factor = std::move(factor), .value = *mean_of(by_seed), .se = std::nullopt};
  if (const std::optional<Moments> moments = moments_of(by_seed, magnitude)) share.se = moments->se();
  return share;
}

/// The shares of each seed, then their moments: variation common to the cells of a seed cancels.
LossAttribution by_seeds(const SubsetCells& subsets, const std::vector<std::vector<double>>& rows) {
  std::vector<std::vector<double>> shares(subsets.changes.size());
  std::vector<double> totals;
  double magnitude = 0.0;
  for (const std::vector<double>& row : rows) {
    std::vector<SubsetValue> values;
    for (const double loss : row) {
      values.push_back({.value = loss});
      magnitude = std::max(magnitude, std::abs(loss));
    }
    const Attribution one = *shapley_exact(values);
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i].push_back(one.shares[i].value);
    totals.push_back(one.total);
  }
  LossAttribution result{.is_by_seed = true, .n = static_cast<int>(rows.size())};
  for (std::size_t i = 0; i < shares.size(); ++i)
    result.shares.push_back(share_of(subsets.changes[i], shares[i], magnitude));
  result.total = share_of("all of them", totals, magnitude);
  return result;
}

std::optional<LossAttribution> by_cells(const SubsetCells& subsets, const std::vector<const CellMeasures*>& cells) {
  std::vector<SubsetValue> values;
  bool has_error = true;
  LossAttribution result;
  for (const CellMeasures* cell : cells) {
    std::vector<double> losses;
    for (const auto& [seed, loss] : val_losses(*cell)) losses.push_back(loss);
    const std::optional<double> mean = mean_of(losses);
    if (!mean) return std::nullopt;
    const std::optional<Moments> moments = moments_of(losses);
    values.push_back({.value = *mean, .se = moments ? moments->se() : 0.0});
    has_error = has_error && moments.has_value();
    const int runs = static_cast<int>(losses.size());
    result.n = result.n == 0 ? runs : std::min(result.n, runs);
  }
  const std::optional<Attribution> found = shapley_exact(values);
  if (!found) return std::nullopt;
  const auto error = [&](double se) { return has_error ? std::optional<double>(se) : std::nullopt; };
  for (std::size_t i = 0; i < subsets.changes.size(); ++i)
    result.shares.push_back({subsets.changes[i], found->shares[i].value, error(found->shares[i].se_values)});
  result.total = {"all of them", found->total, error(std::hypot(values.front().se, values.back().se))};
  return result;
}

}  // namespace

std::optional<SubsetCells> subsets_of(const results::PlanRecord& plan) {
  std::vector<const PlanContrast*> changes = contrasts_of(plan, results::ContrastKind::kMain);
  Sets sets;
  if (!changes.empty()) {
    sets = sets_of_factorial(changes, plan.cells.size());
  } else {
    changes = contrasts_of(plan, results::ContrastKind::kSimple);
    const std::vector<const PlanContrast*> interactions = contrasts_of(plan, results::ContrastKind::kInteraction);
    if (changes.size() == 2 && interactions.size() == 1) sets = sets_of_pair(changes, *interactions.front());
  }
  const std::size_t k = changes.size();
  if (k < 2 || k > static_cast<std::size_t>(kMaxExactFeatures) || sets.size() != std::size_t{1} << k)
    return std::nullopt;
  SubsetCells subsets{.changes = {}, .labels = std::vector<std::string>(sets.size())};
  for (const PlanContrast* change : changes) subsets.changes.push_back(change->effect);
  for (const auto& [label, set] : sets) {
    if (!subsets.labels.at(set).empty()) return std::nullopt;
    subsets.labels[set] = label;
  }
  return subsets;
}

std::optional<LossAttribution> attribute_loss(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells) {
  const std::optional<SubsetCells> subsets = subsets_of(plan);
  if (!subsets) return std::nullopt;
  std::vector<const CellMeasures*> ordered;
  for (const std::string& label : subsets->labels) {
    const auto found =
        std::find_if(cells.begin(), cells.end(), [&](const CellMeasures& cell) { return cell.cell.label == label; });
    if (found == cells.end()) return std::nullopt;
    ordered.push_back(&*found);
  }
  const std::vector<std::vector<double>> rows = loss_rows(ordered);
  return rows.empty() ? by_cells(*subsets, ordered) : std::optional(by_seeds(*subsets, rows));
}

}  // namespace nanobench::reports
