#include "engine/distributed/launch.h"

#include <cstdlib>
#include <limits>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/secret_file.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr int kFirstPort = 10000;  // below the ports that systems give out by themselves
constexpr int kPorts = 20000;

std::string text_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<int> number_of(const Environment& environment, const char* name) {
  const std::string text = text_of(environment, name);
  if (text.empty()) return std::nullopt;
  const std::optional<std::int64_t> value = parse_count(text);
  if (!value || *value > std::numeric_limits<int>::max()) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kMalformed,
                  std::string("the environment variable ") + name + " should be a number, but is \"" + text +
                      "\"; unset it, or start the processes by torchrun, mpirun or srun",
                  name);
  }
  return static_cast<int>(*value);
}

/// Variable names of one launcher.
struct Names {
  Launcher launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
};

constexpr Names kNames[] = {
    {Launcher::kTorchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {Launcher::kMpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {Launcher::kMpirun, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    // Not SLURM_NTASKS: a batch script has that too, and it is one process.
    {Launcher::kSrun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

std::optional<Launch> read_numbers(const Environment& environment, const Names& names) {
  const std::optional<int> size = number_of(environment, names.size);
  if (!size || *size <= 1) return std::nullopt;
  const std::optional<int> rank = number_of(environment, names.rank);
  if (!rank) return std::nullopt;
  if (*rank >= *size) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                  std::string(names.rank) + " is " + std::to_string(*rank) + ", but " + names.size + " is " +
                      std::to_string(*size) + "; ranks go from 0 to one less than the size",
                  names.rank);
  }
  Launch launch;
  launch.launcher = names.launcher;
  launch.rank = *rank;
  launch.size = *size;
  launch.local_rank = number_of(environment, names.local_rank);
  return launch;
}

void add_slurm_place(const Environment& environment, Launch& launch) {
  launch.address = first_slurm_host(text_of(environment, "SLURM_STEP_NODELIST"));
  const int job = number_of(environment, "SLURM_JOB_ID").value_or(0);
  const int step = number_of(environment, "SLURM_STEP_ID").value_or(0);
  launch.port = kFirstPort + (job % kPorts * 7 + step) % kPorts;
  launch.job = std::to_string(job) + "." + std::to_string(step);
}

void add_place(const Environment& environment, Launch& launch) {
  if (launch.launcher == Launcher::kSrun) add_slurm_place(environment, launch);
  const std::string address = text_of(environment, "MASTER_ADDR");
  const std::optional<int> port = number_of(environment, "MASTER_PORT");
  if (!address.empty()) launch.address = address;
  if (port) launch.port = *port;
  if (launch.port > 65535)
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                  "MASTER_PORT is " + std::to_string(launch.port) + "; ports end at 65535", "MASTER_PORT");
  if (launch.launcher != Launcher::kTorchrun) return;
  if (launch.address.empty() || launch.port == 0) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kMissingKey,
                  "RANK and WORLD_SIZE say that this is one of " + std::to_string(launch.size) +
                      " processes, but MASTER_ADDR and MASTER_PORT do not say where they find each other; set them, or "
                      "unset RANK and WORLD_SIZE",
                  launch.address.empty() ? "MASTER_ADDR" : "MASTER_PORT");
  }
  launch.has_hosted_store = text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.job = text_of(environment, "TORCHELASTIC_RUN_ID") + "." + text_of(environment, "TORCHELASTIC_RESTART_COUNT");
}

}  // namespace

std::optional<Launch> find_launch(const Environment& environment) {
  for (const Names& names : kNames) {
    if (std::optional<Launch> launch = read_numbers(environment, names)) {
      add_place(environment, *launch);
      launch->secret_file = text_of(environment, kSecretFileVariable);
      return launch;
    }
  }
  return std::nullopt;
}

std::optional<Launch> find_launch() {
  return find_launch([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

std::string first_slurm_host(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return host;
  const std::size_t number_end = list.find_first_of("-,]", end + 1);
  host += list.substr(end + 1, number_end - end - 1);
  const std::size_t close = list.find(']', end);
  if (close == std::string::npos) return host;
  const std::string rest = list.substr(close + 1);  // a suffix behind the numbers, as in "rack[1-2]-a"
  const std::string suffix = rest.substr(0, rest.find_first_of(",["));
  return host + suffix;
}

}  // namespace nanobench::core
