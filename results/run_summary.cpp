// Summaries of runs: computed once from the samples, stored in `run_summaries`.
#include <algorithm>
#include <cmath>
#include <vector>

#include "results/metric.h"
#include "results/run_columns.h"
#include "results/store.h"

namespace nanobench::results {
namespace {

/// Wall times of the steps that have a training clock, which are the timed ones. Both scans are in ascending order of
/// step.
std::vector<double> timed_step_ms(Database& database, std::int64_t run_id) {
  constexpr const char* kScan = "SELECT step, value FROM samples WHERE run_id = ? AND metric = ? ORDER BY step";
  Statement steps(database, kScan);
  Statement clocks(database, kScan);
  steps.bind(run_id, kStepMs);
  clocks.bind(run_id, kClockMs);
  std::vector<double> values;
  bool has_clock = clocks.step();
  while (has_clock && steps.step()) {
    const std::int64_t step = steps.integer(0);
    while (has_clock && clocks.integer(0) < step) has_clock = clocks.step();
    if (!has_clock || clocks.integer(0) != step) continue;
    if (const double value = steps.real(1); std::isfinite(value)) values.push_back(value);
  }
  return values;
}

std::optional<double> median_of(std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

RunSummary compute_summary(Database& database, std::int64_t run_id) {
  std::vector<double> values = timed_step_ms(database, run_id);
  return {.median_step_ms = median_of(values), .timed_samples = static_cast<std::int64_t>(values.size())};
}

RunSummary store_summary(Database& database, std::int64_t run_id) {
  const RunSummary summary = compute_summary(database, run_id);
  Statement statement(database,
                      "INSERT INTO run_summaries (run_id, median_step_ms, timed_samples) VALUES (?, ?, ?) "
                      "ON CONFLICT (run_id) DO NOTHING");
  statement.bind(run_id, summary.median_step_ms, summary.timed_samples);
  statement.execute();
  return summary;
}

RunSummary Store::summary(std::int64_t run_id) const {
  Statement known(*database_, "SELECT median_step_ms, timed_samples FROM run_summaries WHERE run_id = ?");
  known.bind(run_id);
  if (known.step()) return {known.optional_real(0), known.integer(1)};
  known.reset();
  if (mode_ != OpenMode::kCreate || !run(run_id).is_completed()) return compute_summary(*database_, run_id);
  Transaction transaction(*database_);
  const RunSummary summary = store_summary(*database_, run_id);
  transaction.commit();
  return summary;
}

std::int64_t Store::complete_summaries() {
  constexpr int kSummariesAtOnce = 100;  // per transaction: other writers get their turns in between
  std::int64_t count = 0;
  std::int64_t last = 0;
  for (;;) {
    Transaction transaction(*database_);
    std::vector<std::int64_t> ids;
    {
      Statement statement(*database_,
                          "SELECT id FROM runs WHERE outcome = 'completed' AND NOT EXISTS (SELECT 1 FROM run_summaries "
                          "WHERE run_id = runs.id) AND id > ? ORDER BY id LIMIT ?");
      statement.bind(last, kSummariesAtOnce);
      while (statement.step()) ids.push_back(statement.integer(0));
    }
    for (const std::int64_t id : ids) store_summary(*database_, id);
    transaction.commit();
    if (ids.empty()) return count;
    count += static_cast<std::int64_t>(ids.size());
    last = ids.back();
  }
}

}  // namespace nanobench::results
