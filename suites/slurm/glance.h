/// What the shared folder shows about a plan's runs while its jobs are in progress. Read-only: nothing is locked,
/// created or changed, Slurm is not queried, and no submitter needs to be alive. A file that is replaced or removed
/// while being read counts as absent. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/records.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

/// The folder where the files of a database's plans are exchanged, unless --scratch names another.
std::filesystem::path exchange_folder(const std::filesystem::path& database);

/// A link in the exchange folder to the folder of a plan whose --scratch is elsewhere.
std::filesystem::path scratch_link(const std::filesystem::path& exchange_folder, const std::string& plan_folder_name);

/// "nano_history-0123456789ab": readable by people and unique.
std::string plan_folder_name(const std::string& suite, const std::string& plan_digest);

/// The folder of this database's plan, wherever it is; nullopt if there is none.
std::optional<PlanFolder> find_plan_folder(const std::filesystem::path& database, const std::string& suite,
                                           const std::string& plan_digest);
/// Whether any plan of the database may be in progress. Cheap.
bool has_plan_folders(const std::filesystem::path& database);

enum class GlancedStage {
  kQueued,   ///< submitted, but not started
  kStarted,  ///< started on a node, without a result
  kResult,   ///< its result is in the folder, collected or not
};

/// A run in the newest job that it was submitted in.
struct GlancedRun {
  std::size_t position = 0;
  GlancedStage stage = GlancedStage::kQueued;
  std::filesystem::path progress;  ///< progress_file.h
  std::filesystem::path result;    ///< task_files.h
};

struct PlanGlance {
  std::vector<GlancedRun> runs;             ///< ascending positions
  std::vector<std::string> job_ids;         ///< jobs of the submissions that contain runs without a result
  std::optional<results::Owner> submitter;  ///< the newest submitter, dead or alive
  std::string queue;                        ///< "1 task running, 2 waiting (Priority)", when it last asked Slurm
  std::optional<double> submitted_s;  ///< creation of the first job: seconds since 1970, by the file system's clock
};

/// nullopt if the folder contains no readable state of this plan's row.
std::optional<PlanGlance> glance_at(const PlanFolder& folder, const std::string& plan_digest,
                                    const std::string& plan_made_at, std::size_t runs);

}  // namespace nanobench::suites
