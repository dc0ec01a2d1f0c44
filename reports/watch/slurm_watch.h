/// The runs of a plan that Slurm's nodes carry out, as their files in the shared folder tell (suites/slurm/glance.h):
/// which are queued, how far those are that have begun, and results that nobody has collected yet. Reads at each call
/// what is new; writes and locks nothing, and asks Slurm nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/watch/plan_progress.h"
#include "reports/watch/watch_state.h"
#include "suites/slurm/glance.h"
#include "suites/slurm/progress_file.h"

namespace nanobench::reports {

/// The plan's lines as the nodes have them.
struct SlurmView {
  WatchedSlurm slurm;
  std::vector<WatchedLine> lines;  ///< the stored ones, with results that wait to be collected (their id is 0)
  std::vector<LineState> states;   ///< of the lines
  std::vector<WatchedRun> runs;    ///< begun and without a result, ascending positions
  std::optional<double> submitted_s;
};

class SlurmWatch {
 public:
  /// `database` as the store's file.
  SlurmWatch(std::filesystem::path database, results::PlanRecord plan);

  /// `lines` as stored; `now_s`: seconds since 1970. nullopt while no job of the plan is on its way.
  std::optional<SlurmView> look(const std::vector<WatchedLine>& lines, double now_s);

 private:
  struct Followed {
    suites::ProgressReader reader;
    bool is_known = false;
    std::optional<double> heard_s;  ///< when it was seen to grow; absent before: another host's clock says when
  };

  WatchedRun follow(const suites::GlancedRun& run, const WatchedLine& line, double now_s);
  std::optional<results::RunGlance> result_of(const suites::GlancedRun& run);

  std::filesystem::path database_;
  results::PlanRecord plan_;
  std::map<std::filesystem::path, Followed> followed_;
  std::map<std::filesystem::path, results::RunGlance> results_;
};

/// A node that was not heard of for so long is taken for gone: each task writes every ten seconds.
inline constexpr double kLongNodeSilence = 120;

/// Whether Slurm's side of the plan is at work; `is_over`: every line has its run stored.
RunnerState state_of_slurm(const SlurmView& view, bool is_over);

}  // namespace nanobench::reports
