/// Suite -> Matrix{Cell} -> Plan{PlannedRun}: what will be run, in what order, and with which identities. Only
/// prepare_data touches the disk. Plain values; thread-safe when not modified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
#include "results/store.h"
#include "suites/design/suite.h"

namespace nanobench::ablations {
class Catalogue;
}

namespace nanobench::suites {

/// One configuration of a suite.
struct Cell {
  std::string label;                            ///< unique within the suite: "record12", "base", "without qk_norm"
  std::string record;                           ///< record that it is based on
  std::map<std::string, std::string> features;  ///< settings on top of the record
  std::vector<std::string> changes;             ///< from the row before (history) or from the base, in words
  core::TrainConfig config;                     ///< fully resolved at the suite's scale
  std::string vocabulary_asked_by;   ///< setting or patch that names a vocabulary, which is then not enlarged
  std::optional<double> floor_nats;  ///< entropy of the validation data; set by prepare_data
  std::int64_t arm = 0;  ///< arm of an a_a, from 1; runs of different arms are distinct; 0: any suite may reuse them
  std::optional<core::OperationSpec> operation;  ///< measured instead of training; `config` is then unused
  core::AskedMetrics metrics;                    ///< that its runs measure besides those of the suite
  std::optional<core::KernelChoice> kernels;     ///< absent: the suite's
  bool is_exact = false;                  ///< every repetition gives the same result: run for the first seed only
  std::optional<std::size_t> seed_limit;  ///< run for the suite's first so many seeds only
  core::Json external;                    ///< an external trainer's command (external_suite.h); null for our engines
};

struct Matrix {
  std::vector<Cell> cells;
  std::vector<results::PlanContrast> contrasts;     ///< which combination of the cells estimates which effect
  std::vector<core::Message> messages;              ///< what was left out, completed or fitted, and why
  std::vector<core::EvaluationSpec> evaluations{};  ///< what every training run answers; set by prepare_data
};

/// A program that speaks the protocol of core/protocol/FORMAT.md.
struct Engine {
  std::vector<std::string> command;  ///< program and leading arguments; "--spec FILE --events-fd N" are added
  std::string name;                  ///< "nanobench-train", "mock"
  std::string version;               ///< identity: runs of another version are distinct
  /// The version now, of the file that a run executes; absent: it cannot change.
  std::function<std::string(const std::string& executed)> version_of_run{};
};

/// What decides which parts an engine loads.
struct EngineUse {
  core::DeviceChoice device;
  bool has_launcher = false;  ///< mpirun or srun starts the processes: they may use MPI
  /// Vector instructions of the machine that makes the runs; nullopt if not known beforehand, as on a cluster.
  std::optional<core::CpuPath> vector_path = core::best_cpu_path();
};

/// nanobench-train. Its version covers everything that computes: the program's bytes and, after a hyphen, LibTorch's
/// build, the plugins that such runs load, for a GPU also NVIDIA's libraries and driver, and the processor's
/// instructions. Reads a few MiB. Throws Error{kNotFound} if the program does not exist.
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
  int threads = 1;               ///< threads of every run; the suite's 0 is resolved
  std::string digest;            ///< covers everything that the store keeps of the plan, except the command line
  std::vector<PlannedRun> runs;  ///< in order of execution

  const Cell& cell_of(const PlannedRun& run) const { return matrix.cells[run.cell]; }
};

/// What the store tells of a finished run that answered the evaluations of this one.
std::map<std::string, std::string> evaluation_facts(const core::RunSpec& spec);
/// What a stored run must have to answer the planned one.
results::EvidenceNeed needed_evidence(const PlannedRun& run, bool needs_times = true);

/// Digest of the configuration that the cell trains with.
std::string config_digest(const Cell& cell);

/// The suite's cells. Throws Error with the suite's file and pointer for unknown records, features, values, scales.
Matrix make_matrix(const Suite& suite, const ablations::Catalogue& catalogue);

/// The same for a suite as people write it. A feature that it names and that can change nothing is an error then:
/// Throws Error{kInvalidArgument} with all of them and their reasons. Of a suite that a command line changed, only
/// those count that could not act before either; the others are left out with a message, as are features that no one
/// named.
Matrix make_asked_matrix(const Suite& suite, const ablations::Catalogue& catalogue);

/// Finds the data for all cells of the matrix in `cache_dir`, or makes it there. Fits the cells to the data: the
/// document separator, a vocabulary that is too small, a validation longer than the data, and a run longer than data
/// that may be read only once. Each change adds a message to the matrix. Writes the items of the suite's evaluations
/// into the cache, too. Throws Error for data that cannot be read or is too short to train on, and for a token outside
/// a requested vocabulary, with its shard and position.
core::DataSet prepare_data(const Suite& suite, Matrix& matrix, const std::filesystem::path& cache_dir);

/// Each seed runs all cells in its own shuffled order, so that a drift of the host does not look like an effect.
Plan make_plan(const Suite& suite, const Matrix& matrix, const core::DataSet& data, const Engine& engine,
               const results::MachineInfo& machine);

/// The plan as the store keeps it.
results::NewPlan stored_plan(const Plan& plan, const std::vector<std::string>& argv);

/// The running row of one planned run.
results::NewRun stored_run(const Plan& plan, const PlannedRun& run);

}  // namespace nanobench::suites
