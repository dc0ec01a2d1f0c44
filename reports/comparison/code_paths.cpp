#include "reports/comparison/code_paths.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using core::StepParts;

constexpr std::size_t kMaxNamed = 4;  // rows in a warning
constexpr double kCancels = 1e-9;     // for weights that are fractions

/// The parts of the cell's completed runs; nullopt if no engine reported them.
std::optional<StepParts> parts_of(const CellMeasures& cell) {
  std::optional<StepParts> parts;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed() || !run.run.no_kernel_for) continue;
    if (!parts) parts.emplace();
    parts->insert(run.run.no_kernel_for->begin(), run.run.no_kernel_for->end());
  }
  return parts;
}

const CellMeasures* cell_of(const std::vector<CellMeasures>& cells, const std::string& label) {
  const auto found =
      std::find_if(cells.begin(), cells.end(), [&](const CellMeasures& cell) { return cell.cell.label == label; });
  return found == cells.end() ? nullptr : &*found;
}

}  // namespace

StepParts parts_without_kernel(const std::vector<WeightedCell>& difference) {
  std::map<std::string, double> weights;
  for (const WeightedCell& item : difference) {
    const std::optional<StepParts> parts = parts_of(*item.cell);
    if (!parts) return {};
    for (const std::string& part : *parts) weights[part] += item.weight;
  }
  StepParts named;
  for (const auto& [part, weight] : weights) {
    if (std::abs(weight) > kCancels) named.insert(part);
  }
  return named;
}

StepParts parts_of_one_alone(const std::optional<StepParts>& a, const std::optional<StepParts>& b) {
  StepParts named;
  if (!a || !b) return named;
  std::set_symmetric_difference(a->begin(), a->end(), b->begin(), b->end(), std::inserter(named, named.end()));
  return named;
}

std::string different_code(const StepParts& parts) {
  return "times of different code: the engine has a kernel for " + joined(parts) + " in some of the cells only; " +
         kSameCodeRemedy;
}

void add_code_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  StepParts parts;
  std::vector<std::string> labels;
  for (const Comparison& row : table.rows) {
    if (!row.reference || row.completed == 0) continue;
    const CellMeasures* const cell = cell_of(cells, row.label);
    const CellMeasures* const reference = cell_of(cells, *row.reference);
    if (cell == nullptr || reference == nullptr) continue;
    StepParts found = parts_without_kernel({{cell, 1.0}, {reference, -1.0}});
    if (found.empty()) continue;
    parts.merge(found);
    labels.push_back(row.label);
  }
  if (labels.empty()) return;
  table.warnings.push_back("The times of " + counted(static_cast<std::int64_t>(labels.size()), "row") + " (" +
                           listed_first(labels, kMaxNamed) +
                           ") come from different code than the times they are compared with: the engine has a kernel "
                           "for " +
                           joined(parts) + " on one side only. They decide nothing; " + kSameCodeRemedy + ".");
}

}  // namespace nanobench::reports
