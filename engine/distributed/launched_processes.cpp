#include "engine/distributed/launched_processes.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/secret_file.h"
#include "engine/distributed/mesh_transport.h"
#include "engine/distributed/queued_communicator.h"

namespace nanobench::core {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{20};
constexpr int kFirstSpeaks = 75;  // intervals

std::chrono::seconds patience() {
  const char* text = std::getenv("NANOBENCH_RENDEZVOUS_SECONDS");
  const int seconds = text == nullptr ? 0 : std::atoi(text);
  return std::chrono::seconds(seconds > 0 ? seconds : 60);
}

}  // namespace

LaunchedProcesses::LaunchedProcesses(const Launch& launch, CommunicatorChoice communicator) {
  start_world(launch, communicator);
  meet(place_of(launch), launch.rank, launch.size);
  Mesh* mesh = connections_.get();
  if (world_) {
    mpi_mesh_ = world_->mesh([this](const ProcessFailure& found) { return rendezvous_->first_failure(found); },
                             [this] { connections_->check_alive(); });
    mesh = mpi_mesh_.get();
  }
  HostShare host = connections_->host_share();
  if (launch.local_rank && *launch.local_rank < host.size) host.rank = *launch.local_rank;
  communicator_ = std::make_unique<QueuedCommunicator>(std::make_unique<MeshTransport>(*mesh), host);
}

/// Whether to use MPI: if requested, or under mpirun if available. Without MPI, the launcher's address is sufficient.
void LaunchedProcesses::start_world(const Launch& launch, CommunicatorChoice communicator) {
  const bool may_use = communicator == CommunicatorChoice::kAuto && launch.launcher == Launcher::kMpirun;
  if (communicator != CommunicatorChoice::kMpi && !may_use) return;
  try {
    world_ = start_mpi();
  } catch (const Error& error) {
    rethrow_internal(error);
    if (communicator == CommunicatorChoice::kMpi || launch.address.empty()) throw;
    return;
  }
  if (world_->rank() == launch.rank && world_->size() == launch.size) return;
  throw Error(ErrorCode::kUnavailable, "MPI numbers this process " + std::to_string(world_->rank()) + " of " +
                                           std::to_string(world_->size()) + ", but " + enum_name(launch.launcher) +
                                           " " + std::to_string(launch.rank) + " of " + std::to_string(launch.size) +
                                           "; use the mpirun of the MPI that the engine was built with");
}

std::string LaunchedProcesses::secret_of(const Launch& launch) {
  if (world_) return world_->exchange(launch.rank == 0 ? new_secret() : "").front();
  return launch.secret_file.empty() ? own_secret() : read_secret_file(launch.secret_file);
}

RendezvousPlace LaunchedProcesses::place_of(const Launch& launch) {
  RendezvousPlace place{.address = launch.address,
                        .port = launch.port,
                        .is_hosted = launch.has_hosted_store,
                        .job = launch.job,
                        .secret = secret_of(launch),
                        .patience = patience()};
  if (!place.address.empty() && place.port != 0) return place;
  if (!world_) {
    throw Error(ErrorCode::kUnavailable,
                "nothing says where the processes find each other; set MASTER_ADDR to the first process's host and "
                "MASTER_PORT to a free port there");
  }
  // Rank 0 opens any port and sends it to the others by MPI.
  const std::vector<std::string> hosts = world_->exchange(host_name());
  const bool is_one_host = std::all_of(hosts.begin(), hosts.end(), [&](const auto& h) { return h == hosts.front(); });
  if (place.address.empty()) place.address = is_one_host ? "127.0.0.1" : hosts.front();
  return place;
}

void LaunchedProcesses::meet(RendezvousPlace place, int rank, int size) {
  const bool is_told_by_mpi = place.port == 0;
  if (!is_told_by_mpi || rank == 0) rendezvous_ = std::make_unique<Rendezvous>(place, rank, size);
  if (is_told_by_mpi) {
    const std::vector<std::string> ports = world_->exchange(rank == 0 ? std::to_string(rendezvous_->port()) : "");
    place.port = std::atoi(ports.front().c_str());
    if (rank > 0) rendezvous_ = std::make_unique<Rendezvous>(place, rank, size);
  }
  connections_ = std::make_unique<TcpMesh>(*rendezvous_, place, rank, size, [this](const ProcessFailure& found) {
    return rendezvous_->first_failure(found);
  });
}

LaunchedProcesses::~LaunchedProcesses() {
  end_watch();
}

void LaunchedProcesses::watch(const std::function<void(const ProcessFailure&)>& on_death) {
  watcher_ = std::thread([this, on_death] {
    while (!is_ending_) {
      try {
        connections_->check_alive();
      } catch (const PeerFailed& failure) {
        on_death({failure.outcome(), failure.what()});
        return;
      }
      std::this_thread::sleep_for(kWatchInterval);
    }
  });
}

void LaunchedProcesses::wait_for_first_process() {
  for (int i = 0; i < kFirstSpeaks && connections_->is_alive(0); ++i) std::this_thread::sleep_for(kWatchInterval);
}

void LaunchedProcesses::end_watch() {
  is_ending_ = true;
  if (watcher_.joinable()) watcher_.join();
}

void LaunchedProcesses::finish() {
  communicator_->barrier();
  end_watch();
  connections_->say_goodbye();
  if (world_) world_->finalize();
}

void LaunchedProcesses::check_alive() {
  connections_->check_alive();
}

std::int64_t LaunchedProcesses::dropped_connections() const {
  return rendezvous_->dropped() + connections_->dropped();
}

void LaunchedProcesses::report_failure(const ProcessFailure& failure) {
  rendezvous_->first_failure(failure);
}

}  // namespace nanobench::core
