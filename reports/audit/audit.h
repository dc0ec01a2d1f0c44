/// Audits a set of speedrun logs: runs grouped by script and machine, their statistics against the track's rules, and
/// reasons for doubt. Pure; an Auditor is not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/audit/arms.h"
#include "reports/audit/audit_flags.h"
#include "reports/audit/tracks.h"
#include "reports/stats/summary.h"
#include "reports/stats/t_tests.h"
#include "results/import/log_files.h"
#include "results/import/named_steps.h"
#include "results/import/speedrun_log.h"
#include "results/published_records.h"

namespace nanobench::reports {

/// What is absent is as the track of each log says: of its path (track_of), else track 1.
struct AuditOptions {
  std::optional<int> track;
  std::optional<double> target;  ///< nats per token
  std::optional<AuditRule> rule;
  std::optional<std::int64_t> step;  ///< the step that counts, for all logs; absent: as Auditor says
  double p_limit = 0.01;             ///< README of the track: p < 0.01
  double z_threshold = 0.004;        ///< README of track 3
};

enum class AuditVerdict {
  kMeets,         ///< the evidence meets the rule
  kDoesNotMeet,   ///< the test was possible, and failed
  kInconclusive,  ///< no test is possible: no final loss, or one run for the t test
};
NB_ENUM_NAMES(AuditVerdict, {AuditVerdict::kMeets, "meets the rule"},
              {AuditVerdict::kDoesNotMeet, "does not meet the rule"}, {AuditVerdict::kInconclusive, "inconclusive"});

/// One run of one log.
struct AuditedRun {
  results::LogFile file;
  std::size_t index = 0;  ///< index among the runs in the file
  std::optional<std::int64_t> planned_steps;
  std::string gpu;
  std::optional<int> gpu_count;
  std::string hardware;
  std::string software;            ///< "PyTorch 2.9, CUDA 12.6"; empty if not logged
  std::string script_text;         ///< digest of the script as it is
  results::ScriptIdentity script;  ///< without what does not change the training
  std::vector<results::LoggedValidation> validations;
  std::optional<results::LoggedValidation> final_validation;
  std::optional<double> step_avg_ms;         ///< as last printed, after the last validation
  std::optional<results::LogEnd> early_end;  ///< where the log ends, if before its last planned step
  std::optional<double> loss;                ///< at the step that counts; val_ema_loss where it is printed
  std::optional<double> raw_loss;            ///< val_loss there, if `loss` is val_ema_loss
  std::optional<double> train_ms;            ///< training clock there
  std::optional<double> step_ms;             ///< mean time of a step until there
  std::vector<AuditFlag> problems;           ///< without files
  std::string content;                       ///< digest of the file and the run's place in it
  std::string numbers;  ///< digest of all validations with their times; empty if there are too few to tell runs apart
  std::string curve;    ///< the same without the times
  std::optional<AuditFlag> repeats;  ///< the run of the group that it repeats (kSameBytes, ...); it is then not counted
  bool is_copy = false;              ///< an earlier group of the same folder holds the same run
  bool is_counted() const { return loss.has_value() && !repeats; }
};

/// Where the final loss of a group is read.
enum class JudgedAt {
  kLastStep,   ///< the last planned step
  kOption,     ///< AuditOptions::step
  kNamed,      ///< the step that a README names for the submission
  kCommonEnd,  ///< all runs end at one step before the last planned one
};

/// Runs of one script with one number of steps on one kind of machine, in one folder.
struct AuditGroup {
  std::string folder;
  std::string subdir;
  std::optional<std::int64_t> planned_steps;
  std::string hardware;
  std::string script_digest;  ///< of the script's code (script_identity.h); empty without a script, or with several
  std::size_t scripts = 1;    ///< number of different codes pooled in this group
  std::size_t texts = 1;      ///< number of different texts of the one script
  std::vector<results::ScriptPart> differing;  ///< what the texts differ in; empty for one text, or only layout
  TrackRule rule;
  JudgedAt judged_at = JudgedAt::kLastStep;
  std::optional<std::int64_t> judged_step;  ///< absent for kLastStep
  std::vector<AuditedRun> runs;

  int n = 0;  ///< counted runs
  Summary loss;
  std::optional<OneSampleT> t;  ///< absent for n < 2 or without spread
  std::optional<RuleResult> z;  ///< absent for n = 0
  Summary train_ms;
  std::optional<double> train_cv;  ///< sd / mean
  AuditVerdict verdict = AuditVerdict::kInconclusive;
  const results::PublishedRecord* record = nullptr;  ///< record that owns the folder
  const results::PublishedRecord* before = nullptr;  ///< the record before that one
  std::optional<double> time_over_before;            ///< mean time over the published time of `before`
  std::vector<AuditFlag> flags;
  std::vector<AuditFlag> run_flags;  ///< those of them about single runs and where they are judged
};

/// The groups of one folder with two counted runs or more, each against each other.
struct FolderArms {
  std::string folder;
  std::vector<LogArm> arms;
  std::vector<ArmPair> pairs;
  std::vector<ArmEffect> loss;  ///< in the order of the pairs
  std::vector<ArmEffect> time;
};

struct Audit {
  AuditOptions options;
  std::vector<AuditGroup> groups;        ///< by folder, sub-directory, steps, hardware, script
  std::vector<AuditGroup> pooled;        ///< groups that differ only in the script, pooled; they never decide
  std::vector<FolderArms> arms;          ///< of folders with two arms or more
  std::vector<std::string> readme_only;  ///< folders with a README and no log
  std::size_t files = 0;                 ///< read
  std::size_t other_files = 0;           ///< files without a trainer's line
  std::uint64_t bytes = 0;
  std::vector<std::string> problems;  ///< files and folders that could not be read

  /// The worst verdict of the groups; inconclusive if there are none. A folder with only a README is inconclusive.
  AuditVerdict verdict() const;
};

/// The step that counts in a group is, in this order: AuditOptions::step; the one that a README names; where all runs
/// end, if that is one step before the last planned one and there are two runs or more; the last planned step. A log is
/// cut short only if it ends before that.
class Auditor {
 public:
  /// Throws Error{kInvalidArgument} for an unknown track.
  explicit Auditor(const AuditOptions& options);

  void add(const results::LogFile& file, const results::SpeedrunLog& log);
  void add_problem(const std::string& sentence) { audit_.problems.push_back(sentence); }
  void add_readme_only(const std::filesystem::path& folder) { audit_.readme_only.push_back(folder.string()); }
  void set_named_steps(std::vector<results::NamedStep> steps) { named_steps_ = std::move(steps); }
  Audit finish();

 private:
  AuditOptions options_;
  Audit audit_;
  std::vector<AuditedRun> runs_;
  std::vector<results::NamedStep> named_steps_;
};

}  // namespace nanobench::reports
