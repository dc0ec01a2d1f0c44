#include "reports/comparison/outliers.h"

#include <cmath>
#include <map>
#include <tuple>

#include "reports/comparison/comparison.h"
#include "reports/stats/prediction.h"

namespace nanobench::reports {
namespace {

/// One run's number to be judged.
struct Candidate {
  const RunMeasure* run = nullptr;
  double value = 0.0;
};

/// Adds the outliers of `group`; none if it is too small.
void judge(const std::vector<Candidate>& group, std::optional<std::vector<OutlyingRun>>& found) {
  if (group.size() < kMinForOutliers) return;
  if (!found) found.emplace();
  std::vector<double> values;
  for (const Candidate& candidate : group) values.push_back(candidate.value);
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

std::optional<Candidate> candidate(const RunMeasure& run, const std::optional<double>& value) {
  if (!run.run.is_completed() || !value || !std::isfinite(*value)) return std::nullopt;
  return Candidate{&run, *value};
}

}  // namespace

CellOutliers outliers_of(const CellMeasures& cell) {
  std::vector<Candidate> losses;
  std::map<std::tuple<std::string, std::string, int>, std::vector<Candidate>> times;  // by machine
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

}  // namespace nanobench::reports
