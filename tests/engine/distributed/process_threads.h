/// Threads that play the processes of a run: the same communicator, without a fork.
#pragma once

#include <ATen/Parallel.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/distributed/mesh_transport.h"
#include "engine/distributed/queued_communicator.h"
#include "engine/distributed/rendezvous.h"
#include "engine/distributed/shared_memory_transport.h"
#include "engine/distributed/tcp_mesh.h"

namespace nanobench::core::testing {

/// What the threads talk through.
enum class Medium { kSharedMemory, kTcp };

/// The same for all threads; each takes its communicator from it.
class Meeting {
 public:
  Meeting(Medium medium, int processes, std::size_t chunk_bytes)
      : processes_(processes), chunk_bytes_(chunk_bytes), segment_(processes, chunk_bytes) {
    if (medium == Medium::kTcp) store_ = std::make_unique<Rendezvous>(place_, 0, processes);
    if (store_) place_.port = store_->port();
  }

  /// In the thread of `rank`.
  std::unique_ptr<Communicator> join(int rank) {
    if (!store_) return std::make_unique<QueuedCommunicator>(std::make_unique<SharedMemoryTransport>(segment_, rank));
    return std::make_unique<QueuedCommunicator>(std::make_unique<TcpTransport>(*this, rank));
  }

  void fail(int rank, const std::string& message) {
    if (!store_) segment_.fail(rank, {RunOutcome::kCrashed, message});
    if (store_) Rendezvous(place_, kVisitor, processes_).first_failure({RunOutcome::kCrashed, message});
  }

 private:
  static constexpr int kVisitor = 1;  ///< any rank but the store's

  /// Owns its connections, as a process does: they end with it.
  class TcpTransport final : public Transport {
   public:
    TcpTransport(Meeting& meeting, int rank)
        : own_(rank == 0 ? nullptr : std::make_unique<Rendezvous>(meeting.place_, rank, meeting.processes_)),
          rendezvous_(rank == 0 ? *meeting.store_ : *own_),
          mesh_(rendezvous_, meeting.place_, rank, meeting.processes_,
                [this](const ProcessFailure& found) { return rendezvous_.first_failure(found); }),
          transport_(mesh_, meeting.chunk_bytes_) {}
    int rank() const override { return mesh_.rank(); }
    int size() const override { return mesh_.size(); }
    std::string name() const override { return mesh_.name(); }
    void carry_out(const Collective& collective) override { transport_.carry_out(collective); }

   private:
    std::unique_ptr<Rendezvous> own_;
    Rendezvous& rendezvous_;
    TcpMesh mesh_;
    MeshTransport transport_;
  };

  int processes_;
  std::size_t chunk_bytes_;
  SharedSegment segment_;
  RendezvousPlace place_{.address = "127.0.0.1", .port = 0, .job = "test", .secret = "a secret of all these threads"};
  std::unique_ptr<Rendezvous> store_;  ///< rank 0's; null without TCP
};

/// Runs `body` once for each process, at the same time, each with its own communicator. A body that throws is a process
/// that fails. Returns what each of them said when it threw ("" if it did not).
inline std::vector<std::string> play_processes(int processes, const std::function<void(Communicator&)>& body,
                                               std::size_t chunk_bytes = SharedSegment::kSlotBytes,
                                               Medium medium = Medium::kSharedMemory) {
  Meeting meeting(medium, processes, chunk_bytes);
  std::vector<std::string> failures(static_cast<std::size_t>(processes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < processes; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& failure = failures[static_cast<std::size_t>(rank)];
      std::unique_ptr<Communicator> communicator;  // outlives the body: a failure is told before connections end
      try {
        at::set_num_threads(1);  // the processes are threads enough
        communicator = meeting.join(rank);
        body(*communicator);
      } catch (const std::exception& error) {
        failure = error.what();
        meeting.fail(rank, failure);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

/// All bodies came to their end.
#define NB_EXPECT_NO_FAILURE(failures) \
  for (const std::string& failure : (failures)) EXPECT_EQ(failure, "")

}  // namespace nanobench::core::testing
