#include "reports/comparison/code_paths.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxNamed = 4;  // rows of a warning
constexpr double kCancels = 1e-9;     // of weights that are fractions

std::set<std::string> parts_in(const std::string& text) {
  std::set<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    if (!part.empty() && part != "none") parts.insert(part);
  }
  return parts;
}

/// Of its completed runs; nullopt where none told.
std::optional<std::set<std::string>> parts_of(const CellMeasures& cell) {
  std::optional<std::set<std::string>> parts;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed() || run.run.no_kernel_for.empty()) continue;
    if (!parts) parts.emplace();
    parts->merge(parts_in(run.run.no_kernel_for));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const CellMeasures* cell_of(const std::vector<CellMeasures>& cells, const std::string& label) {
  const auto found =
      std::find_if(cells.begin(), cells.end(), [&](const CellMeasures& cell) { return cell.cell.label == label; });
  return found == cells.end() ? nullptr : &*found;
}

}  // namespace

std::string parts_without_kernel(const std::vector<WeightedCell>& difference) {
  std::map<std::string, double> weights;
  for (const WeightedCell& item : difference) {
    const std::optional<std::set<std::string>> parts = parts_of(*item.cell);
    if (!parts) return "";
    for (const std::string& part : *parts) weights[part] += item.weight;
  }
  std::vector<std::string> named;
  for (const auto& [part, weight] : weights) {
    if (std::abs(weight) > kCancels) named.push_back(part);
  }
  return joined(named);
}

std::string parts_of_one_alone(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return "";
  const std::set<std::string> of_a = parts_in(a), of_b = parts_in(b);
  std::vector<std::string> named;
  std::set_symmetric_difference(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(named));
  return joined(named);
}

std::string different_code(const std::string& parts) {
  return "times of different code: the engine has a kernel for " + parts + " in some of its cells alone; " +
         kSameCodeRemedy;
}

void add_code_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  std::set<std::string> parts;
  std::vector<std::string> labels;
  for (const Comparison& row : table.rows) {
    if (!row.reference || row.completed == 0) continue;
    const CellMeasures* const cell = cell_of(cells, row.label);
    const CellMeasures* const reference = cell_of(cells, *row.reference);
    if (cell == nullptr || reference == nullptr) continue;
    const std::string text = parts_without_kernel({{cell, 1.0}, {reference, -1.0}});
    if (text.empty()) continue;
    parts.merge(parts_in(text));
    labels.push_back(row.label);
  }
  if (labels.empty()) return;
  const std::size_t count = labels.size();
  std::string names =
      joined({labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(std::min(count, kMaxNamed))});
  if (count > kMaxNamed) names += " and " + std::to_string(count - kMaxNamed) + " more";
  table.warnings.push_back("The times of " + std::to_string(count) + (count == 1 ? " row" : " rows") + " (" + names +
                           ") are of other code than those of the rows they are compared with: the engine has a kernel "
                           "for " +
                           joined({parts.begin(), parts.end()}) + " on one side alone. They decide nothing; " +
                           kSameCodeRemedy + ".");
}

}  // namespace nanobench::reports
