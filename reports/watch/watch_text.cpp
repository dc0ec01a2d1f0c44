#include "reports/watch/watch_text.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

std::string process_text(const results::Owner& owner) {
  return "process " + std::to_string(owner.pid) + " on " + owner.host;
}

std::string ago(const std::optional<double>& seconds) {
  return seconds ? format_duration(*seconds) + " ago" : "at an unknown time";
}

std::string continues(const WatchedRunner& runner) {
  return runner.command.empty() ? "" : "; `" + runner.command + "` continues it";
}

/// "process 5 on box works on plan 7 now". REQUIRES other_owner.
std::string working_text(const WatchedRunner& runner) {
  const std::string plan = runner.other_plan ? "plan " + std::to_string(*runner.other_plan) : "another run";
  return process_text(*runner.other_owner) + " works on " + plan + " now";
}

/// The same as an additional clause, if a live process is working on something else.
std::string other_text(const WatchedRunner& runner) {
  return runner.other_owner ? "; " + working_text(runner) : "";
}

/// One process may run two plans alternately.
std::string between_text(const WatchedRunner& runner) {
  const bool is_same = runner.owner && runner.other_owner && runner.owner->pid == runner.other_owner->pid &&
                       runner.owner->host == runner.other_owner->host;
  const std::string other = other_text(runner);
  if (is_same) return working_text(runner);
  return (runner.owner ? process_text(*runner.owner) : "its process") + other;
}

/// " on nano1 and nano2"; only the first few of many.
std::string hosts_text(const std::vector<WatchedRun>& runs) {
  constexpr std::size_t kMaxHosts = 3;
  std::set<std::string> hosts;
  for (const WatchedRun& run : runs) {
    if (!run.host.empty()) hosts.insert(run.host);
  }
  if (hosts.empty()) return "";
  const std::vector<std::string> names(hosts.begin(), hosts.end());
  return " on " + (names.size() > kMaxHosts ? listed_first(names, kMaxHosts) : listed(names));
}

/// "; process 5 on box collects the results"
std::string collector_text(const WatchState& state) {
  const WatchedSlurm& slurm = *state.slurm;
  const std::string waiting = slurm.uncollected == 0 ? "" : counted(slurm.uncollected, "result") + " of ended runs";
  if (!slurm.is_submitter_alive.value_or(true) || !slurm.submitter) {
    const std::string what = waiting.empty() ? "results" : waiting;
    const std::string words = state.runner.command.empty() ? "the same command" : "`" + state.runner.command + "`";
    return "; no program collects " + what + " now; " + words + " collects them";
  }
  return "; " + process_text(*slurm.submitter) + " collects " + (waiting.empty() ? "the results" : waiting);
}

/// "; Slurm job 12: 1 task running, 2 waiting (Priority)". The answer that a dead process received is out of date.
std::string queue_text(const WatchedSlurm& slurm) {
  if (slurm.job_ids.empty()) return "";
  const std::string text = "; Slurm job " + joined(slurm.job_ids, " and ");
  return slurm.queue.empty() || !slurm.is_submitter_alive.value_or(true) ? text : text + ": " + slurm.queue;
}

std::string slurm_text(const WatchState& state) {
  const std::string rest = queue_text(*state.slurm) + collector_text(state);
  switch (state.runner.state) {
    case RunnerState::kRunning:
      return "running: " + counted(static_cast<std::int64_t>(state.node_runs.size()), "run") +
             hosts_text(state.node_runs) + ", last heard " + ago(state.runner.silent_s) + rest;
    case RunnerState::kQueued: return "queued: no run has begun" + rest;
    case RunnerState::kSilent:
      return "apparently not running:" + hosts_text(state.node_runs) + " was last heard " + ago(state.runner.silent_s) +
             rest;
    case RunnerState::kEnded: return "ended" + rest;
    default: return "no run is on a node or in the queue" + rest;
  }
}

}  // namespace

std::string plan_text(const WatchState& state) {
  return state.suite + " at scale " + state.scale + " on " + state.data_name + ", plan " +
         std::to_string(state.plan_id);
}

