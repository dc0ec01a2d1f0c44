/// The kinds of reports: each function builds the Document of one page from values that other folders computed. Pure,
/// except for those that read a Store; none writes one. Most types are only forward-declared here, so that a change to
/// one report's data does not rebuild the others.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_event.h"
#include "reports/document/document.h"
#include "results/merge.h"

namespace nanobench::core {
struct StepProfile;
}
namespace nanobench::ablations {
class Catalogue;
struct ConfigDifference;
struct ResolveRequest;
}  // namespace nanobench::ablations
namespace nanobench::results {
class Store;
struct BaselineRecord;
struct PlanRecord;
struct RunFilter;
struct StoreCheck;
struct VacuumResult;
}  // namespace nanobench::results
namespace nanobench::suites {
struct Matrix;
struct Plan;
struct Suite;
}  // namespace nanobench::suites

namespace nanobench::reports {

struct ArmComparison;
struct Audit;
struct Calibration;
struct CellMeasures;
struct ComparisonOptions;
struct ComparisonTable;
struct BisectResult;
struct BisectStep;
struct Evaluation;
struct Forecast;
struct GateResult;
struct LedgerEntry;
struct PassForecast;
struct Reproduction;
struct Transfer;
struct Trend;
struct WatchState;

// The catalogue: lists, and one feature, record, scale or claim. Nothing here is measured.

Document features_report(const ablations::Catalogue& catalogue);
Document records_report(const ablations::Catalogue& catalogue);
Document scales_report(const ablations::Catalogue& catalogue);
/// What the analyses of the records claim, and what would decide it.
Document claims_report(const ablations::Catalogue& catalogue);

/// One feature: its values as patches, relations, and each record's value. `store` gives measurements their price;
/// nullptr: nothing was ever run.
Document feature_report(const ablations::Catalogue& catalogue, const std::string& id,
                        const results::Store* store = nullptr);
/// One record: changes, published figures, the values of all features with the request's settings, and its size at the
/// request's scale. `store` as above. Throws like resolve().
Document record_report(const ablations::Catalogue& catalogue, const ablations::ResolveRequest& request,
                       const results::Store* store = nullptr);
Document scale_report(const ablations::Catalogue& catalogue, const std::string& id);
/// One claim: statement, place, measure, rule, what the published sources say.
Document claim_report(const ablations::Catalogue& catalogue, const std::string& id);

/// A property of a run that is not part of its configuration: seed, data, threads.
struct Circumstance {
  std::string key;    ///< stable name in JSON
  std::string title;  ///< for people
  std::string a;
  std::string b;
};

/// Two records or runs: differing features, settings that no feature explains, and circumstances. `a` and `b` are the
/// column titles.
Document difference_report(const ablations::Catalogue& catalogue, const std::string& a, const std::string& b,
                           const ablations::ConfigDifference& difference,
                           const std::vector<Circumstance>& circumstances);

/// A stored run against the same run made again (reports/comparison/reproduction.h).
Document reproduction_report(const Reproduction& reproduction);

// Before a suite runs.

/// Its cells, the contrast that will estimate each effect, and what was left out.
Document suite_report(const suites::Suite& suite, const suites::Matrix& matrix);

/// What a suite will cost and what it can show.
Document plan_report(const suites::Plan& plan, const Forecast& forecast);

// What was measured.

/// One row per cell, with effects, spreads and published figures. `cells` are those that `table` was made from.
Document comparison_report(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                           const ComparisonTable& table);
/// A hunt: what the screening suspects, and the verdicts on the suspects; null if there are none.
Document hunt_report(const results::Store& store, const results::PlanRecord& screening_plan,
                     const results::PlanRecord* suspects_plan, const ComparisonOptions& options);
/// Reads, compares and builds the document of one stored plan.
Document comparison_report(const results::Store& store, const results::PlanRecord& plan,
                           const ComparisonOptions& options);

/// Whether the plan is one of `bench`.
bool is_of_bench(const results::PlanRecord& plan);
/// Commands that `bench` measured, and each against the reference. `has_runs` adds a table with one row per run.
Document bench_report(const results::Store& store, const results::PlanRecord& plan, bool has_runs = false);

/// What models answered: a section for each task.
Document evaluation_report(const std::vector<Evaluation>& evaluations, const std::string& title);

/// The stored runs, newest last.
Document runs_report(const results::Store& store, const results::RunFilter& filter);
/// The stored plans (of a suite; only the newest), newest last.
Document plans_report(const results::Store& store, const std::optional<std::string>& suite,
                      const std::optional<std::int64_t>& limit);
/// One run with its provenance and loss curve. Throws Error{kNotFound}.
Document run_report(const results::Store& store, std::int64_t run_id);

/// What a profiled run reported besides its profile.
struct ProfiledRun {
  std::string name;                        ///< name of the configuration
  core::HelloEvent hello;                  ///< threads, parameters, kind of attention
  std::map<std::string, double> counters;  ///< by name: "cost/flops_per_step", ...
  std::optional<std::string> trace_file;   ///< where the trace was written
};
/// Where a step's time goes, by phase and op, next to what the machine can achieve.
Document profile_report(const core::StepProfile& profile, const ProfiledRun& run);

/// A suite while it runs, at one moment.
Document watch_report(const WatchState& state);

/// A suite over the revisions of a program. `max_rows`: if there are more rows of revisions than this, those of steady
/// series are left out, and a note reports it.
Document trend_report(const std::string& suite, const Trend& trend,
                      std::size_t max_rows = std::numeric_limits<std::size_t>::max());
/// The answer, one sentence each: changes, worst first; newest revisions that are outliers; how many series are steady,
/// and how many have too few runs.
std::vector<std::string> trend_headline(const Trend& trend);

/// The same changes at several scales: how far a small scale predicts a larger one. `max_rows`: if the changes of all
/// pairs are more rows than this, only those with opposite signs are shown; and with any limit, only the published
/// times that count. Notes report both.
Document transfer_report(const Transfer& transfer, std::size_t max_rows = std::numeric_limits<std::size_t>::max());
/// The answer, one sentence each: the pair of measured scales that share most, on the loss; then its times, and
/// published times.
std::vector<std::string> transfer_headline(const Transfer& transfer);

// What is concluded.

/// A gate: the answer, one row per check, what is missing, and how often the gate errs.
Document gate_report(const GateResult& result);

/// Before a gate: the chance that an unchanged candidate passes, and what raises it.
Document pass_forecast_report(const std::string& suite, const PassForecast& forecast);
/// "chance to pass: 43 % for an unchanged candidate with 3 seeds a side, by ...; 90 % takes 8 seeds a side".
std::string forecast_sentence(const PassForecast& forecast);
/// Empty unless the chance is low.
std::string forecast_warning(const PassForecast& forecast);

/// What a bisection found, step by step.
Document bisect_report(const BisectResult& result);
/// "bad, 3 seeds: loss of it +0.01000 [+0.00912, +0.01088]"
std::string bisect_step_text(const BisectStep& step);
/// "Pass: no metric of 12 checks is worse by more than its margin (0.0010 nats of loss, 0.5 % of step time)."
std::string gate_headline(const GateResult& result);
/// Two sets of runs side by side; the baseline is the first one. Its verdicts are a gate's, and none affects an exit
/// code.
Document compare_report(const GateResult& result);

/// The noise of a machine, and the margins that follow from it for several numbers of runs at this power. `plan` is the
/// A/A plan that was measured.
Document calibration_report(const results::PlanRecord& plan, const std::string& machine, const Calibration& calibration,
                            double power);

/// The ledger of claims. `scale` is that of the measurements, `price` stands before the offer of those that are
/// missing: "up to 4 min; ".
Document ledger_report(const std::vector<LedgerEntry>& entries, const std::string& scale,
                       const std::string& price = "");
/// "176 claims: 56 are supported here, 46 are contradicted and 1 is inconclusive."
std::string ledger_headline(const std::vector<LedgerEntry>& entries);
/// Adds the ledger to another report as a section before its last one.
void add_ledger_section(Document& document, const std::vector<LedgerEntry>& entries, const std::string& scale);

/// Adds the ledger's answer with a link to a page of its own, before the sections that only some ask for.
void add_ledger_link(Document& document, const std::vector<LedgerEntry>& entries, const std::string& file);

/// An audit of speedrun logs: one row per group, with its flags. `has_runs` adds a table with one row per run;
/// `has_charts` adds charts for formats that show them.
Document audit_report(const Audit& audit, bool has_runs = false, bool has_charts = false);

/// Arms of logs against their control: effects on the loss and on the clocks, and each arm against the target.
/// `has_charts` adds the losses and curves, for formats that show them.
Document arms_report(const ArmComparison& comparison, bool has_charts = false);

// The database as a whole.

Document baseline_list_report(const std::vector<results::BaselineRecord>& baselines);

struct MergedFile {
  std::filesystem::path file;
  results::MergeResult result;
};
/// What a merge copied.
Document merge_report(const std::filesystem::path& into, const std::vector<MergedFile>& merged);
/// What a check found.
Document check_report(const std::filesystem::path& file, const results::StoreCheck& check);
/// The space that compacting freed.
Document vacuum_report(const std::filesystem::path& file, const results::VacuumResult& result);

}  // namespace nanobench::reports
