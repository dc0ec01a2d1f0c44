/// Memory that the processes of one run share, and the two things that they need to use it: a barrier, and word of the
/// first failure, which ends every wait.
///
/// Made before the processes fork (or before the threads that play processes in a test start). All members may be
/// called from any process. Waiting sleeps in the kernel (futex), it never spins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/distributed/process_failure.h"

namespace nanobench::core {

class SharedSegment {
 public:
  /// For `size` processes, with `slot_bytes` of payload for each and one more for a result. Throws
  /// Error{kUnavailable} when the system has no memory for it.
  explicit SharedSegment(int size, std::size_t slot_bytes = kSlotBytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  int size() const { return size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  /// size() * slot_bytes() bytes; who writes where is agreed on by the collective that runs.
  std::byte* slots() const { return slots_; }
  /// slot_bytes() bytes.
  std::byte* result() const { return slots_ + static_cast<std::size_t>(size_) * slot_bytes_; }

  /// Waits until all processes are here. Everything written before is seen by all afterwards. Throws PeerFailed when a
  /// process has failed.
  void barrier();

  /// A barrier at which every process says what it is about to do. Throws PeerFailed also when they are about to do
  /// different things, which would be an error in this program. A barrier() must come before the next meet().
  void meet(int rank, std::uint32_t operation, std::uint64_t bytes);

  /// Notes a failure and wakes everybody. The first one counts, later ones are forgotten. `reporter`: the rank, or
  /// size() for whoever watches the processes; one thread at a time for each.
  void fail(int reporter, const ProcessFailure& failure);
  std::optional<ProcessFailure> failure() const;

  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

 private:
  struct Header;
  struct Place;  ///< what belongs to one process
  void throw_if_failed() const;
  void check_agreement(int rank) const;

  int size_;
  std::size_t slot_bytes_;
  std::size_t mapped_bytes_ = 0;
  Header* header_ = nullptr;
  Place* places_ = nullptr;
  std::byte* slots_ = nullptr;
};

}  // namespace nanobench::core
