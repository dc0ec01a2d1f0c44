#include "reports/comparison/comparison.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/remarks.h"
#include "reports/comparison/settled_clocks.h"
#include "results/host_load.h"
#include "results/import/log_import.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

using core::RunOutcome;
using results::RunRecord;

/// The samples that a run's measure is computed from; ascending steps.
struct MeasuredSamples {
  results::RunSummary summary;
  std::optional<double> mean_step_ms;  ///< for a run without a count of timed steps
  std::vector<results::Sample> val_loss;
  std::vector<results::Sample> val_clock_ms;
  std::optional<double> training_bytes;
};

/// The value at `step`, searched from `at` on; callers ask for ascending steps.
std::optional<double> value_at(const std::vector<results::Sample>& samples, std::int64_t step, std::size_t& at) {
  while (at < samples.size() && samples[at].step < step) ++at;
  if (at == samples.size() || samples[at].step != step) return std::nullopt;
  return samples[at].value;
}

std::vector<CurvePoint> curve_of(const MeasuredSamples& samples) {
  std::vector<CurvePoint> curve;
  std::size_t at = 0;
  for (const results::Sample& sample : samples.val_loss) {
    CurvePoint point{.clock_s = std::nullopt, .loss = sample.value, .step = sample.step};
    const std::optional<double> clock_ms = value_at(samples.val_clock_ms, sample.step, at);
    if (clock_ms && std::isfinite(*clock_ms)) point.clock_s = *clock_ms / 1000.0;
    curve.push_back(point);
  }
  return curve;
}

/// Read from the stored configuration; nullopt for another program's.
std::optional<double> tokens_per_step(const std::string& config) {
  const core::Json json = core::json_or_null(config);
  if (!json.is_object()) return std::nullopt;
  const auto data = json.find("data");
  if (data == json.end() || !data->is_object()) return std::nullopt;
  const auto length = data->find("sequence_length");
  const auto sequences = data->find("sequences_per_step");
  if (length == data->end() || sequences == data->end() || !length->is_number() || !sequences->is_number()) {
    return std::nullopt;
  }
  return length->get<double>() * sequences->get<double>();
}

/// The values of the completed runs, by seed.
template <class Get>
BySeed by_seed(const CellMeasures& cell, Get get) {
  BySeed values;
  for (const RunMeasure& run : cell.runs) {
    const std::optional<double> value = get(run);
    if (run.run.is_completed() && value && std::isfinite(*value)) values[run.run.seed] = *value;
  }
  return values;
}

/// Seconds to the target, if every completed run reached it.
BySeed target_seconds(const CellMeasures& cell, double target) {
  BySeed seconds;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed()) continue;
    const TimeToTarget time = time_to_target(run.curve, target);
    if (!time.is_reached()) return {};
    seconds[run.run.seed] = time.seconds;
  }
  return seconds;
}

TargetTimes target_times(const CellMeasures& cell, const std::optional<double>& target) {
  TargetTimes times;
  if (!target) return times;
  std::vector<double> seconds;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed()) continue;
    ++times.completed;
    const TimeToTarget time = time_to_target(run.curve, *target);
    times.has_curve = times.has_curve || time.status != TimeToTarget::Status::kNoCurve;
    if (time.status == TimeToTarget::Status::kBeforeClock) ++times.before_clock;
    if (time.is_reached()) seconds.push_back(time.seconds);
  }
  times.reached = static_cast<int>(seconds.size());
  times.seconds = summarise(seconds);
  return times;
}

/// The title of the cell's record, or the first of its changes.
std::string title_of(const CellMeasures& cell, bool is_first) {
  constexpr std::size_t kTitleColumns = 60;
  const std::vector<std::string>& changes = cell.cell.changes;
  const bool is_record = cell.cell.record == cell.cell.label;
  if (is_record && !is_first && !cell.published.title.empty()) return cell.published.title;
  return changes.empty() ? "" : shortened(changes.front(), kTitleColumns);
}

