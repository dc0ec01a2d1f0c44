/// An arm is one side of a comparison: the results of each run of some cells. It is independent of the store that they
/// were read from, so that a file beside the code can keep them. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "results/store.h"

namespace nanobench::reports {

/// One run.
struct ArmRun {
  std::uint64_t seed = 0;
  /// Absent for a planned run that does not exist or has not ended.
  std::optional<core::RunOutcome> outcome = std::nullopt;
  std::string message;             ///< reason, if it is not completed
  std::optional<double> val_loss;  ///< final, nats per token; completed runs only, like all below
  std::optional<double> step_ms;   ///< median over timed steps
  std::optional<double> clock_ms;  ///< settled training clock (RunMeasure::clock_ms); absent in files before version 3
  std::optional<double> peak_bytes;
  std::optional<double> training_bytes;          ///< RunMeasure::training_bytes; absent in files of earlier versions
  std::map<std::string, double> costs;           ///< counts of the cost model: "flops_per_step", ...
  std::string loss_digest;                       ///< digest of every step's loss, bit for bit; empty: unknown
  std::optional<std::string> disturbance;        ///< reason why its times are doubtful
  std::string host;                              ///< host of a run of this database; not kept in files
  std::optional<core::StepParts> no_kernel_for;  ///< as in results::RunRecord; not kept in files

  bool is_completed() const { return outcome == core::RunOutcome::kCompleted; }
  /// "completed", ..., or "missing".
  std::string outcome_text() const { return outcome ? enum_name(*outcome) : "missing"; }
};

struct ArmCell {
  std::string label;
  std::string config_digest;
  std::string former_config_digest;    ///< as in files of version 1 (results/identity.h); empty: unknown; not kept
  std::vector<ArmRun> runs;            ///< ascending seeds
  std::optional<double> instructions;  ///< instructions of a short extra run, counted on request; not kept in files
};

/// The runs share engine, machine and data.
struct Arm {
  std::string name;  ///< "baseline v3", "candidate"
  std::string suite;
  std::string scale;
  std::string data_digest;
  std::string engine;              ///< with its kernels and version, as text
  std::string revision;            ///< revision of the measured sources; may be empty
  std::string hardware;            ///< class
  std::vector<std::string> hosts;  ///< of the completed runs, alphabetical; times of different hosts are not compared
  std::string gpu;                 ///< GPU and its driver; empty: none
  core::KernelChoice kernels = core::KernelChoice::kFused;
  int threads = 0;
  std::int64_t processes = 1;  ///< processes of a run: the world size
  std::string measured_at;     ///< start of the first run
  std::vector<ArmCell> cells;  ///< in the suite's order
};

/// The plan's runs in the store. `cell_suffix`: only cells whose label ends with it; the suffix is removed.
Arm read_arm(const results::Store& store, const results::PlanRecord& plan, const std::string& name,
             const std::string& cell_suffix = "");

/// Baseline and candidate, two plans whose runs were executed together: in turns, the machine's slow moments are those
/// of both.
std::pair<Arm, Arm> read_arms(const results::Store& store, const results::PlanRecord& baseline,
                              const results::PlanRecord& candidate);

/// These runs, cell by cell. If a cell has several runs with one seed, the newest completed one counts.
Arm read_arm(const results::Store& store, const std::vector<results::RunRecord>& runs, const std::string& name);

/// Version of the file format. Version 1 has the former digests of configurations, versions 1 and 2 have no training
/// clocks; both can still be read.
inline constexpr int kArmSchemaVersion = 3;

core::OrderedJson to_json(const Arm& arm);
/// Throws Error{kInvalidArgument} with file and JSON pointer; Error{kUnavailable} for a newer version of the format.
Arm read_arm(const core::Json& value, const std::string& source);

}  // namespace nanobench::reports
