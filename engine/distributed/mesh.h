/// Connections from each process of a run to each other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/distributed/process_failure.h"

namespace nanobench::core {

/// One thread at a time uses it.
class Mesh {
 public:
  virtual ~Mesh() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;

  /// Sends outgoing[p] to every other process p while it fills incoming[p] from it; what is at the own place is not
  /// looked at. All processes call it together, with the same `tag`, and agree on every size. Throws PeerFailed when a
  /// process has ended, and when two of them do not agree, which would be an error in this program.
  virtual void exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                        std::span<const std::span<std::byte>> incoming) = 0;
};

/// What is told to the person in place of `found`: the first failure of the run that anybody knows of.
using FirstFailure = std::function<ProcessFailure(const ProcessFailure& found)>;

}  // namespace nanobench::core
