/// Suite -> Matrix{Cell} -> Plan{PlannedRun}: what will be run, in which order, and each run's identity. Pure functions
/// of their arguments (and of the machine's hardware class).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "results/records.h"
#include "suites/suite.h"

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
};

struct Matrix {
  std::vector<Cell> cells;
  std::vector<std::string> messages;  ///< cells left out or completed because of requires/conflicts, notes of the scale
};

/// The data that a plan runs on.
struct PlanData {
  std::string name;
  std::vector<std::string> train_shards;
  std::vector<std::string> val_shards;
  std::string digest;
  std::int64_t vocab_size = 0;
  std::int64_t separator = 0;
  std::optional<double> floor_nats;  ///< entropy rate, where it is known
};

/// A program that speaks the protocol of core/protocol/FORMAT.md.
struct Engine {
  std::vector<std::string> command;  ///< program and leading arguments; "--spec FILE --events-fd N" are added
  std::string name;                  ///< "nanobench-train", "mock"
  std::string version;               ///< identity: another version's runs are other runs
};

/// The engine in this program file: its version is the digest of the file's bytes. Throws Error{kNotFound}.
Engine engine_from_program(const std::string& name, std::vector<std::string> command);

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
  PlanData data;
  Engine engine;
  std::string hardware;
  std::string digest;
  std::vector<PlannedRun> runs;  ///< in the order of execution

  const Cell& cell_of(const PlannedRun& run) const { return matrix.cells[run.cell]; }
};

/// The suite's cells. Throws Error with the suite's file and pointer for unknown records, features, values, scales.
Matrix make_matrix(const Suite& suite, const ablations::Catalogue& catalogue);

/// Data for all cells of the matrix, made or found in `cache_dir`, and its vocabulary and separator put into the cells.
PlanData prepare_data(const Suite& suite, Matrix& matrix, const std::string& cache_dir);

/// For each seed all cells in a shuffled order of their own: a drift of the host must not look like an effect.
Plan make_plan(const Suite& suite, const Matrix& matrix, const PlanData& data, const Engine& engine,
               const std::string& hardware);

/// The plan as the store keeps it.
results::NewPlan to_stored(const Plan& plan, const std::vector<std::string>& argv);

/// The running row of one planned run.
results::NewRun to_stored(const Plan& plan, const PlannedRun& run);

}  // namespace nanobench::suites
