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

/// What a living process does instead, if there is one.
std::string other_text(const WatchedRunner& runner) {
  if (!runner.other_owner) return "";
  const std::string plan = runner.other_plan ? "plan " + std::to_string(*runner.other_plan) : "another run";
  return "; " + process_text(*runner.other_owner) + " works on " + plan + " now";
}

/// One process may run two plans in turn.
std::string between_text(const WatchedRunner& runner) {
  const bool is_same = runner.owner && runner.other_owner && runner.owner->pid == runner.other_owner->pid &&
                       runner.owner->host == runner.other_owner->host;
  const std::string other = other_text(runner);
  if (is_same) return other.substr(2);
  return (runner.owner ? process_text(*runner.owner) : "its process") + other;
}

std::string counted(std::size_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

/// " on nano1 and nano2"; of many, the first ones.
std::string hosts_text(const std::vector<WatchedRun>& runs) {
  constexpr std::size_t kMostHosts = 3;
  std::set<std::string> hosts;
  for (const WatchedRun& run : runs) {
    if (!run.host.empty()) hosts.insert(run.host);
  }
  std::string text;
  std::size_t at = 0;
  for (const std::string& host : hosts) {
    if (++at > kMostHosts) return text + " and " + std::to_string(hosts.size() - kMostHosts) + " more";
    text += (at == 1 ? " on " : at == hosts.size() ? " and " : ", ") + host;
  }
  return text;
}

/// "; process 5 on box collects the results"
std::string collector_text(const WatchState& state) {
  const WatchedSlurm& slurm = *state.slurm;
  const std::string waiting =
      slurm.uncollected == 0 ? "" : counted(static_cast<std::size_t>(slurm.uncollected), "result") + " of ended runs";
  if (!slurm.is_submitter_alive.value_or(true) || !slurm.submitter) {
    const std::string what = waiting.empty() ? "results" : waiting;
    const std::string words = state.runner.command.empty() ? "the same command" : "`" + state.runner.command + "`";
    return "; nobody collects " + what + " now: " + words + " does";
  }
  return "; " + process_text(*slurm.submitter) + " collects " + (waiting.empty() ? "the results" : waiting);
}

/// "; Slurm job 12: 1 task running, 2 waiting (Priority)". What was said to a process that is gone is old.
std::string queue_text(const WatchedSlurm& slurm) {
  std::string text;
  for (const std::string& id : slurm.job_ids) text += (text.empty() ? "; Slurm job " : " and ") + id;
  if (text.empty() || slurm.queue.empty() || !slurm.is_submitter_alive.value_or(true)) return text;
  return text + ": " + slurm.queue;
}

std::string slurm_text(const WatchState& state) {
  const std::string rest = queue_text(*state.slurm) + collector_text(state);
  switch (state.runner.state) {
    case RunnerState::kRunning:
      return "running: " + counted(state.node_runs.size(), "run") + hosts_text(state.node_runs) + ", heard of " +
             ago(state.runner.silent_s) + rest;
    case RunnerState::kQueued: return "queued: no run is heard of" + rest;
    case RunnerState::kSilent:
      return "not running, as far as can be told:" + hosts_text(state.node_runs) + " was last heard of " +
             ago(state.runner.silent_s) + rest;
    case RunnerState::kEnded: return "ended" + rest;
    default: return "no run is on a node or in the queue" + rest;
  }
}

void add_part(std::string& text, const std::string& part) {
  text += (text.empty() ? "" : ", ") + part;
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
    case RunnerState::kRunning: return "running: " + process + ", heard of " + ago(runner.silent_s);
    case RunnerState::kBetween:
    case RunnerState::kQueued: return "between runs: " + between_text(runner);
    case RunnerState::kStopped: return "stopped " + ago(runner.silent_s) + continues(runner) + other_text(runner);
    case RunnerState::kGone:
      return "not running: " + process + " is gone, last seen " + ago(runner.silent_s) + continues(runner);
    case RunnerState::kSilent:
      return "not running, as far as can be told: " + process + " was last seen " + ago(runner.silent_s) +
             continues(runner);
    case RunnerState::kEnded:
      if (!runner.owner) return "nothing to run: every run is stored already";
      return "ended " + ago(runner.silent_s) +
             (state.lines.failed > 0 ? "; `" + runner.command + "` tries again what failed" : "");
    case RunnerState::kNotBegun: return "no run has begun" + other_text(runner);
  }
  return "";
}

std::string counts_text(const LineCounts& lines) {
  return std::to_string(lines.trained + lines.reused + lines.failed) + " of " + std::to_string(lines.all) +
         (lines.all == 1 ? " run" : " runs");
}

std::string parts_text(const LineCounts& lines) {
  std::string text;
  const auto add = [&](int count, const char* what) {
    if (count > 0) add_part(text, std::to_string(count) + " " + what);
  };
  add(lines.trained, "trained");
  add(lines.reused, "reused");
  add(lines.failed, "failed");
  add(lines.running, "running");
  add(lines.queued, "queued");
  add(lines.to_do, "to do");
  return text;
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
  std::string text;
  const std::string processors =
      std::to_string(machine.processors) + (machine.processors == 1 ? " processor" : " processors");
  if (machine.load_1m) add_part(text, "load " + format_fixed(*machine.load_1m, 1) + " on " + processors);
  if (machine.busy_share) add_part(text, format_percent(*machine.busy_share, 0) + " busy");
  if (machine.steal_share) add_part(text, format_percent(*machine.steal_share, 1) + " stolen");
  if (machine.available_bytes && machine.total_bytes) {
    add_part(text,
             format_bytes(*machine.available_bytes) + " of " + format_bytes(*machine.total_bytes) + " memory free");
  }
  return text;
}

}  // namespace nanobench::reports
