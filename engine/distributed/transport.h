/// Moves bytes between processes; a QueuedCommunicator uses it to run its collectives.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "engine/distributed/communicator.h"

namespace nanobench::core {

/// Used by one thread at a time, not always the same one.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "shared memory", "tcp", "mpi": for messages and for the record of the run.
  virtual std::string name() const = 0;

  /// Returns when this process's part is done. Sums are taken in rank order. Throws PeerFailed.
  virtual void carry_out(const Collective& collective) = 0;
};

/// The elements [first, second) of `count` that process `rank` of `size` sums.
inline std::pair<std::size_t, std::size_t> part_of(std::size_t count, int rank, int size) {
  const auto r = static_cast<std::size_t>(rank);
  const auto n = static_cast<std::size_t>(size);
  return {count * r / n, count * (r + 1) / n};
}

}  // namespace nanobench::core