std::string runner_text(const WatchState& state) {
  if (state.slurm) return slurm_text(state);
  const WatchedRunner& runner = state.runner;
  const std::string process = runner.owner ? process_text(*runner.owner) : "its process";
  switch (runner.state) {
    case RunnerState::kRunning: return "running: " + process + ", last heard " + ago(runner.silent_s);
    case RunnerState::kBetween:
    case RunnerState::kQueued: return "between runs: " + between_text(runner);
    case RunnerState::kStopped: return "stopped " + ago(runner.silent_s) + continues(runner) + other_text(runner);
    case RunnerState::kGone:
      return "not running: " + process + " is gone, last seen " + ago(runner.silent_s) + continues(runner);
    case RunnerState::kSilent:
      return "apparently not running: " + process + " was last seen " + ago(runner.silent_s) + continues(runner);
    case RunnerState::kEnded:
      if (!runner.owner) return "nothing to run: every run is stored already";
      return "ended " + ago(runner.silent_s) +
             (state.lines.failed > 0 ? "; `" + runner.command + "` repeats the failed runs" : "");
    case RunnerState::kNotBegun: return "no run has begun" + other_text(runner);
  }
  return "";
}

std::string text_of(const WatchedEnd& end) {
  return "seed " + std::to_string(end.seed) + " " + enum_name(end.outcome) +
         (end.message.empty() ? "" : ": " + end.message) +
         (end.others == 0 ? "" : " (and " + std::to_string(end.others) + " more)");
}

std::string text_of(const WatchWarning& warning) {
  const std::string replicate = warning.cell + " seed " + std::to_string(warning.seed);
  const std::string run = "run " + std::to_string(warning.run_id);
  const std::string name = warning.run_id == 0 ? replicate : run + " (" + replicate + ")";
  switch (warning.kind) {
    case WatchWarning::Kind::kEnded:
      return name + " " + enum_name(warning.outcome) + (warning.message.empty() ? "" : ": " + warning.message);
    case WatchWarning::Kind::kDisturbed: return name + " was disturbed, its times are doubtful: " + warning.message;
    case WatchWarning::Kind::kSilent:
      return replicate + ": no report from " + (warning.host.empty() ? "its node" : warning.host) + " for " +
             format_duration(warning.silent_s);
    case WatchWarning::Kind::kEngine: break;
  }
  return run + " warns: " + warning.message;
}

std::string counts_text(const LineCounts& lines) {
  return std::to_string(lines.trained + lines.reused + lines.failed) + " of " + counted(lines.all, "run");
}

std::string parts_text(const LineCounts& lines) {
  std::vector<std::string> parts;
  const auto add = [&](int count, const char* what) {
    if (count > 0) parts.push_back(std::to_string(count) + " " + what);
  };
  add(lines.trained, "trained");
  add(lines.reused, "reused");
  add(lines.failed, "failed");
  add(lines.running, "running");
  add(lines.queued, "queued");
  add(lines.to_do, "to do");
  return joined(parts);
}

double done_fraction(const WatchState& state) {
  const LineCounts& lines = state.lines;
  if (lines.all == 0) return 0.0;
  double ended = lines.trained + lines.reused + lines.failed;
  const auto add_run = [&](const WatchedRun& run) {
    if (run.total_steps && *run.total_steps > 0)
      ended += static_cast<double>(run.step) / static_cast<double>(*run.total_steps);
  };
  if (state.run) add_run(*state.run);
  for (const WatchedRun& run : state.node_runs) add_run(run);
  return std::clamp(ended / lines.all, 0.0, 1.0);
}

std::string machine_text(const WatchedMachine& machine) {
  std::vector<std::string> parts;
  if (machine.load_1m)
    parts.push_back("load " + format_fixed(*machine.load_1m, 1) + " on " + counted(machine.processors, "processor"));
  if (machine.busy_share) parts.push_back(format_percent(*machine.busy_share, 0) + " busy");
  if (machine.steal_share) parts.push_back(format_percent(*machine.steal_share, 1) + " stolen");
  if (machine.available_bytes && machine.total_bytes)
    parts.push_back(format_bytes(*machine.available_bytes) + " of " + format_bytes(*machine.total_bytes) +
                    " memory free");
  return joined(parts);
}

}  // namespace nanobench::reports
