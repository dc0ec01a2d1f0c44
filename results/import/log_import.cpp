#include "results/import/log_import.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/published_records.h"

namespace nanobench::results {
namespace {

using core::RunOutcome;

constexpr std::size_t kRunsAtOnce = 200;  // one flush to the disk each
constexpr std::size_t kDigestShown = 8;
constexpr const char* kScale = "as logged";

std::string place_of(const LogFile& file) {
  return file.subdir.empty() ? file.folder : file.folder + "/" + file.subdir;
}

std::int64_t steps_of(const SpeedrunRun& run) {
  return run.planned_steps.value_or(run.last_step());
}

/// A log does not record its seed. A number unique to the run keeps runs of different cells from being treated as
/// pairs.
std::uint64_t seed_of(const std::string& digest) {
  std::uint64_t seed = 0;
  std::from_chars(digest.data(), digest.data() + 8, seed, 16);
  return seed & 0x7fffffff;
}

/// The clock after this step, if printed.
std::optional<double> clock_at(const SpeedrunRun& run, std::int64_t step) {
  const auto found = std::lower_bound(run.steps.begin(), run.steps.end(), step,
                                      [](const LoggedStep& item, std::int64_t value) { return item.step < value; });
  return found == run.steps.end() || found->step != step ? std::nullopt : found->clock_ms;
}

/// Step times as the mean over the steps from one validation to the next: single steps are printed in whole
/// milliseconds, which is too coarse. The first interval is left out: it includes compilation, and the clock starts
/// later.
void add_step_times(const SpeedrunRun& run, RunBatch& batch) {
  for (std::size_t i = 1; i < run.validations.size(); ++i) {
    const LoggedValidation& from = run.validations[i - 1];
    const LoggedValidation& to = run.validations[i];
    const std::optional<double> start = from.clock_ms;
    const std::optional<double> trained = clock_at(run, to.step);
    const std::optional<double> end = trained ? trained : to.clock_ms;
    if (from.step == 0 || !start || !end || *end <= *start) continue;
    batch.samples[kStepMs].push_back({to.step, (*end - *start) / static_cast<double>(to.step - from.step)});
    batch.samples[kClockMs].push_back({to.step, *end});
  }
}

RunBatch batch_of(const LogFile& file, const SpeedrunLog& log, std::size_t index) {
  const SpeedrunRun& run = log.runs[index];
  RunBatch batch;
  for (const LoggedValidation& item : run.validations) {
    batch.samples[kValLoss].push_back({item.step, item.loss});
    if (item.clock_ms) batch.samples[kValClockMs].push_back({item.step, *item.clock_ms});
  }
  for (const LoggedStep& item : run.steps) {
    if (item.loss) batch.samples[kTrainLoss].push_back({item.step, *item.loss});
  }
  add_step_times(run, batch);
  const auto add_fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) batch.facts[name] = value;
  };
  add_fact("log/file", file.path.string());
  add_fact("log/folder", file.folder);
  add_fact("log/subdir", file.subdir);
  add_fact("log/digest", log.digest);
  add_fact("log/script_digest", log.script_digest);
  add_fact("log/gpu", log.gpu);
  if (log.gpu_count) add_fact("log/gpu_count", std::to_string(*log.gpu_count));
  add_fact("log/driver", log.driver);
  add_fact("log/torch", log.torch);
  add_fact("log/cuda", log.cuda);
  add_fact("log/python", log.python);
  if (log.runs.size() > 1) add_fact("log/run_in_file", std::to_string(index + 1));
  for (const std::string& problem : words_of(run.problems))
    batch.messages.push_back({RunMessageKind::kWarning, problem});
  for (const std::string& problem : words_of(log.problems))
    batch.messages.push_back({RunMessageKind::kWarning, problem});
  return batch;
}

