/// What the shared folder shows of a plan's runs while its jobs are on their way, for readers only: nothing is locked,
/// made or changed, Slurm is not asked, and no submitter needs to be alive. A file that is replaced or removed while it
/// is read counts as absent. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/records.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

/// Where the files of a database's plans are exchanged, unless --scratch names another place.
std::filesystem::path exchange_folder(const std::filesystem::path& database);

/// In the exchange folder: leads to the folder of a plan whose --scratch is elsewhere.
std::filesystem::path scratch_link(const std::filesystem::path& exchange_folder, const std::string& plan_folder_name);

/// "nano_history-0123456789ab": for people and for us.
std::string plan_folder_name(const std::string& suite, const std::string& plan_digest);

/// The plan's folder of this database, wherever it is; nullopt when none is there.
std::optional<PlanFolder> find_plan_folder(const std::filesystem::path& database, const std::string& suite,
                                           const std::string& plan_digest);
/// Whether any plan of the database may be on its way: cheap.
bool has_plan_folders(const std::filesystem::path& database);

enum class GlancedStage {
  kQueued,   ///< handed over, and not begun
  kStarted,  ///< begun on a node, without a result
  kResult,   ///< its result lies in the folder, collected or not
};

/// A run in the newest job that it was handed over in.
struct GlancedRun {
  std::size_t position = 0;
  GlancedStage stage = GlancedStage::kQueued;
  std::filesystem::path progress;  ///< progress_file.h
  std::filesystem::path result;    ///< task_files.h
};

struct PlanGlance {
  std::vector<GlancedRun> runs;             ///< ascending positions
  std::vector<std::string> job_ids;         ///< of the submissions that hold runs without a result
  std::optional<results::Owner> submitter;  ///< the newest one, dead or alive
  std::string queue;                        ///< "1 task running, 2 waiting (Priority)", when it last asked Slurm
  std::optional<double> submitted_s;        ///< since 1970, by the file system's clock: when the first job was made
};

/// nullopt where the folder holds no state of this plan's row, or none that can be read.
std::optional<PlanGlance> glance_at(const PlanFolder& folder, const std::string& plan_digest,
                                    const std::string& plan_made_at, std::size_t runs);

}  // namespace nanobench::suites
