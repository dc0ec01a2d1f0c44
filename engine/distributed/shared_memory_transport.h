/// The Transport between processes on one host. Tensors pass through shared memory in chunks, so the memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/distributed/mesh.h"
#include "engine/distributed/transport.h"

namespace nanobench::core {

/// Memory shared by the processes of one run, with what they need to use it: a barrier, and a record of the first
/// failure, which ends every wait.
///
/// Create it before the processes fork, or in a test before the threads that simulate processes start. All members may
/// be called from any process. Waiting sleeps in the kernel (futex) and never spins.
class SharedSegment {
 public:
  /// For `size` processes, with a payload slot of `slot_bytes` for each and one more for a result. Throws
  /// Error{kUnavailable} if the system lacks the memory.
  explicit SharedSegment(int size, std::size_t slot_bytes = kSlotBytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  int size() const { return size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  /// size() * slot_bytes() bytes; the running collective determines which process writes where.
  std::byte* slots() const { return slots_; }
  /// slot_bytes() bytes.
  std::byte* result() const { return slots_ + static_cast<std::size_t>(size_) * slot_bytes_; }

  /// Waits until all processes arrive. Everything written before it is visible to all processes afterwards. Throws
  /// PeerFailed when a process has failed.
  void barrier();

  /// A barrier at which every process declares its next operation. Also throws PeerFailed if the operations differ,
  /// which would be a bug in this program. A barrier() must come before the next meet().
  void meet(int rank, std::uint32_t operation, std::uint64_t bytes);

  /// Records a failure and wakes all waiters. The first failure is kept; later ones are dropped. `reporter`: the rank,
  /// or size() for the watcher of the processes; one thread at a time per reporter.
  void fail(int reporter, const ProcessFailure& failure);
  std::optional<ProcessFailure> failure() const;

  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

 private:
  struct Header;
  struct Place;  ///< data of one process
  void throw_if_failed() const;
  void check_agreement(int rank) const;

  int size_;
  std::size_t slot_bytes_;
  std::size_t mapped_bytes_ = 0;
  Header* header_ = nullptr;
  Place* places_ = nullptr;
  std::byte* slots_ = nullptr;
};

/// The segment must outlive it.
class SharedMemoryTransport final : public Transport {
 public:
  SharedMemoryTransport(SharedSegment& segment, int rank) : segment_(segment), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return segment_.size(); }
  std::string name() const override { return "shared memory"; }
  void carry_out(const Collective& collective) override;

 private:
  template <class T>
  void all_reduce(T* data, std::int64_t count);
  template <class T>
  void reduce_scatter(const std::vector<at::Tensor>& parts);
  void all_gather(const std::byte* input, const std::vector<at::Tensor>& outputs, std::size_t bytes);
  void broadcast(std::byte* data, std::size_t bytes, int root);
  void meet(Collective::Kind kind, std::size_t bytes);

  SharedSegment& segment_;
  int rank_;
};

}  // namespace nanobench::core
