/// Pairwise connections between the processes of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/distributed/process_failure.h"

namespace nanobench::core {

/// Used by one thread at a time.
class Mesh {
 public:
  virtual ~Mesh() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;

  /// Sends outgoing[p] to every other process p and fills incoming[p] from it; the process's own entry is ignored. All
  /// processes call it together, with the same `tag` and matching sizes. Throws PeerFailed when a process has ended, or
  /// when two processes disagree, which would be a bug in this program.
  virtual void exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                        std::span<const std::span<std::byte>> incoming) = 0;
};

/// Returns the failure to report instead of `found`: the first known failure of the run.
using FirstFailure = std::function<ProcessFailure(const ProcessFailure& found)>;

}  // namespace nanobench::core
