/// Suite -> Matrix{Cell} -> Plan{PlannedRun}: what will be run, in which order, and each run's identity. Only
/// prepare_data touches the disk. Plain values; thread-safe when not modified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/data/data_set.h"
#include "core/hardware/processors.h"
#include "core/protocol/operation_spec.h"
#include "core/protocol/run_spec.h"
#include "results/provenance.h"
#include "results/records.h"
#include "suites/design/suite.h"

namespace nanobench::ablations {
class Catalogue;
}

namespace nanobench::suites {

/// One configuration of a suite.
struct Cell {
  std::string label;                            ///< unique within the suite: "record12", "base", "without qk_norm"
  std::string record;                           ///< what it is based on
  std::map<std::string, std::string> features;  ///< settings on top of the record
  std::string changed;                          ///< against the row before (history) or the base, in words
  core::TrainConfig config;                     ///< fully resolved at the suite's scale
  std::string vocabulary_asked_by;   ///< setting or patch that names a vocabulary; such a one is not enlarged
  std::optional<double> floor_nats;  ///< of the data, over what the validation reads; set by prepare_data
  std::int64_t arm = 0;  ///< of an a_a, from 1: runs of another arm are other runs; 0: what any suite may reuse
  std::optional<core::OperationSpec> operation;  ///< measured in place of training; `config` is then not used
  bool is_exact = false;                         ///< every repetition gives the same: run for the first seed only
  core::Json external;  ///< an external trainer's command (external_suite.h); null for our engines
};

struct Matrix {
  std::vector<Cell> cells;
  std::vector<results::PlanContrast> contrasts;  ///< which combination of the cells estimates which effect
  std::vector<core::Message> messages;           ///< what was left out, completed or fitted, and why
};

/// A program that speaks the protocol of core/protocol/FORMAT.md.
struct Engine {
  std::vector<std::string> command;  ///< program and leading arguments; "--spec FILE --events-fd N" are added
  std::string name;                  ///< "nanobench-train", "mock"
  std::string version;               ///< identity: another version's runs are other runs
};

/// What decides which parts an engine loads.
struct EngineUse {
  core::DeviceChoice device;
  bool has_launcher = false;  ///< processes that mpirun or srun starts: they may talk through MPI
  /// Of the machine that makes the runs; nullopt where that is not known beforehand, as on a cluster.
  std::optional<core::CpuPath> vector_path = core::best_cpu_path();
};

/// nanobench-train. Its version names everything that computes: the program's bytes, and behind a minus LibTorch's
/// build, the plugins that such runs load, and the instructions that the processor has. Reads a few MiB. Throws
/// Error{kNotFound} when the program is not there.
Engine native_engine(const std::filesystem::path& program, const EngineUse& use = {});
/// The mock engine behind a command like {"nanobench", "mock-engine"}.
Engine mock_engine(std::vector<std::string> command);

struct PlannedRun {
  std::size_t position = 0;
  std::size_t cell = 0;  ///< index into Matrix::cells
  std::uint64_t seed = 0;
  std::string digest;  ///< identity
  core::RunSpec spec;
};

struct Plan {
  Suite suite;
  Matrix matrix;
  core::DataSet data;
  Engine engine;
  std::string hardware;          ///< hardware class
  int threads = 1;               ///< of every run; the suite's 0 is resolved
  std::string digest;            ///< of everything that the store keeps of the plan but the command line
  std::vector<PlannedRun> runs;  ///< in the order of execution

  const Cell& cell_of(const PlannedRun& run) const { return matrix.cells[run.cell]; }
};

/// Identity of what the cell trains with.
std::string config_digest(const Cell& cell);

/// The suite's cells. Throws Error with the suite's file and pointer for unknown records, features, values, scales.
Matrix make_matrix(const Suite& suite, const ablations::Catalogue& catalogue);

/// Data for all cells of the matrix, made or found in `cache_dir`. Fits the cells to it: the document separator, a
/// vocabulary that is too small, a validation longer than the data, a run longer than data that is to be read once;
/// each change is a message of the matrix. Throws Error for data that cannot be read or is too short to train on, and
/// for a token outside a vocabulary that was asked for, with its shard and place.
core::DataSet prepare_data(const Suite& suite, Matrix& matrix, const std::filesystem::path& cache_dir);

/// For each seed all cells in a shuffled order of their own: a drift of the host must not look like an effect.
Plan make_plan(const Suite& suite, const Matrix& matrix, const core::DataSet& data, const Engine& engine,
               const results::MachineInfo& machine);

/// The plan as the store keeps it.
results::NewPlan stored_plan(const Plan& plan, const std::vector<std::string>& argv);

/// The running row of one planned run.
results::NewRun stored_run(const Plan& plan, const PlannedRun& run);

}  // namespace nanobench::suites
