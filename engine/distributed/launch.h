/// Who started this process as one of several, and what they told it. Plain C++; reads nothing but the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace nanobench::core {

enum class Launcher { kTorchrun, kMpirun, kSrun };

/// Rank and number of the processes of one run, as their launcher numbered them.
struct Launch {
  Launcher launcher = Launcher::kTorchrun;
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;  ///< among the processes of this host
  /// Where the processes find each other; empty where the launcher says nothing (mpirun).
  std::string address;
  int port = 0;
  bool has_hosted_store = false;  ///< the launcher itself listens at `address`, not rank 0 (torchrun's agent)
  std::string job;                ///< tells the processes of one start from those of another, at one address
};

/// The value of a variable, or null.
using Environment = std::function<const char*(const char*)>;

/// What the environment says; nullopt for a process that was started alone, and for one of one.
///   torchrun  RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, LOCAL_RANK; by hand as well
///   mpirun    OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK (Open MPI), or PMI_RANK, PMI_SIZE, MPI_LOCALRANKID (MPICH and
///             its kin)
///   srun      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID; address: the first host of SLURM_STEP_NODELIST, port:
///             from the numbers of job and step, so that steps at the same time seldom meet
/// MASTER_ADDR and MASTER_PORT count with all three. Throws Error{kInvalidArgument} for variables that make no sense.
std::optional<Launch> find_launch(const Environment& environment);

/// Of this process.
std::optional<Launch> find_launch();

/// The first host of Slurm's list: "node[03-05,9],login" gives "node03".
std::string first_slurm_host(const std::string& list);

const char* to_string(Launcher launcher);

}  // namespace nanobench::core