/// `last`: the validation that counts as the final one.
RunResult result_of(const SpeedrunRun& run, const std::optional<LoggedValidation>& last) {
  RunResult result;
  result.steps = run.last_step();
  if (run.peak_allocated_mib) result.peak_bytes = static_cast<std::int64_t>(*run.peak_allocated_mib * 1024 * 1024);
  if (!last) {
    result.outcome = RunOutcome::kInterrupted;
    const std::optional<LogEnd> end = run.early_end();
    result.message = end                    ? "the log ends early: " + words_of(*end)
                     : run.problems.empty() ? "the log ends early"
                                            : "the log ends early: " + words_of(run.problems.front());
    return result;
  }
  const double loss = last->ema_loss.value_or(last->loss);
  result.outcome = std::isfinite(loss) ? RunOutcome::kCompleted : RunOutcome::kDiverged;
  if (result.outcome == RunOutcome::kDiverged) result.message = "the last validation loss is not finite";
  if (std::isfinite(loss)) result.final_val_loss = loss;
  if (run.clock_jumps_back()) return result;
  result.train_ms = last->clock_ms;
  // The records up to 21 do not time their first ten steps; the printed mean shows how many they do time.
  if (last->clock_ms && run.step_avg_ms && *run.step_avg_ms > 0 && *last->clock_ms / *run.step_avg_ms < 1e12)
    result.timed_steps = std::llround(*last->clock_ms / *run.step_avg_ms);
  return result;
}

std::optional<std::string> record_of(const LogFile& file) {
  const PublishedRecord* record = find_published_record(file.folder);
  if (record == nullptr || record->is_retiming) return std::nullopt;
  return "record" + std::to_string(record->number);
}

NewRun run_of(const LogFile& file, const SpeedrunLog& log, std::size_t index) {
  const SpeedrunRun& run = log.runs[index];
  NewRun item;
  item.digest = core::digest_of(std::string(kSpeedrunLogEngine) + "/1/" + log.digest + "/" + std::to_string(index));
  item.record = record_of(file);
  item.scale = kScale;
  item.seed = seed_of(item.digest);
  const core::Json config = {{"source", kSpeedrunLogEngine},
                             {"planned_steps", steps_of(run)},
                             {"script_digest", log.script_digest},
                             {"hardware", log.hardware()}};
  item.config = core::safe_dump(config);
  item.config_digest = core::digest_of(item.config);
  item.data_name = kScale;
  item.data_digest = kScale;
  item.dtype = kScale;
  item.engine = kSpeedrunLogEngine;
  item.engine_version = log.script_digest.empty() ? "no script" : log.script_digest;
  item.hardware = log.hardware();
  return item;
}

/// One contrast for each arm against the control.
std::vector<PlanContrast> contrasts_with(const std::string& control, const std::vector<PlanCell>& cells) {
  std::vector<PlanContrast> contrasts;
  for (const PlanCell& cell : cells) {
    if (cell.label == control) continue;
    contrasts.push_back({.effect = cell.label,
                         .kind = ContrastKind::kSimple,
                         .meaning = cell.label + " instead of " + control,
                         .coefficients = {{cell.label, 1.0}, {control, -1.0}},
                         .aliases = {},
                         .factors = {{.name = cell.label, .setting = "arm", .from = control, .to = cell.label}}});
  }
  return contrasts;
}

}  // namespace

void LogImport::add(const LogFile& file, const SpeedrunLog& log, std::optional<std::int64_t> step) {
  ++result_.files;
  result_.bytes += log.bytes;
  if (log.runs.empty()) {
    ++result_.other_files;
    if (log.is_log() || file.is_named) add_problem(file.path.string() + " holds no step of a training run");
    return;
  }
  for (std::size_t i = 0; i < log.runs.size(); ++i) {
    CellKey key{.place = place_of(file)};
    if (control_.empty()) {
      key.steps = steps_of(log.runs[i]);
      key.hardware = log.hardware();
      key.script = log.script.code.substr(0, kDigestShown);
    }
    cells_[key].push_back(runs_.size());
    const SpeedrunRun& run = log.runs[i];
    const std::optional<LoggedValidation> last = step ? run.validation_at(*step) : run.final_validation();
    if (!last && !step && !run.validations.empty()) at_end_[runs_.size()] = result_of(run, run.validations.back());
    runs_.push_back({.run = run_of(file, log, i), .result = result_of(run, last), .batch = batch_of(file, log, i)});
  }
}

/// Runs that all end at one step before the last planned one were meant to end there.
void LogImport::accept_common_ends() {
  for (const auto& [key, runs] : cells_) {
    const bool is_common = runs.size() > 1 && std::all_of(runs.begin(), runs.end(), [&](std::size_t run) {
                             return at_end_.count(run) > 0 && at_end_[run].steps == at_end_[runs.front()].steps;
                           });
    if (!is_common) continue;
    for (const std::size_t run : runs) runs_[run].result = at_end_[run];
  }
}