Comparison row_of(const CellMeasures& cell, const std::optional<double>& target) {
  Comparison row;
  row.label = cell.cell.label;
  row.record = cell.cell.record;
  row.changed = results::changes_text(cell.cell.changes);
  row.val_loss = summarise(val_losses(cell));
  row.step_ms = summarise(step_times(cell));
  row.clock_ms = summarise(clocks(cell));
  row.mean_step_ms = summarise(by_seed(cell, [](const RunMeasure& run) { return run.mean_step_ms; }));
  row.median_step_ms = summarise(by_seed(cell, [](const RunMeasure& run) { return run.median_step_ms; }));
  row.tokens_per_s = summarise(by_seed(cell, [](const RunMeasure& run) { return run.tokens_per_s; }));
  row.peak_bytes = summarise(by_seed(cell, [](const RunMeasure& run) { return run.peak_bytes; }));
  row.training_bytes = summarise(training_memories(cell));
  row.to_target = target_times(cell, target);
  row.outliers = outliers_of(cell);
  row.published_step_ms = cell.step_ms;
  row.published_train_s = cell.published.train_seconds;
  row.link = cell.published.link;
  row.planned = cell.planned;
  for (const RunMeasure& run : cell.runs) {
    if (run.run.is_completed()) {
      ++row.completed;
    } else if (run.run.result && run.run.result->outcome != RunOutcome::kInterrupted) {
      ++row.failed;
    }
  }
  row.failures = failed_runs(cell);
  row.unfinished = std::max(0, row.planned - row.completed - row.failed);
  return row;
}

/// Index of the row that `index` is compared with: the nearest earlier one (or the first) that has a completed run.
std::optional<std::size_t> reference_of(const std::vector<Comparison>& rows, std::size_t index, bool is_ladder) {
  if (!is_ladder) return index > 0 && rows.front().completed > 0 ? std::optional<std::size_t>(0) : std::nullopt;
  for (std::size_t earlier = index; earlier > 0; --earlier) {
    if (rows[earlier - 1].completed > 0) return earlier - 1;
  }
  return std::nullopt;
}

/// Whether all completed runs of both were made on one GPU and driver, or on none.
bool share_gpu(const CellMeasures& a, const CellMeasures& b) {
  std::set<std::string> gpus;
  for (const CellMeasures* cell : {&a, &b}) {
    for (const RunMeasure& run : cell->runs) {
      if (run.run.is_completed()) gpus.insert(run.run.gpu);
    }
  }
  return gpus.size() <= 1;
}

const RunMeasure* timed_run(const CellMeasures& cell, std::uint64_t seed) {
  for (const RunMeasure& run : cell.runs) {
    if (run.run.seed == seed && run.run.is_completed() && run.step_ms) return &run;
  }
  return nullptr;
}

bool is_of_one_machine(const std::vector<const CellMeasures*>& cells) {
  const RunMeasure* first = nullptr;
  for (const CellMeasures* cell : cells) {
    for (const RunMeasure& run : cell->runs) {
      if (!run.run.is_completed() || !run.step_ms) continue;
      if (first == nullptr) first = &run;
      if (!share_machine(*first, run)) return false;
    }
  }
  return true;
}

/// The effect of times of two cells. For runs on several machines, only pairs from one machine count.
template <class EffectOf>
std::optional<Effect> effect_within_machines(const CellMeasures& cell, const CellMeasures& reference,
                                             const BySeed& times, const BySeed& base_times, EffectOf effect_of) {
  if (is_of_one_machine({&cell, &reference})) return effect_of(times, base_times);
  BySeed values;
  BySeed bases;
  for (const auto& [seed, time] : times) {
    const RunMeasure* const run = timed_run(cell, seed);
    const RunMeasure* const base = timed_run(reference, seed);
    const auto base_time = base_times.find(seed);
    if (run == nullptr || base == nullptr || base_time == base_times.end() || !share_machine(*run, *base)) continue;
    values[seed] = time;
    bases[seed] = base_time->second;
  }
  return values.empty() ? std::nullopt : effect_of(values, bases);
}

void add_time_effects(Comparison& row, const CellMeasures& cell, const CellMeasures& reference,
                      const std::optional<double>& target) {
  row.step_speed_up = effect_within_machines(cell, reference, step_times(cell), step_times(reference), speed_up);
  if (!target) return;
  row.to_target_change = effect_within_machines(cell, reference, target_seconds(cell, *target),
                                                target_seconds(reference, *target), difference);
}

