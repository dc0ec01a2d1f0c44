#include "reports/effects/counted_changes.h"

#include <algorithm>
#include <cmath>

#include "results/metric.h"
#include "results/store.h"

namespace nanobench::reports {
namespace {

std::optional<double> counter_of(const results::Store& store, std::int64_t run_id, const char* name) {
  const auto samples = store.samples(run_id, std::string(results::kCounterPrefix) + "cost/" + name);
  if (samples.empty() || !std::isfinite(samples.back().value)) return std::nullopt;
  return samples.back().value;
}

/// A change from or to nothing has no size.
std::optional<double> relative(const std::optional<double>& from, const std::optional<double>& to) {
  if (!from || !to || !(*from > 0.0) || !(*to > 0.0)) return std::nullopt;
  return *to / *from - 1.0;
}

}  // namespace

std::map<std::string, CountedCost> counted_costs(const results::Store& store, const std::vector<CellMeasures>& cells) {
  std::map<std::string, CountedCost> costs;
  for (const CellMeasures& cell : cells) {
    const auto run = std::find_if(cell.runs.begin(), cell.runs.end(),
                                  [](const RunMeasure& measure) { return measure.run.is_completed(); });
    if (run == cell.runs.end()) continue;
    const CountedCost cost{.flops = counter_of(store, run->run.id, "flops_per_step"),
                           .blocks = counter_of(store, run->run.id, "visited_blocks_per_step")};
    if (cost.flops || cost.blocks) costs[cell.cell.label] = cost;
  }
  return costs;
}

CountedChange counted_change(const std::map<std::string, CountedCost>& costs, const std::string& from,
                             const std::string& to) {
  const auto before = costs.find(from), after = costs.find(to);
  if (before == costs.end() || after == costs.end()) return {};
  return {.flops = relative(before->second.flops, after->second.flops),
          .blocks = relative(before->second.blocks, after->second.blocks)};
}

std::optional<ComparedCells> compared_cells(const results::PlanContrast& contrast) {
  if (contrast.coefficients.size() != 2) return std::nullopt;
  auto [first, a] = *contrast.coefficients.begin();
  auto [second, b] = *contrast.coefficients.rbegin();
  if (a == -1.0 && b == 1.0) return ComparedCells{.from = first, .to = second};
  if (a == 1.0 && b == -1.0) return ComparedCells{.from = second, .to = first};
  return std::nullopt;
}

}  // namespace nanobench::reports
