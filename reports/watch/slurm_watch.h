/// The runs of a plan on Slurm nodes, from their files in the shared folder (suites/slurm/glance.h): which are queued,
/// how far the running ones have got, and which results wait to be collected. Each call reads only what is new. It
/// writes and locks nothing, and does not query Slurm. Not thread-safe.
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

/// The plan's lines according to the nodes' files.
struct SlurmView {
  WatchedSlurm slurm;
  std::vector<WatchedLine> lines;  ///< stored ones, and results that wait to be collected (with id 0)
  std::vector<LineState> states;   ///< states of `lines`
  std::vector<WatchedRun> runs;    ///< running ones, in ascending order of position
  std::optional<double> submitted_s;
};

class SlurmWatch {
 public:
  /// `database` is the store's file.
  SlurmWatch(std::filesystem::path database, results::PlanRecord plan);

  /// `lines` are the stored ones; `now_s`: seconds since 1970. nullopt while no job of the plan is submitted.
  std::optional<SlurmView> look(const std::vector<WatchedLine>& lines, double now_s);

 private:
  struct Followed {
    suites::ProgressReader reader;
    bool is_known = false;
    std::optional<double> heard_s;  ///< when it was last seen growing; absent before that
  };

  WatchedRun follow(const suites::GlancedRun& run, const WatchedLine& line, double now_s);
  std::optional<results::RunGlance> result_of(const suites::GlancedRun& run);

  std::filesystem::path database_;
  results::PlanRecord plan_;
  std::map<std::filesystem::path, Followed> followed_;
  std::map<std::filesystem::path, results::RunGlance> results_;
};

/// A node that is silent for this long counts as lost, because each task writes every ten seconds.
inline constexpr double kLongNodeSilence = 120;

/// The state of the plan's Slurm side. `is_over`: every line has its run stored.
RunnerState state_of_slurm(const SlurmView& view, bool is_over);

}  // namespace nanobench::reports