/// Every row with times has them for the same seeds, each on the same machine as in the other rows.
bool is_balanced(const std::vector<CellMeasures>& cells) {
  const CellMeasures* first = nullptr;
  for (const CellMeasures& cell : cells) {
    const BySeed times = step_times(cell);
    if (times.empty()) continue;
    if (first == nullptr) first = &cell;
    if (times.size() != step_times(*first).size()) return false;
    for (const auto& [seed, time] : times) {
      const RunMeasure* const other = timed_run(*first, seed);
      if (other == nullptr || !share_machine(*timed_run(cell, seed), *other)) return false;
    }
  }
  return true;
}

bool has_one_yardstick(const std::vector<CellMeasures>& cells) {
  std::vector<const CellMeasures*> all;
  for (const CellMeasures& cell : cells) all.push_back(&cell);
  return is_of_one_machine(all) || is_balanced(cells);
}

void add_effects(ComparisonTable& table, const std::vector<CellMeasures>& cells, bool is_ladder) {
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::optional<std::size_t> at = reference_of(table.rows, i, is_ladder);
    if (!at) continue;
    Comparison& row = table.rows[i];
    const Comparison& reference = table.rows[*at];
    row.reference = reference.label;
    row.val_loss_change = difference(val_losses(cells[i]), val_losses(cells[*at]));
    if (share_gpu(cells[i], cells[*at])) {
      add_time_effects(row, cells[i], cells[*at], table.target);
    } else {
      table.notes.push_back({.kind = RemarkKind::kOtherGpus, .rows = {row.label, reference.label}});
    }
    if (row.published_step_ms && reference.published_step_ms && row.record != reference.record) {
      row.published_speed_up = *reference.published_step_ms / *row.published_step_ms;
    }
    if (is_ladder && *at + 1 != i && row.completed > 0)
      table.notes.push_back(
          {.kind = RemarkKind::kSkippedRow, .rows = {row.label, reference.label, table.rows[i - 1].label}});
    if (row.val_loss_change && !row.val_loss_change->is_paired)
      table.notes.push_back({.kind = RemarkKind::kNoSharedSeed, .rows = {row.label, reference.label}});
  }
}

/// Whether the cells hold imported speedrun logs and nothing else.
bool are_logs(const std::vector<CellMeasures>& cells) {
  bool has_runs = false;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      if (run.run.engine != results::kSpeedrunLogEngine) return false;
      has_runs = true;
    }
  }
  return has_runs;
}

void set_target(ComparisonTable& table, const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                const ComparisonOptions& options) {
  if (options.target || plan.target) {
    table.target = options.target ? options.target : plan.target;
    table.target_source = {.kind = options.target ? TargetSource::Kind::kOption : TargetSource::Kind::kSuite};
    return;
  }
  if (are_logs(cells)) {
    table.target = results::kSpeedrunTarget;
    table.target_source = {.kind = TargetSource::Kind::kSpeedrun};
    return;
  }
  if (cells.empty()) return;
  const Summary first = summarise(val_losses(cells.front()));
  if (!first.mean) return;
  table.target = first.mean;
  table.target_source = {.kind = TargetSource::Kind::kFirstRow, .row = cells.front().cell.label, .runs = first.n};
}

RunMeasure measure(const RunRecord& run, const MeasuredSamples& samples, const std::optional<double>& step_tokens) {
  RunMeasure measure;
  measure.run = run;
  measure.step_tokens = step_tokens;
  measure.lowest_val_loss = std::numeric_limits<double>::infinity();
  measure.curve = curve_of(samples);
  for (const CurvePoint& point : measure.curve) measure.lowest_val_loss = std::min(measure.lowest_val_loss, point.loss);
  if (!run.is_completed()) return measure;
  const results::RunResult& result = *run.result;
  measure.val_loss = result.final_val_loss;
  measure.median_step_ms = samples.summary.median_step_ms;
  measure.clock_samples = samples.summary.timed_samples;
  measure.step_ms = samples.mean_step_ms;
  if (result.peak_bytes && *result.peak_bytes > 0) measure.peak_bytes = static_cast<double>(*result.peak_bytes);
  measure.training_bytes = samples.training_bytes;
  if (!result.train_ms || !std::isfinite(*result.train_ms) || !(*result.train_ms > 0.0)) return measure;
  measure.raw_clock_ms = result.train_ms;
  measure.mean_step_ms = result.mean_step_ms();
  set_clock(measure, *result.train_ms);
  return measure;
}

