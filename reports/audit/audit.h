/// Audits a set of speedrun logs: runs grouped by script and machine, their statistics against the track's rules, and
/// reasons for doubt. Pure; an Auditor is not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/stats/summary.h"
#include "reports/stats/t_tests.h"
#include "results/import/log_files.h"
#include "results/import/speedrun_log.h"
#include "results/published_records.h"

namespace nanobench::reports {

/// The test of the mean loss that decides.
enum class AuditRule {
  kT,  ///< one-sided one-sample t, p below a limit: track 1 and 2
  kZ,  ///< (target - mean) * sqrt(n) >= threshold: the spread is known, so one run can meet it
};

struct AuditOptions {
  double target = 3.28;  ///< nats per token
  AuditRule rule = AuditRule::kT;
  double p_limit = 0.01;       ///< README of the track: p < 0.01
  double z_threshold = 0.004;  ///< README of track 3
};

enum class AuditVerdict {
  kMeets,         ///< the evidence meets the rule
  kDoesNotMeet,   ///< the test was possible, and failed
  kInconclusive,  ///< no test is possible: no final loss, or one run for the t test
};
std::string to_string(AuditVerdict verdict);

/// One run of one log.
struct AuditedRun {
  results::LogFile file;
  std::size_t index = 0;  ///< index among the runs in the file
  std::optional<std::int64_t> planned_steps;
  std::string gpu;
  std::optional<int> gpu_count;
  std::string hardware;
  std::string script_digest;
  std::optional<double> loss;      ///< at the last planned step
  std::optional<double> train_ms;  ///< training clock there
  std::vector<std::string> problems;
  std::string content;  ///< digest of the file and the run's place in it
  std::string numbers;  ///< digest of all validations with their times; empty if there are too few to tell runs apart
  std::string curve;    ///< the same without the times
  std::string repeats;  ///< which run of the group it repeats, in words; it is then not counted; else empty
  bool is_counted() const { return loss.has_value() && repeats.empty(); }
};

/// Runs of one script with one number of steps on one kind of machine, in one folder.
struct AuditGroup {
  std::string folder;
  std::string subdir;
  std::optional<std::int64_t> planned_steps;
  std::string hardware;
  std::string script_digest;  ///< empty without a script, or with several
  std::size_t scripts = 1;    ///< number of scripts pooled in this group
  std::vector<AuditedRun> runs;

  int n = 0;  ///< counted runs
  Summary loss;
  std::optional<OneSampleT> t;  ///< absent for n < 2 or without spread
  std::optional<RuleResult> z;  ///< absent for n = 0
  Summary train_ms;
  std::optional<double> train_cv;  ///< sd / mean
  AuditVerdict verdict = AuditVerdict::kInconclusive;
  std::string reason;                                ///< reason for the verdict, in words
  const results::PublishedRecord* record = nullptr;  ///< record that owns the folder
  const results::PublishedRecord* before = nullptr;  ///< the record before that one
  std::optional<double> time_over_before;            ///< mean time over the published time of `before`
  std::vector<std::string> flags;                    ///< sentences
};

struct Audit {
  AuditOptions options;
  std::vector<AuditGroup> groups;  ///< by folder, sub-directory, steps, hardware, script
  std::vector<AuditGroup> pooled;  ///< groups that differ only in the script, pooled; they never decide
  std::size_t files = 0;           ///< read
  std::size_t other_files = 0;     ///< files without a trainer's line
  std::uint64_t bytes = 0;
  std::vector<std::string> problems;  ///< files and folders that could not be read

  /// The worst verdict of the groups; inconclusive if there are none.
  AuditVerdict verdict() const;
};

class Auditor {
 public:
  explicit Auditor(const AuditOptions& options) : options_(options) {}

  void add(const results::LogFile& file, const results::SpeedrunLog& log);
  void add_problem(const std::string& sentence) { audit_.problems.push_back(sentence); }
  Audit finish();

 private:
  AuditOptions options_;
  Audit audit_;
  std::vector<AuditedRun> runs_;
};

}  // namespace nanobench::reports
