/// What the store keeps, as plain values: runs, samples, plans, environments, baselines. SCHEMA.md names the columns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablations/design.h"
#include "core/base/enum_names.h"
#include "core/base/message.h"
#include "core/base/text.h"
#include "core/protocol/run_choices.h"
#include "core/protocol/run_event.h"

namespace nanobench::results {

/// One value of one metric at one step of one run.
struct Sample {
  std::int64_t step = 0;
  double value = 0.0;  ///< NaN is kept (as SQL NULL)
};

/// A sample on its way into the store.
struct NewSample {
  std::string metric;
  std::int64_t step = 0;
  double value = 0.0;
};

/// The process that owns a running row, described well enough to tell later whether it is still alive.
struct Owner {
  std::string host;
  std::string boot_id;
  std::string pid_namespace;
  std::int64_t pid = 0;
  std::int64_t pid_started = 0;  ///< kernel ticks after boot

  bool operator==(const Owner&) const = default;
};

/// What is known of a run before it starts.
struct NewRun {
  std::string digest;  ///< identity (results/identity.h)
  std::string suite;
  std::string cell;                   ///< label within the suite
  std::optional<std::string> record;  ///< "record12", when the cell is based on one
  std::string scale;
  std::uint64_t seed = 0;
  std::string config;  ///< the complete TrainConfig as JSON text
  std::string config_digest;
  std::string data_name;
  std::string data_digest;
  std::optional<double> data_floor_nats;  ///< entropy of the data in nats per token, where it is known
  std::string dtype;
  int threads = 0;
  std::string engine;          ///< kNativeEngine, kExternalEngine, ..., "mock"
  std::string engine_version;  ///< the identity used in `digest`; the hello event's text is in the environment
  std::string hardware;        ///< hardware class, e.g. "x86_64 | CPU MODEL | 2 cores"
  std::optional<std::int64_t> plan_id;
  std::optional<std::int64_t> position;      ///< in the plan, from 0
  std::optional<core::DeviceChoice> device;  ///< absent if unknown: external trainers, imported logs
  core::KernelChoice kernels = core::KernelChoice::kFused;
  std::int64_t arm = 0;             ///< arm of an a_a or a gate, from 1; runs of different arms are distinct; 0: none
  std::optional<std::string> mock;  ///< settings of the mock engine as JSON; absent: another engine
};

/// Names of engines. Stored: do not change. Whether a run is a trainer's or a command's is read from them, never from
/// its other columns.
inline constexpr const char* kNativeEngine = "nanobench-train";
inline constexpr const char* kExternalEngine = "external";  ///< a trainer of the user's
inline constexpr const char* kCommandEngine = "command";    ///< a command that `bench` timed

/// "nanobench-train" or "nanobench-train, reference kernels". Comparisons treat the two as different engines, because
/// their times are not comparable.
std::string engine_text(const std::string& engine, core::KernelChoice kernels);

/// How a run ended: what finish_run writes.
struct RunResult {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;  ///< empty if completed; else the reason in one sentence and the engine's last words
  std::optional<double> final_val_loss;
  std::optional<double> train_ms;  ///< whole training clock
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> timed_steps;
  std::optional<std::int64_t> peak_bytes;
  std::optional<std::int64_t> exit_code;  ///< the engine's; negative: the signal that ended it

  /// The training clock over the timed steps; absent if either is unknown or 0.
  std::optional<double> mean_step_ms() const {
    if (!train_ms || !(*train_ms > 0.0) || !timed_steps || *timed_steps <= 0) return std::nullopt;
    return *train_ms / static_cast<double>(*timed_steps);
  }
};

/// One row of `runs`. `result` is empty while the run is running.
struct RunRecord : NewRun {
  std::int64_t id = 0;
  std::optional<RunResult> result;
  std::string started_at;  ///< ISO 8601, UTC, milliseconds
  std::optional<std::string> finished_at;
  std::optional<std::int64_t> environment_id;
  Owner owner;
  std::string heartbeat_at;  ///< last sign of life of the owner
  /// What its engine reported.
  std::string gpu;   ///< "NVIDIA H100 80GB HBM3 (GPU-4c2f...), driver 570.86.15"; empty: none
  std::string seat;  ///< "seat 0"; empty: it had the machine to itself, or shared all of it
  std::optional<core::StepParts> no_kernel_for;  ///< parts of a step without a kernel; absent: not reported

