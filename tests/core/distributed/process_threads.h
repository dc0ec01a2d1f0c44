/// Threads that play the processes of a run: the same communicator, without a fork.
#pragma once

#include <ATen/Parallel.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/distributed/shared_memory_communicator.h"

namespace nanobench::core::testing {

/// Runs `body` once for each process, at the same time, each with its own communicator. A body that throws is a process
/// that fails. Returns what each of them said when it threw ("" if it did not).
inline std::vector<std::string> play_processes(int processes, const std::function<void(Communicator&)>& body,
                                               std::size_t slot_bytes = SharedSegment::kSlotBytes) {
  SharedSegment segment(processes, slot_bytes);
  std::vector<std::string> failures(static_cast<std::size_t>(processes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < processes; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& failure = failures[static_cast<std::size_t>(rank)];
      try {
        at::set_num_threads(1);  // the processes are threads enough
        SharedMemoryCommunicator communicator(segment, rank);
        body(communicator);
      } catch (const std::exception& error) {
        failure = error.what();
        segment.fail(rank, {RunOutcome::kCrashed, failure});
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
