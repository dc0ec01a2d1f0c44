/// Moves bytes between processes; a QueuedCommunicator uses it to run its collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/base/error.h"
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

/// Calls body with a null pointer of the type of the tensor's numbers: float, double or std::int64_t.
template <class Body>
void with_summed_type(const at::Tensor& tensor, const Body& body) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return body(static_cast<float*>(nullptr));
    case at::kDouble: return body(static_cast<double*>(nullptr));
    case at::kLong: return body(static_cast<std::int64_t*>(nullptr));
    default: throw Error(ErrorCode::kInternal, "sum of an unexpected dtype");
  }
}

/// The elements [first, second) of `count` that process `rank` of `size` sums.
inline std::pair<std::size_t, std::size_t> part_of(std::size_t count, int rank, int size) {
  const auto r = static_cast<std::size_t>(rank);
  const auto n = static_cast<std::size_t>(size);
  return {count * r / n, count * (r + 1) / n};
}

}  // namespace nanobench::core
