#include "reports/kinds/chart_section.h"

#include "reports/charts/charts.h"

namespace nanobench::reports {
namespace {

constexpr int kMostPhaseRuns = 5;  // of a cell: a run has thousands of samples, and the shares hardly differ

/// Means over the first completed runs of a cell.
PhaseTimes phase_times(const results::Store& store, const CellMeasures& cell) {
  PhaseTimes times{.cell = cell.cell.label, .phases = {}};
  double runs = 0.0;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed() || runs >= kMostPhaseRuns) continue;
    const std::map<std::string, double> phases = store.phase_means(run.run.id);
    for (const auto& [phase, ms] : phases) times.phases[phase] += ms;
    if (!phases.empty()) ++runs;
  }
  for (auto& [phase, ms] : times.phases) ms /= runs;
  return times;
}

}  // namespace

Section chart_section(const results::Store& store, const results::PlanRecord& plan,
                      const std::vector<CellMeasures>& cells, const ComparisonTable& table,
                      const std::vector<EffectResult>& effects) {
  Section section;
  const auto add = [&](std::optional<Chart> chart) {
    if (chart) section.charts.push_back(std::move(*chart));
  };
  add(speed_chart(plan, table));
  add(effects_chart(effects));
  add(interaction_chart(effects));
  add(loss_chart(cells));
  std::vector<PhaseTimes> phases;
  for (const CellMeasures& cell : cells) phases.push_back(phase_times(store, cell));
  add(phase_chart(phases));
  add(memory_chart(table));
  add(order_chart(cells));
  return section;
}

}  // namespace nanobench::reports