/// The place of the arm that the control names; empty without a control.
std::string LogImport::control_place() const {
  if (control_.empty()) return "";
  std::vector<std::string> places;
  std::vector<std::string> found;
  for (const auto& [key, runs] : cells_) {
    places.push_back(key.place);
    if (key.place == control_) return control_;
    if (key.place.ends_with("/" + control_)) found.push_back(key.place);
  }
  if (found.size() == 1) return found.front();
  throw core::Refusal(
      core::ErrorCode::kInvalidArgument, found.empty() ? core::Reason::kUnknownName : core::Reason::kAmbiguous,
      "--control " + control_ +
          (found.empty() ? " is none of the arms: " + joined(places) + core::suggestion(control_, places)
                         : " fits several arms: " + joined(found)),
      control_);
}

/// Chooses the shortest names that distinguish the cells of one place.
void LogImport::name_cells() {
  std::map<std::string, std::set<std::int64_t>> steps;
  std::map<std::string, std::set<std::string>> hardware;
  std::map<std::string, std::set<std::string>> scripts;
  for (const auto& [key, runs] : cells_) {
    steps[key.place].insert(key.steps);
    hardware[key.place].insert(key.hardware);
    scripts[key.place].insert(key.script);
  }
  for (const auto& [key, runs] : cells_) {
    std::string label = key.place;
    if (steps[key.place].size() > 1) label += ", " + std::to_string(key.steps) + " steps";
    if (hardware[key.place].size() > 1) label += ", " + key.hardware;
    if (scripts[key.place].size() > 1) label += ", script " + (key.script.empty() ? "none" : key.script);
    for (const std::size_t run : runs) {
      runs_[run].run.cell = label;
      runs_[run].run.suite = suite_;
    }
  }
}

std::vector<std::int64_t> LogImport::write() {
  const Owner owner = this_process();
  std::vector<std::int64_t> ids;
  for (std::size_t first = 0; first < runs_.size(); first += kRunsAtOnce) {
    const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(std::min(first + kRunsAtOnce, runs_.size()));
    const std::vector<FinishedRun> some(std::make_move_iterator(begin), std::make_move_iterator(end));
    for (const AddedRun& added : store_.add_finished_runs(some, owner)) {
      ids.push_back(added.run_id);
      ++(added.is_new ? result_.added : result_.known);
    }
    // plan_of still needs the data that names the runs.
    for (std::size_t i = 0; i < some.size(); ++i) runs_[first + i].run = some[i].run;
  }
  return ids;
}

NewPlan LogImport::plan_of(const std::vector<std::int64_t>& run_ids, const std::vector<std::string>& argv) const {
  NewPlan plan;
  plan.suite = suite_;
  plan.title = "Imported speedrun logs";
  plan.design = control_.empty() ? Design::kHistory : Design::kCells;
  plan.scale = kScale;
  plan.data_name = kScale;
  plan.argv = argv;
  core::Digest digest;
  digest.update(suite_.data(), suite_.size());
  for (const auto& [key, runs] : cells_) {
    const NewRun& first = runs_[runs.front()].run;
    plan.cells.push_back(
        {.label = first.cell,
         .record = first.record,
         .changes = {control_.empty() ? std::to_string(key.steps) + " steps on " + key.hardware +
                                            (key.script.empty() ? ", no script" : ", script " + key.script)
                                      : "arm"},
         .features = {},
         .config_digest = first.config_digest});
    for (const std::size_t run : runs) {
      const NewRun& item = runs_[run].run;
      digest.update(item.digest.data(), item.digest.size());
      plan.lines.push_back({.position = static_cast<std::int64_t>(plan.lines.size()),
                            .cell = first.cell,
                            .seed = item.seed,
                            .digest = item.digest,
                            .run_id = run_ids[run]});
    }
  }
  if (!control_.empty()) {
    const std::string control = control_place();
    digest.update(control.data(), control.size());
    std::stable_partition(plan.cells.begin(), plan.cells.end(),
                          [&](const PlanCell& cell) { return cell.label == control; });
    plan.contrasts = contrasts_with(control, plan.cells);
  }
  plan.digest = digest.hex();
  return plan;
}

LogImportResult LogImport::finish(const std::vector<std::string>& argv) {
  control_place();
  accept_common_ends();
  name_cells();
  const std::vector<std::int64_t> ids = write();
  result_.cells = cells_.size();
  if (!runs_.empty()) result_.plan_id = store_.ensure_plan(plan_of(ids, argv));
  return result_;
}

}  // namespace nanobench::results