/// Absent for runs of engines that do not report it.
std::optional<double> training_bytes_of(const results::Store& store, const RunRecord& run) {
  const std::vector<results::Sample> samples = store.samples(run.id, results::kTrainingBytes);
  if (samples.empty() || !(samples.front().value > 0.0)) return std::nullopt;
  return samples.front().value;
}

MeasuredSamples read_samples(const results::Store& store, const RunRecord& run) {
  if (!run.is_completed()) return {};
  return {.summary = store.summary(run.id),
          .mean_step_ms = run.result->mean_step_ms() ? std::nullopt : sampled_step_ms(store, run.id),
          .val_loss = store.samples(run.id, results::kValLoss),
          .val_clock_ms = store.samples(run.id, results::kValClockMs),
          .training_bytes = training_bytes_of(store, run)};
}

void add_facts(RunMeasure& measure, const results::Facts& facts) {
  measure.was_beside_others = facts.contains(results::kJobProcessors);
  measure.has_engine_without_turns = facts.contains(results::kWithoutTurns);
  measure.disturbance = results::disturbance(facts, measure.run.threads);
}

}  // namespace

RunMeasure measure_run(const results::Store& store, const RunRecord& run) {
  MeasuredSamples samples = read_samples(store, run);
  if (!run.is_completed()) {  // its page shows the curve so far
    samples.val_loss = store.samples(run.id, results::kValLoss);
    samples.val_clock_ms = store.samples(run.id, results::kValClockMs);
  }
  RunMeasure result = measure(run, samples, tokens_per_step(run.config));
  add_facts(result, store.run_facts(run.id));
  return result;
}

const RunMeasure* completed_run(const CellMeasures& cell, std::uint64_t seed) {
  for (const RunMeasure& run : cell.runs) {
    if (run.run.seed == seed && run.run.is_completed()) return &run;
  }
  return nullptr;
}

bool share_machine(const RunMeasure& a, const RunMeasure& b) {
  return a.run.hardware == b.run.hardware && a.run.place() == b.run.place() && a.run.threads == b.run.threads;
}

std::optional<Effect> time_ratio(const CellMeasures& cell, const CellMeasures& reference, const BySeed& times,
                                 const BySeed& base_times) {
  return effect_within_machines(cell, reference, times, base_times,
                                [](const BySeed& values, const BySeed& bases) { return speed_up(bases, values); });
}

BySeed val_losses(const CellMeasures& cell) {
  return by_seed(cell, [](const RunMeasure& run) { return run.val_loss; });
}
BySeed step_times(const CellMeasures& cell) {
  return by_seed(cell, [](const RunMeasure& run) { return run.step_ms; });
}
BySeed clocks(const CellMeasures& cell) {
  return by_seed(cell, [](const RunMeasure& run) { return run.clock_ms; });
}

BySeed training_memories(const CellMeasures& cell) {
  return by_seed(cell, [](const RunMeasure& run) { return run.training_bytes; });
}

std::map<std::string, double> published_step_ms(const ablations::Catalogue& catalogue) {
  std::map<std::string, double> published;
  for (const ablations::Record* record : catalogue.records()) {
    if (record->published.step_avg_ms) published[record->id] = *record->published.step_avg_ms;
  }
  return published;
}

namespace {

/// The address of a record's logs, from "modded-nanogpt, records/track_1_short/2024-12-17_SparsifyEmbeds". A source of
/// another form has none.
std::string address_of(const std::string& source) {
  constexpr std::string_view kRepository = "modded-nanogpt, ";
  constexpr std::string_view kFolder = "records/";
  if (!source.starts_with(kRepository)) return "";
  const std::string path = source.substr(kRepository.size());
  const bool is_plain = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/_-.").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!is_plain || !path.starts_with(kFolder) || path.find("..") != std::string::npos) return "";
  return "https://github.com/KellerJordan/modded-nanogpt/tree/master/" + path;
}

}  // namespace

