#include "reports/comparison/conditions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/prediction.h"
#include "suites/design/external_suite.h"

namespace nanobench::reports {

bool Conditions::apply_to(const results::PlanRecord& plan) const {
  return plan.scale == scale && (trainer.empty() || suites::is_of_trainer(trainer, plan.suite));
}

bool Conditions::hold_for(const results::RunRecord& run) const {
  return run.is_completed() && run.engine_text() == engine && run.hardware == hardware && run.threads == threads &&
         run.dtype == dtype;
}

Conditions conditions_of(const suites::Plan& plan) {
  return {.scale = plan.suite.scale,
          .engine = results::engine_text(plan.engine.name, plan.suite.kernels),
          .hardware = plan.hardware,
          .dtype = plan.suite.external ? kOfTrainer : enum_name(plan.suite.dtype),
          .threads = plan.threads,
          .trainer = plan.suite.external ? plan.suite.name : ""};
}

std::optional<Conditions> conditions_of(const results::Store& store, const results::PlanRecord& plan) {
  for (const results::PlanLine& line : plan.lines) {
    if (!line.run_id) continue;
    const results::RunRecord run = store.run(*line.run_id);
    return Conditions{.scale = plan.scale,
                      .engine = run.engine_text(),
                      .hardware = run.hardware,
                      .dtype = run.dtype,
                      .threads = run.threads,
                      .trainer = run.dtype == kOfTrainer ? plan.suite : ""};
  }
  return std::nullopt;
}

std::optional<results::PlanRecord> newest_calibration(const results::Store& store, const Conditions& conditions) {
  std::vector<results::PlanRecord> plans = store.plans();
  std::stable_sort(plans.begin(), plans.end(),
                   [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
  for (results::PlanRecord& plan : plans) {
    if (plan.design != results::Design::kAA || !conditions.apply_to(plan) || plan.lines.empty()) continue;
    const bool is_complete = std::all_of(plan.lines.begin(), plan.lines.end(), [&](const results::PlanLine& line) {
      return line.run_id && conditions.hold_for(store.run(*line.run_id));
    });
    if (is_complete) return std::move(plan);
  }
  return std::nullopt;
}

namespace {

/// One run's number to be judged.
struct JudgedNumber {
  const RunMeasure* run = nullptr;
  double value = 0.0;
};

/// Adds the outliers of `group`; none if it is too small.
void judge(const std::vector<JudgedNumber>& group, std::optional<std::vector<OutlyingRun>>& found) {
  if (group.size() < kMinForOutliers) return;
  if (!found) found.emplace();
  std::vector<double> values;
  for (const JudgedNumber& candidate : group) values.push_back(candidate.value);
  const std::optional<OutlierFlags> flags = outlier_flags(values, kOutlierLimit);
  if (!flags) return;  // all are equal
  const double middle = *median(values);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!flags->is_outlier[i]) continue;
    const results::RunRecord& run = group[i].run->run;
    found->push_back(
        {.seed = run.seed, .run_id = run.id, .value = values[i], .median = middle, .score = flags->score[i]});
  }
}

std::optional<JudgedNumber> candidate(const RunMeasure& run, const std::optional<double>& value) {
  if (!run.run.is_completed() || !value || !std::isfinite(*value)) return std::nullopt;
  return JudgedNumber{&run, *value};
}

}  // namespace

CellOutliers outliers_of(const CellMeasures& cell) {
  std::vector<JudgedNumber> losses;
  std::map<std::tuple<std::string, std::string, int>, std::vector<JudgedNumber>> times;  // by machine
  for (const RunMeasure& run : cell.runs) {
    if (const auto loss = candidate(run, run.val_loss)) losses.push_back(*loss);
    if (const auto time = candidate(run, run.step_ms))
      times[{run.run.hardware, run.run.place(), run.run.threads}].push_back(*time);
  }
  CellOutliers outliers;
  judge(losses, outliers.val_loss);
  for (const auto& [machine, group] : times) judge(group, outliers.step_ms);
  return outliers;
}

namespace {

using core::StepParts;

constexpr double kCancels = 1e-9;  // for weights that are fractions

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

}  // namespace nanobench::reports
