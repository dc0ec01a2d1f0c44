#include "reports/forecast/run_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/config/cost_model.h"
#include "core/config/schedule.h"
#include "reports/stats/summary.h"
#include "results/host_load.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "suites/run/mock_settings.h"

namespace nanobench::reports {
namespace {

using core::TrainConfig;

void add_times(core::MaskCounts& sum, const core::MaskCounts& counts, std::int64_t times) {
  sum.visited_blocks += counts.visited_blocks * times;
  sum.full_blocks += counts.full_blocks * times;
  sum.visible_pairs += counts.visible_pairs * times;
}

/// Counts summed over the steps.
core::AttentionCounts attention_of(const TrainConfig& config) {
  std::map<core::StepWindows, std::int64_t> steps_by_windows;
  for (std::int64_t step = 0; step < config.run.stop_after; ++step)
    ++steps_by_windows[core::step_windows(config.attention, config.schedule, step)];
  core::AttentionCounts sum;
  for (const auto& [windows, steps] : steps_by_windows) {
    const core::AttentionCounts counts = core::counts_without_documents(config, windows.whole, windows.half);
    add_times(sum.whole, counts.whole, steps);
    add_times(sum.half, counts.half, steps);
  }
  return sum;
}

/// nullopt for a configuration of another program or version.
std::optional<RunWork> work_in(const std::string& config) {
  try {
    return work_of(core::read_train_config(core::parse_json(config, "stored run"), "stored run"));
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return std::nullopt;
  }
}

std::optional<PastRun> past_run(const results::RunRecord& run, const results::Facts& facts) {
  const results::RunResult& result = *run.result;
  const std::optional<double> wall_s = results::used_seconds(facts, run.started_at, run.finished_at.value_or(""));
  if (!result.train_ms || !result.timed_steps || *result.timed_steps <= 0 || !(*result.train_ms > 0.0) || !wall_s)
    return std::nullopt;
  const auto pilot_of = facts.find(results::kPilotOf);
  return PastRun{.config_digest = run.config_digest,
                 .pilot_of = pilot_of == facts.end() ? "" : pilot_of->second,
                 .step_ms = *result.train_ms / static_cast<double>(*result.timed_steps),
                 .wall_s = *wall_s,
                 .peak_bytes = static_cast<double>(result.peak_bytes.value_or(0)),
                 .timed_steps = *result.timed_steps,
                 .work = std::nullopt};
}

double clock_of(double step_ms, std::int64_t timed_steps) {
  return step_ms * static_cast<double>(timed_steps) / 1000.0;
}

std::optional<double> if_positive(const std::optional<double>& value) {
  return value && *value > 0.0 ? value : std::nullopt;
}

RunCost from_same(std::span<const PastRun> runs, const std::string& config_digest) {
  std::vector<double> step_ms, clock_s, wall_s, peak_bytes;
  for (const PastRun& run : runs) {
    if (run.config_digest != config_digest) continue;
    step_ms.push_back(run.step_ms);
    clock_s.push_back(clock_of(run.step_ms, run.timed_steps));
    wall_s.push_back(run.wall_s);
    peak_bytes.push_back(run.peak_bytes);
  }
  if (step_ms.empty()) return {};
  return {.source = CostSource::kStored,
          .n = static_cast<int>(step_ms.size()),
          .step_ms = median(step_ms),
          .clock_s = median(clock_s),
          .wall_s = median(wall_s),
          .peak_bytes = if_positive(median(peak_bytes))};
}

/// Steps and validations run at each past run's FLOP/s; the rest of its time stays unchanged. Memory is the largest
/// seen, because the cost model does not count it.
RunCost from_rates(std::span<const PastRun> runs, const RunWork& work, CostSource source) {
  std::vector<double> step_ms, wall_s;
  double peak_bytes = 0.0;
  for (const PastRun& run : runs) {
    if (!run.work || !(run.work->step_flops > 0.0)) continue;
    const double ms_per_flop = run.step_ms / run.work->step_flops;
    const double rest_s = std::max(0.0, run.wall_s - run.work->run_flops * ms_per_flop / 1000.0);
    step_ms.push_back(work.step_flops * ms_per_flop);
    wall_s.push_back(work.run_flops * ms_per_flop / 1000.0 + rest_s);
    peak_bytes = std::max(peak_bytes, run.peak_bytes);
  }
  if (step_ms.empty()) return {};
  const std::optional<double> step = median(step_ms);
  return {.source = source,
          .n = static_cast<int>(step_ms.size()),
          .step_ms = step,
          .clock_s = clock_of(*step, work.timed_steps),
          .wall_s = median(wall_s),
          .peak_bytes = if_positive(peak_bytes)};
}

RunCost from_mock(const core::RunSpec& spec) {
  const suites::MockSettings settings = suites::read_mock_settings(spec.mock, spec.config, "run spec");
  double clock_ms = 0.0;
  for (std::int64_t step = settings.untimed_steps; step < settings.steps; ++step)
    clock_ms += settings.mean_step_ms(step);
  const std::int64_t timed = std::max<std::int64_t>(0, settings.steps - settings.untimed_steps);
  return {.source = CostSource::kMock,
          .n = 0,
          .step_ms = timed > 0 ? std::optional(clock_ms / static_cast<double>(timed)) : std::nullopt,
          .clock_s = clock_ms / 1000.0,
          .wall_s = settings.sleep_ms * static_cast<double>(settings.steps) / 1000.0,
          .peak_bytes = static_cast<double>(settings.peak_bytes)};
}

/// An operation is repeated for about six seconds after its set-up; under valgrind each arm takes minutes.
RunCost from_operation(const suites::Cell& cell) {
  constexpr double kRepeated = 10.0, kCounted = 240.0;
  const std::string& metric = cell.operation->metric;
  const bool is_counted = cell.is_exact && metric != "bytes";
  RunCost cost;
  cost.source = CostSource::kOperation;
  cost.wall_s = is_counted ? kCounted : kRepeated;
  return cost;
}

bool is_alike(const results::RunRecord& run, const suites::Plan& plan) {
  // Two trainers may have the same command.
  if (plan.suite.external && !suites::is_of_trainer(plan.suite.name, run.suite)) return false;
  return run.engine == plan.engine.name && run.kernels == plan.suite.kernels && run.hardware == plan.hardware &&
         run.threads == plan.threads && (run.dtype == enum_name(plan.suite.dtype) || run.dtype == "external");
}

/// The median over the plan's own runs, by cell. A cluster's run names its node's hardware, so read_history() does not
/// see that it is of the plan.
std::map<std::string, double> own_seconds(const results::Store& store, const suites::Plan& plan) {
  std::map<std::string, std::vector<double>> seconds;
  for (const suites::PlannedRun& planned : plan.runs) {
    const std::optional<std::int64_t> id = store.find_evidence(planned.digest, {.times = false});
    if (!id) continue;
    const results::RunRecord run = store.run(*id);
    const auto wall_s = results::used_seconds(store.run_facts(*id), run.started_at, run.finished_at.value_or(""));
    if (wall_s) seconds[plan.cell_of(planned).label].push_back(*wall_s);
  }
  std::map<std::string, double> medians;
  for (const auto& [label, all] : seconds) medians.emplace(label, *median(all));
  return medians;
}

}  // namespace

RunWork work_of(const TrainConfig& config) {
  const std::int64_t steps = config.run.stop_after;
  const core::StepCost cost = core::training_cost(config, attention_of(config), steps);
  const double step_tokens = static_cast<double>(config.data.tokens_until(steps)) / static_cast<double>(steps);
  const auto val_tokens = static_cast<double>(config.data.val_sequences * config.data.val_length());
  const std::int64_t between = (steps - 1) / config.run.val_every;
  const auto validations = static_cast<double>(between + 2);  // and at step 0 and the end
  const double forward_flops = cost.of(core::CostPhase::kForward).flops / static_cast<double>(steps);
  return {.steps = steps,
          .timed_steps = std::max<std::int64_t>(0, steps - config.run.untimed_steps),
          .step_flops = cost.total().flops / static_cast<double>(steps),
          .run_flops = cost.total().flops + validations * forward_flops * val_tokens / step_tokens};
}

std::string source_text(const RunCost& cost) {
  const std::string runs = counted(cost.n, "stored run");
  switch (cost.source) {
    case CostSource::kStored: return runs + " of this configuration";
    case CostSource::kPilot: return "the first steps of this configuration, by FLOPs";
    case CostSource::kFlops: return runs + " of this scale, by FLOPs";
    case CostSource::kCalibration: return "a calibration run of a few steps, by FLOPs";
    case CostSource::kOperation: return "the time limit of an operation";
    case CostSource::kMock: return "the mock engine's settings";
    case CostSource::kUnknown: break;
  }
  return "unknown";
}

std::vector<PastRun> read_history(const results::Store& store, const suites::Plan& plan) {
  std::vector<PastRun> history;
  std::map<std::string, std::optional<RunWork>> works;  // by configuration
  const results::RunFilter filter{.scale = plan.suite.scale, .outcome = core::RunOutcome::kCompleted};
  for (const results::RunRecord& run : store.runs(filter)) {
    if (!is_alike(run, plan)) continue;
    std::optional<PastRun> past = past_run(run, store.run_facts(run.id));
    if (!past) continue;
    const auto [work, is_new] = works.try_emplace(run.config_digest);
    if (is_new) work->second = work_in(run.config);
    past->work = work->second;
    history.push_back(std::move(*past));
  }
  return history;
}

std::map<std::string, double> expected_seconds(const results::Store& store, const suites::Plan& plan) {
  const std::vector<PastRun> history = read_history(store, plan);
  std::map<std::string, double> seconds;
  for (const suites::PlannedRun& run : plan.runs) {
    const std::string& label = plan.cell_of(run).label;
    if (seconds.contains(label)) continue;
    if (const auto wall_s = estimate_cost(plan, run, history, std::nullopt).wall_s) seconds.emplace(label, *wall_s);
  }
  if (seconds.size() < plan.matrix.cells.size()) seconds.merge(own_seconds(store, plan));
  return seconds;
}

std::optional<double> seed_seconds(const results::Store& store, const suites::Plan& plan) {
  const std::map<std::string, double> seconds = expected_seconds(store, plan);
  if (seconds.size() < plan.matrix.cells.size()) return std::nullopt;
  double sum = 0.0;
  for (const auto& [cell, each] : seconds) sum += each;
  return sum;
}

std::string price_text(const std::optional<double>& seconds, const std::string& word) {
  return seconds ? word + " " + format_duration(*seconds) + "; " : "";
}

namespace {

std::optional<double> suite_seconds(const results::Store& store, const suites::Suite& suite,
                                    const suites::Matrix& matrix) {
  const suites::Engine engine{.command = {}, .name = "nanobench-train", .version = ""};
  const suites::Plan plan = suites::make_plan(suite, matrix, {}, engine, results::machine_info());
  const std::map<std::string, double> seconds = expected_seconds(store, plan);
  double sum = 0.0;
  for (const suites::PlannedRun& run : plan.runs) {
    const auto known = seconds.find(plan.cell_of(run).label);
    if (known == seconds.end()) return std::nullopt;
    sum += known->second;
  }
  return sum;
}

}  // namespace

std::string suite_price(const results::Store* store, const suites::Suite& suite, const suites::Matrix& matrix) {
  if (store == nullptr || suite.external || suite.device.is_gpu) return "";
  try {
    return price_text(suite_seconds(*store, suite, matrix), "up to");
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return "";
  }
}

RunCost estimate_cost(const suites::Plan& plan, const suites::PlannedRun& run, std::span<const PastRun> history,
                      const std::optional<PastRun>& calibration) {
  if (!run.spec.mock.is_null()) return from_mock(run.spec);
  const suites::Cell& cell = plan.cell_of(run);
  const RunCost same = from_same(history, suites::config_digest(cell));
  if (same.source != CostSource::kUnknown || !cell.external.is_null()) return same;
  if (cell.operation) return from_operation(cell);
  const RunWork work = work_of(cell.config);
  std::vector<PastRun> pilots;
  std::copy_if(history.begin(), history.end(), std::back_inserter(pilots),
               [&](const PastRun& past) { return past.pilot_of == suites::config_digest(cell); });
  if (const RunCost by_pilot = from_rates(pilots, work, CostSource::kPilot); by_pilot.source != CostSource::kUnknown)
    return by_pilot;
  const RunCost by_rate = from_rates(history, work, CostSource::kFlops);
  if (by_rate.source != CostSource::kUnknown || !calibration) return by_rate;
  return from_rates(std::span(&*calibration, 1), work, CostSource::kCalibration);
}

}  // namespace nanobench::reports