  /// Where its times were measured. Times from different places are not comparable.
  std::string place() const { return owner.host + (gpu.empty() ? "" : ", " + gpu) + (seat.empty() ? "" : ", " + seat); }
  /// The engine with its kernels.
  std::string engine_text() const { return results::engine_text(engine, kernels); }
  bool is_running() const { return !result.has_value(); }
  bool is_completed() const { return result && result->outcome == core::RunOutcome::kCompleted; }
  /// Completed or diverged: running it again would only repeat the result.
  bool is_evidence() const { return is_completed() || (result && result->outcome == core::RunOutcome::kDiverged); }
};

/// What a polling display needs to know about a run; its configuration is left out.
struct RunGlance {
  std::int64_t id = 0;
  std::string digest;
  std::optional<std::int64_t> plan_id;      ///< the plan that it was made for
  std::optional<core::RunOutcome> outcome;  ///< absent while it runs
  std::string message;                      ///< reason, if it is not completed
  std::string started_at;                   ///< ISO 8601, UTC, like the next two
  std::string heartbeat_at;                 ///< last sign of life of its owner
  std::optional<std::string> finished_at;
  std::optional<double> final_val_loss;
  std::optional<double> mean_step_ms;    ///< training clock over timed steps; completed runs only
  std::optional<double> median_step_ms;  ///< present for a completed run with a stored summary
  int threads = 0;
  Owner owner;

  /// Same as RunRecord::is_evidence.
  bool is_evidence() const { return outcome == core::RunOutcome::kCompleted || outcome == core::RunOutcome::kDiverged; }
};

/// A row without an outcome.
struct RunningRun {
  std::int64_t id = 0;
  std::optional<std::int64_t> plan_id;
  std::string suite;
  Owner owner;
  bool is_owner_gone = false;  ///< as far as can be determined
};

/// What a stored plan is known by.
struct PlanName {
  std::int64_t id = 0;
  std::string suite;
  std::string created_at;  ///< ISO 8601, UTC, milliseconds
};

/// What a run is known by.
struct RunName {
  std::int64_t id = 0;
  std::string suite;
  std::string cell;
  std::uint64_t seed = 0;
};

/// A line of a plan and the run that answers it now.
struct PlanAnswer {
  std::int64_t position = 0;
  std::optional<std::int64_t> run_id;
};

/// What reports need of a run's thousands of steps.
struct RunSummary {
  std::optional<double> median_step_ms;  ///< over the timed steps; absent when none was timed
  std::int64_t timed_samples = 0;        ///< number of steps behind the median
};

/// What the cells of a suite are and how they are compared.
enum class Design {
  kHistory,              ///< one cell per record, in order: the cumulative ladder
  kLeaveOneOut,          ///< the base, then the base with each feature turned to its `before` value
  kAddOneIn,             ///< the base with all features at `before`, then with each one alone at `after`
  kFactorial,            ///< all combinations of the features' values
  kFractionalFactorial,  ///< 2^m combinations of two values each, separating as many effects as possible
  kSweep,                ///< the values of one feature or setting, or a grid of several
  kPairs,                ///< the base, each feature changed alone, each pair of features changed together
  kScreening,            ///< the base, then random cells with about a quarter of the features at their other value
  kAA,                   ///< the base several times, as if it were several cells
  kCells,                ///< an external trainer's cells, one by one
  kClaims,               ///< the training cells and operations that measure the catalogue's claims
};

NB_ENUM_NAMES(Design, {Design::kHistory, "history"}, {Design::kLeaveOneOut, "leave_one_out"},
              {Design::kAddOneIn, "add_one_in"}, {Design::kFactorial, "factorial"},
              {Design::kFractionalFactorial, "fractional_factorial"}, {Design::kSweep, "sweep"},
              {Design::kPairs, "pairs"}, {Design::kScreening, "screening"}, {Design::kAA, "a_a"},
              {Design::kCells, "cells"}, {Design::kClaims, "claims"});

/// Changes as they are shown and stored: "a new norm; no biases".
inline std::string changes_text(const std::vector<std::string>& changes) {
  return joined(changes, "; ");
}

/// One cell of a stored plan.
struct PlanCell {
  std::string label;
  std::optional<std::string> record;
  std::vector<std::string> changes;             ///< what differs from the previous row or the base, in words
  std::map<std::string, std::string> features;  ///< settings by feature id
  std::string config_digest;
};

/// One line of a stored plan. `run_id` is the run that answers it: made for it, or reused.
struct PlanLine {
  std::int64_t position = 0;
  std::string cell;
  std::uint64_t seed = 0;
  std::string digest;
  std::optional<std::int64_t> run_id;
};

using ablations::ContrastKind;

/// One of the changes that make up an effect.
struct ContrastFactor {
  std::string name;     ///< its part of the effect's name: "rotary", "lr=0.1"
  std::string setting;  ///< the feature, or the JSON pointer of the setting: "/optimizer/hidden_matrices/lr"
  std::string from;     ///< level; empty in plans that were stored without levels
  std::string to;

