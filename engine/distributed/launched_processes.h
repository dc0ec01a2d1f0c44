/// Processes started by torchrun, mpirun or srun, on one or more hosts.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "engine/distributed/mpi_plugin.h"
#include "engine/distributed/process_group.h"
#include "engine/distributed/rendezvous.h"
#include "engine/distributed/tcp_mesh.h"

namespace nanobench::core {

/// They meet at a Rendezvous and connect pairwise by TCP. These connections carry tensors, or with MPI only the news of
/// a death. A run under mpirun uses MPI if the plugin is available. Every connection is authenticated by a secret: with
/// MPI, one that process 0 makes and MPI passes on; else that of the launch's secret file; else the user's own.
class LaunchedProcesses final : public ProcessGroup {
 public:
  /// `communicator`: any choice except kSharedMemory. Throws Error{kUnavailable}.
  LaunchedProcesses(const Launch& launch, CommunicatorChoice communicator);
  ~LaunchedProcesses() override;
  LaunchedProcesses(const LaunchedProcesses&) = delete;
  LaunchedProcesses& operator=(const LaunchedProcesses&) = delete;

  Communicator& communicator() override { return *communicator_; }
  void finish() override;
  void check_alive() override;
  void wait_for_first_process() override;
  void watch(const std::function<void(const ProcessFailure&)>& on_death) override;
  void report_failure(const ProcessFailure& failure) override;
  std::int64_t dropped_connections() const override;

 private:
  void start_world(const Launch& launch, CommunicatorChoice communicator);
  RendezvousPlace place_of(const Launch& launch);
  std::string secret_of(const Launch& launch);
  void end_watch();
  void meet(RendezvousPlace place, int rank, int size);

  std::unique_ptr<MpiWorld> world_;  ///< null without MPI
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<TcpMesh> connections_;
  std::unique_ptr<Mesh> mpi_mesh_;
  std::unique_ptr<Communicator> communicator_;
  std::atomic<bool> is_ending_{false};
  std::thread watcher_;
};

}  // namespace nanobench::core
