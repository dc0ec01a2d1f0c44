#include "reports/watch/slurm_watch.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "results/provenance.h"
#include "results/store.h"

namespace nanobench::reports {
namespace {

using results::RunGlance;
using results::Store;
using suites::GlancedRun;
using suites::GlancedStage;

bool is_same_run(const RunGlance& a, const RunGlance& b) {
  return a.started_at == b.started_at && a.owner.host == b.owner.host && a.owner.boot_id == b.owner.boot_id &&
         a.owner.pid == b.owner.pid && a.owner.pid_started == b.owner.pid_started;
}

/// Estimated from the pace of the steps so far.
std::optional<double> remaining_s(const WatchedRun& run, double at_s, double since_s) {
  if (!run.total_steps || run.step < 2) return std::nullopt;
  const auto left = static_cast<double>(*run.total_steps - run.step);
  return std::max(at_s / static_cast<double>(run.step) * left - since_s, 0.0);
}

/// For a line that is completely in the store. A failed Slurm run is final: a repetition is a queued run.
LineState stored_state(const WatchedLine& line, std::int64_t plan_id) {
  return state_of(line, plan_id, {.is_at_work = false, .position = {}});
}

}  // namespace

SlurmWatch::SlurmWatch(std::filesystem::path database, results::PlanRecord plan)
    : database_(std::move(database)), plan_(std::move(plan)) {}

std::optional<SlurmView> SlurmWatch::look(const std::vector<WatchedLine>& lines, double now_s) {
  const auto folder = suites::find_plan_folder(database_, plan_.suite, plan_.digest);
  const auto glance = folder ? suites::glance_at(*folder, plan_.digest, plan_.created_at, lines.size()) : std::nullopt;
  if (!glance) {
    followed_.clear();
    results_.clear();
    return std::nullopt;
  }
  SlurmView view{.lines = lines, .submitted_s = glance->submitted_s};
  view.slurm = {.job_ids = glance->job_ids, .queue = glance->queue, .submitter = glance->submitter};
  if (glance->submitter) view.slurm.is_submitter_alive = results::is_alive(*glance->submitter);
  for (const WatchedLine& line : lines) view.states.push_back(stored_state(line, plan_.id));
  for (const GlancedRun& run : glance->runs) {
    WatchedLine& line = view.lines[run.position];
    const bool is_stored = line.run && line.run->is_evidence();
    if (is_stored || line.position != static_cast<std::int64_t>(run.position)) continue;
    LineState& state = view.states[run.position];
    if (run.stage == GlancedStage::kQueued) state = LineState::kQueued;
    if (run.stage == GlancedStage::kStarted) {
      state = LineState::kRunning;
      view.runs.push_back(follow(run, line, now_s));
    }
    if (run.stage != GlancedStage::kResult) continue;
    followed_.erase(run.progress);
    const std::optional<RunGlance> result = result_of(run);
    if (!result || (line.run && is_same_run(*line.run, *result))) continue;
    ++view.slurm.uncollected;
    line.run = result;
    state = stored_state(line, plan_.id);
  }
  return view;
}

WatchedRun SlurmWatch::follow(const GlancedRun& run, const WatchedLine& line, double now_s) {
  WatchedRun watched{.cell = line.cell, .seed = line.seed};
  const auto [at, is_new] = followed_.try_emplace(run.progress, Followed{suites::ProgressReader(run.progress), {}, {}});
  Followed& followed = at->second;
  const bool has_grown = followed.reader.update();
  if (has_grown && followed.is_known) followed.heard_s = now_s;
  const std::optional<suites::NodeProgress>& progress = followed.reader.progress();
  if (!progress) return watched;
  followed.is_known = true;
  if (followed.heard_s) {
    watched.silent_s = std::max(now_s - *followed.heard_s, 0.0);
  } else if (const auto started_s = results::seconds_since_epoch(progress->head.started_at)) {
    watched.silent_s = std::max(now_s - *started_s - progress->at_s, 0.0);  // two clocks: nothing better is known yet
  }
  const double since_s = followed.heard_s ? *watched.silent_s : 0.0;
  watched.host = progress->head.host;
  watched.elapsed_s = progress->at_s + since_s;
  watched.step = progress->step;
  watched.total_steps = progress->head.steps;
  if (watched.total_steps && watched.step > *watched.total_steps) watched.total_steps = std::nullopt;
  watched.train_losses = progress->train_losses;
  watched.val_losses = progress->val_losses;
  watched.step_ms = progress->step_ms;
  watched.remaining_s = remaining_s(watched, progress->at_s, since_s);
  return watched;
}

/// The result as the line's run; nullopt for a file that cannot be read now, which its collector reports.
std::optional<RunGlance> SlurmWatch::result_of(const GlancedRun& run) {
  if (const auto known = results_.find(run.result); known != results_.end()) return known->second;
  try {
    const Store store(run.result, results::OpenMode::kGlance);
    const std::vector<results::RunRecord> runs = store.runs();
    if (runs.size() != 1 || runs[0].digest != plan_.lines[run.position].digest || !runs[0].result) return std::nullopt;
    std::optional<RunGlance> glance = store.glance(runs[0].id);
    if (!glance) return std::nullopt;
    glance->id = 0;
    glance->plan_id = plan_.id;
    results_[run.result] = *glance;
    return glance;
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return std::nullopt;
  }
}

RunnerState state_of_slurm(const SlurmView& view, bool is_over) {
  const auto is_heard = [](const WatchedRun& run) { return run.silent_s.value_or(0.0) < kLongNodeSilence; };
  const auto queued = std::count(view.states.begin(), view.states.end(), LineState::kQueued);
  if (std::any_of(view.runs.begin(), view.runs.end(), is_heard)) return RunnerState::kRunning;
  if (queued > 0) return RunnerState::kQueued;
  if (!view.runs.empty()) return RunnerState::kSilent;
  if (is_over && view.slurm.uncollected == 0) return RunnerState::kEnded;
  return view.slurm.is_submitter_alive.value_or(true) ? RunnerState::kBetween : RunnerState::kGone;
}

}  // namespace nanobench::reports
