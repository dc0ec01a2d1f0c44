#include "reports/effects/measured_effect.h"

#include <algorithm>
#include <cmath>

namespace nanobench::reports {

std::vector<ContrastPart> parts_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells) {
  std::vector<ContrastPart> parts;
  for (const auto& [label, coefficient] : contrast.coefficients) {
    const auto found = std::find_if(cells.begin(), cells.end(),
                                    [&label = label](const CellMeasures& cell) { return cell.cell.label == label; });
    if (found != cells.end() && coefficient != 0.0) parts.push_back({&*found, coefficient});
  }
  return parts.size() == contrast.coefficients.size() ? parts : std::vector<ContrastPart>();
}

std::vector<std::vector<double>> loss_rows(const std::vector<const CellMeasures*>& cells) {
  std::vector<std::vector<double>> rows;
  if (cells.empty()) return rows;
  for (const RunMeasure& first : cells.front()->runs) {
    std::vector<double> row;
    for (const CellMeasures* cell : cells) {
      const RunMeasure* const run = completed_run(*cell, first.run.seed);
      const std::optional<double> loss = run == nullptr ? std::nullopt : run->val_loss;
      if (!loss || !std::isfinite(*loss)) break;
      row.push_back(*loss);
    }
    if (row.size() == cells.size()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nanobench::reports
