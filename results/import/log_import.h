/// Imports speedrun logs into the store as finished runs of the engine "speedrun-log". Importing the same file again
/// adds nothing, because a run is identified by the digest of its file's bytes. SCHEMA.md describes what is stored
/// where.
/// Not thread-safe: one LogImport per thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/import/log_files.h"
#include "results/import/speedrun_log.h"
#include "results/store.h"

namespace nanobench::results {

inline constexpr const char* kSpeedrunLogEngine = "speedrun-log";
/// The validation loss that published runs race to; nats per token.
inline constexpr double kSpeedrunTarget = 3.28;

struct LogImportResult {
  std::int64_t plan_id = 0;     ///< 0 if there was no run at all
  std::size_t added = 0;        ///< new rows
  std::size_t known = 0;        ///< runs already in the store
  std::size_t files = 0;        ///< read
  std::size_t other_files = 0;  ///< files without any trainer output
  std::uint64_t bytes = 0;      ///< read
  std::size_t cells = 0;        ///< rows of the plan
  std::vector<std::string> problems;
};

class LogImport {
 public:
  /// `control`: the arm that all others are compared with: a folder with its sub-directory, or the last part of it.
  /// Then the cells are the arms, whatever their steps, GPUs and scripts, and the plan holds one contrast for each arm
  /// against the control. Empty: no contrasts.
  LogImport(Store& store, std::string suite, std::string control = "")
      : store_(store), suite_(std::move(suite)), control_(std::move(control)) {}

  /// Keeps the runs of the log for finish().
  ///   step   the step whose loss is the final one, such as the one that a README names; absent: the last planned one,
  ///          or where all runs of the cell end, if there are two or more
  void add(const LogFile& file, const SpeedrunLog& log, std::optional<std::int64_t> step = std::nullopt);
  void add_problem(const std::string& sentence) { result_.problems.push_back(sentence); }
  /// Writes the runs, many per transaction, so that a kill leaves only whole runs. Then writes a plan over them, with
  /// one cell for each folder, sub-directory, number of steps, GPU and script. Throws Error{kInvalidArgument} before it
  /// writes anything if the control is none of the arms, or fits several.
  LogImportResult finish(const std::vector<std::string>& argv);

 private:
  /// What the runs of one cell have in common.
  struct CellKey {
    std::string place;       ///< "2025-01-04_SoftCap/this_pr"
    std::int64_t steps = 0;  ///< this and the rest stay empty where cells are arms
    std::string hardware;
    std::string script;
    auto operator<=>(const CellKey&) const = default;
  };

  std::string control_place() const;
  void accept_common_ends();
  void name_cells();
  std::vector<std::int64_t> write();
  NewPlan plan_of(const std::vector<std::int64_t>& run_ids, const std::vector<std::string>& argv) const;

  Store& store_;
  std::string suite_;
  std::string control_;
  LogImportResult result_;
  std::map<CellKey, std::vector<std::size_t>> cells_;  ///< indices into runs_
  std::vector<FinishedRun> runs_;
  std::map<std::size_t, RunResult> at_end_;  ///< of runs without a final loss, as if their last validation were final
};

}  // namespace nanobench::results