  friend bool operator==(const ContrastFactor&, const ContrastFactor&) = default;
};

/// Which combination of a plan's cells estimates which effect: the sum of coefficient * result.
struct PlanContrast {
  std::string effect;  ///< "rotary", "rotary x qk_norm", "record13"; unique within the plan
  ContrastKind kind = ContrastKind::kSimple;
  std::string meaning;                         ///< what the number means, in words
  std::map<std::string, double> coefficients;  ///< by cell label; cells with 0 are left out
  std::vector<std::string> aliases;            ///< other effects included in the estimate: "b x c", "-0.5 b x c"
  std::vector<ContrastFactor> factors = {};    ///< the change, or the changes of an interaction
};

/// The schedule of looks at the results, and the current look, of a plan whose number of seeds was not fixed
/// beforehand. Effects are then judged by the boundary of the look (reports/stats/sequential.h), never by a plain
/// p-value.
struct SequentialLook {
  double alpha = 0.05;  ///< shared by all effects and looks
  int family = 1;       ///< effects that share alpha (Bonferroni)
  int first = 2;        ///< seeds at the first look
  int most = 2;         ///< seeds at the last look
  int step = 1;         ///< seeds added from look to look
  int look = 1;         ///< from 1: first + (look - 1) * step seeds, at most `most`
  /// The power of the spending function alpha t^power at the fraction t of the seeds; 0: O'Brien and Fleming's.
  double spending_power = 0.0;
};

struct NewPlan {
  std::string digest;  ///< covers suite, order seed and run digests: the same command finds the same plan
  std::string suite;
  std::string title;
  Design design = Design::kHistory;
  std::string scale;
  std::string data_name;
  std::optional<double> target;  ///< validation loss of "time to target"; absent: the first cell's final loss
  std::uint64_t order_seed = 0;
  std::vector<PlanCell> cells;  ///< in the suite's order
  std::vector<PlanLine> lines;  ///< in the order of execution
  std::vector<PlanContrast> contrasts;
  std::optional<SequentialLook> sequential;  ///< absent: the seeds were fixed beforehand
  std::vector<core::Message> messages;
  std::vector<std::string> argv;  ///< the command line that made it
};

struct PlanRecord : NewPlan {
  std::int64_t id = 0;
  std::string created_at;
};

/// What a message of a run is about: a warning, a checkpoint that was written, or the engine's last lines of output.
enum class RunMessageKind { kWarning, kCheckpoint, kOutput, kNote };
NB_ENUM_NAMES(RunMessageKind, {RunMessageKind::kWarning, "warning"}, {RunMessageKind::kCheckpoint, "checkpoint"},
              {RunMessageKind::kOutput, "output"}, {RunMessageKind::kNote, "note"});

struct RunMessage {
  RunMessageKind kind = RunMessageKind::kNote;
  std::string text;
};

/// What a run adds to the store at one time.
struct RunBatch {
  std::map<std::string, std::vector<Sample>, std::less<>> samples;  ///< by metric
  std::vector<RunMessage> messages;
  std::map<std::string, std::string> facts;  ///< facts of this run alone: load, steal time, ...; later values win

  bool empty() const { return samples.empty() && messages.empty() && facts.empty(); }
};

/// A run that ended elsewhere, on its way into the store.
struct FinishedRun {
  NewRun run;
  RunResult result;
  RunBatch batch;
};

/// The row that holds the run: a new one, or an existing one with the same digest.
struct AddedRun {
  std::int64_t run_id = 0;
  bool is_new = false;
};

/// Where a run was measured: facts by name (provenance.h) plus those of the engine's hello event.
struct EnvironmentRecord {
  std::int64_t id = 0;
  std::string digest;
  std::map<std::string, std::string> facts;
};

/// A named set of runs that others are compared with.
struct BaselineRecord {
  std::string name;
  std::string suite;
  std::int64_t plan_id = 0;
  std::string created_at;
  std::string reason;        ///< why it was saved or accepted; may be empty
  std::string revision;      ///< revision of the measured sources; may be empty
  bool is_accepted = false;  ///< the new normal: a gate uses it if none is named
};

}  // namespace nanobench::results