std::map<std::string, RecordFacts> record_facts(const ablations::Catalogue& catalogue) {
  std::map<std::string, RecordFacts> records;
  for (const ablations::Record* record : catalogue.records()) {
    const ablations::PublishedFigures& published = record->published;
    records[record->id] = {.title = record->title,
                           .link = address_of(published.source),
                           .train_seconds = published.is_of_another_script ? std::nullopt : published.train_seconds};
  }
  return records;
}

namespace {

/// With clocks as they were measured.
std::vector<CellMeasures> measured_cells(const results::Store& store, const results::PlanRecord& plan,
                                         const ComparisonOptions& options) {
  std::vector<CellMeasures> cells;
  std::map<std::string, std::size_t> index;
  for (const results::PlanCell& cell : plan.cells) {
    index[cell.label] = cells.size();
    cells.emplace_back().cell = cell;
    const auto published = options.published_step_ms.find(cell.record.value_or(""));
    if (published != options.published_step_ms.end() && cell.features.empty()) {
      cells.back().step_ms = published->second;
    }
    const auto record = options.records.find(cell.record.value_or(""));
    if (record != options.records.end() && cell.features.empty()) cells.back().published = record->second;
  }
  std::map<std::string, std::optional<double>> step_tokens;  // by configuration, which a cell's replicates share
  for (const results::PlanLine& line : plan.lines) {
    const auto found = index.find(line.cell);
    if (found == index.end()) continue;
    CellMeasures& cell = cells[found->second];
    ++cell.planned;
    if (!line.run_id) continue;
    const RunRecord run = store.run(*line.run_id);
    const auto [tokens, is_new] = step_tokens.try_emplace(run.config_digest);
    if (is_new) tokens->second = tokens_per_step(run.config);
    cell.runs.push_back(measure(run, read_samples(store, run), tokens->second));
    add_facts(cell.runs.back(), store.run_facts(run.id));
  }
  for (CellMeasures& cell : cells) {
    std::sort(cell.runs.begin(), cell.runs.end(),
              [](const RunMeasure& a, const RunMeasure& b) { return a.run.seed < b.run.seed; });
  }
  return cells;
}

/// Unless that would take too long.
void settle(const results::Store& store, std::vector<std::vector<CellMeasures>>& plans) {
  std::int64_t samples = 0;
  std::vector<std::vector<RunMeasure>*> runs;
  for (std::vector<CellMeasures>& cells : plans) {
    samples += clock_samples_of(cells);
    for (CellMeasures& cell : cells) runs.push_back(&cell.runs);
  }
  if (samples <= kMaxClockSamples) settle_clocks(store, runs);
}

}  // namespace

std::vector<CellMeasures> read_cells(const results::Store& store, const results::PlanRecord& plan,
                                     const ComparisonOptions& options) {
  std::vector<std::vector<CellMeasures>> plans = {measured_cells(store, plan, options)};
  settle(store, plans);
  return std::move(plans.front());
}

std::vector<std::vector<CellMeasures>> read_cells_together(const results::Store& store,
                                                           const std::vector<results::PlanRecord>& plans) {
  std::vector<std::vector<CellMeasures>> cells;
  for (const results::PlanRecord& plan : plans) cells.push_back(measured_cells(store, plan, {}));
  settle(store, cells);
  return cells;
}

ComparisonTable compare(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                        const ComparisonOptions& options) {
  ComparisonTable table;
  set_target(table, plan, cells, options);
  for (const CellMeasures& cell : cells) table.rows.push_back(row_of(cell, table.target));
  for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].title = title_of(cells[i], i == 0);
  add_effects(table, cells, plan.design == results::Design::kHistory);
  table.has_one_yardstick = has_one_yardstick(cells);
  add_run_remarks(table, cells);
  return table;
}

}  // namespace nanobench::reports
