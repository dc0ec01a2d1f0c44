/// Finds out which launcher started this process as one of several, and with which parameters. Plain C++; reads only
/// the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/enum_names.h"

namespace nanobench::core {

enum class Launcher { kTorchrun, kMpirun, kSrun };

/// Rank and number of the processes of one run, as their launcher numbered them.
struct Launch {
  Launcher launcher = Launcher::kTorchrun;
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;  ///< among the processes of this host
  /// Where the processes find each other; empty if the launcher does not provide it (mpirun).
  std::string address;
  int port = 0;
  bool has_hosted_store = false;  ///< the launcher listens at `address` instead of rank 0 (torchrun's agent)
  std::string job;                ///< distinguishes the processes of different starts at one address
  std::string secret_file;        ///< holds the secret that all processes share; empty: none was named
};

/// The value of a variable, or null.
using Environment = std::function<const char*(const char*)>;

/// The launch described by the environment; nullopt for a process started alone, and for a launch of one process.
///   torchrun  RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, LOCAL_RANK; may also be set by hand
///   mpirun    OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK (Open MPI), or PMI_RANK, PMI_SIZE, MPI_LOCALRANKID (MPICH and
///             derivatives)
///   srun      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID; address: the first host of SLURM_STEP_NODELIST;
///             port: derived from job and step, so that concurrent steps rarely collide
/// MASTER_ADDR, MASTER_PORT and NANOBENCH_SECRET_FILE apply to all three. Throws Error{kInvalidArgument} for variables
/// that make no sense.
std::optional<Launch> find_launch(const Environment& environment);

/// The launch of this process.
std::optional<Launch> find_launch();

/// The first host in Slurm's list: "node[03-05,9],login" gives "node03".
std::string first_slurm_host(const std::string& list);

NB_ENUM_NAMES(Launcher, {Launcher::kTorchrun, "torchrun"}, {Launcher::kMpirun, "mpirun"}, {Launcher::kSrun, "srun"});

}  // namespace nanobench::core
