#include "engine/distributed/shared_memory_transport.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

#include "core/base/error.h"

namespace nanobench::core {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kMessageBytes = 2048;
constexpr int kNobody = -1;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "atomics in shared memory must not hide a lock of one process");

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

/// std::atomic::wait is for the threads of one process; these work for all processes that map the word.
void sleep_while_equal(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

struct alignas(kLine) SharedSegment::Header {
  std::atomic<std::uint32_t> arrived{0};
  alignas(kLine) std::atomic<std::uint32_t> generation{0};  ///< goes up when a barrier opens and when a process fails
  alignas(kLine) std::atomic<int> first_failed{kNobody};
};

struct alignas(kLine) SharedSegment::Place {
  std::uint32_t operation = 0;
  std::uint64_t bytes = 0;
  int outcome = 0;
  std::array<char, kMessageBytes> message{};
};

SharedSegment::SharedSegment(int size, std::size_t slot_bytes)
    : size_(size), slot_bytes_(round_up(std::max<std::size_t>(slot_bytes, kLine), kLine)) {
  const auto processes = static_cast<std::size_t>(size);
  const std::size_t head_bytes = sizeof(Header) + (processes + 1) * sizeof(Place);
  mapped_bytes_ = head_bytes + (processes + 1) * slot_bytes_;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::kUnavailable, "cannot share " + std::to_string(mapped_bytes_) + " bytes among " +
                                             std::to_string(size) + " processes: " + std::strerror(errno));
  }
  auto* bytes = static_cast<std::byte*>(memory);
  header_ = new (bytes) Header;
  places_ = new (bytes + sizeof(Header)) Place[processes + 1];
  slots_ = bytes + head_bytes;
}

SharedSegment::~SharedSegment() {
  munmap(header_, mapped_bytes_);
}

void SharedSegment::barrier() {
  const std::uint32_t generation = header_->generation.load(std::memory_order_acquire);
  throw_if_failed();
  if (header_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    header_->arrived.store(0, std::memory_order_relaxed);
    header_->generation.fetch_add(1, std::memory_order_acq_rel);
    wake_all(header_->generation);
  } else {
    while (header_->generation.load(std::memory_order_acquire) == generation)
      sleep_while_equal(header_->generation, generation);
  }
  throw_if_failed();
}

void SharedSegment::meet(int rank, std::uint32_t operation, std::uint64_t bytes) {
  places_[rank].operation = operation;
  places_[rank].bytes = bytes;
  barrier();
  check_agreement(rank);  // nobody passes the next barrier, and so writes its next intention, before all have looked
}

void SharedSegment::check_agreement(int rank) const {
  const Place& mine = places_[rank];
  for (int other = 0; other < size_; ++other) {
    const Place& theirs = places_[other];
    if (theirs.operation == mine.operation && theirs.bytes == mine.bytes) continue;
    const auto text = [](const Place& place) {
      return "operation " + std::to_string(place.operation) + " of " + std::to_string(place.bytes) + " bytes";
    };
    throw PeerFailed({RunOutcome::kCrashed, "internal error: process " + std::to_string(rank) + " communicates " +
                                                text(mine) + " while process " + std::to_string(other) +
                                                " communicates " + text(theirs)});
  }
}

void SharedSegment::fail(int reporter, const ProcessFailure& failure) {
  if (header_->first_failed.load(std::memory_order_acquire) != kNobody) return;
  Place& place = places_[reporter];
  place.outcome = static_cast<int>(failure.outcome);
  const std::size_t length = std::min(failure.message.size(), kMessageBytes - 1);
  std::copy_n(failure.message.begin(), length, place.message.begin());
  place.message[length] = '\0';
  int expected = kNobody;
  if (!header_->first_failed.compare_exchange_strong(expected, reporter, std::memory_order_acq_rel)) return;
  header_->generation.fetch_add(1, std::memory_order_acq_rel);
  wake_all(header_->generation);
}

std::optional<ProcessFailure> SharedSegment::failure() const {
  const int reporter = header_->first_failed.load(std::memory_order_acquire);
  if (reporter == kNobody) return std::nullopt;
  const Place& place = places_[reporter];
  return ProcessFailure{static_cast<RunOutcome>(place.outcome), place.message.data()};
}

void SharedSegment::throw_if_failed() const {
  if (const std::optional<ProcessFailure> known = failure()) throw PeerFailed(*known);
}

namespace {

std::byte* data_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

}  // namespace

void SharedMemoryTransport::carry_out(const Collective& collective) {
  const at::Tensor& tensor = collective.tensor;
  const std::size_t bytes = tensor.defined() ? tensor.nbytes() : 0;
  switch (collective.kind) {
    case Collective::Kind::kBarrier:
      meet(collective.kind, 0);
      segment_.barrier();
      break;
    case Collective::Kind::kAllReduceSum:
      with_summed_type(tensor, [&]<class T>(T*) { all_reduce(tensor.data_ptr<T>(), tensor.numel()); });
      break;
    case Collective::Kind::kAllGather: all_gather(data_of(tensor), collective.outputs, bytes); break;
    case Collective::Kind::kBroadcast: broadcast(data_of(tensor), bytes, collective.root); break;
    case Collective::Kind::kReduceScatterSum:
      with_summed_type(tensor, [&]<class T>(T*) { reduce_scatter<T>(collective.outputs); });
      break;
  }
}

void SharedMemoryTransport::meet(Collective::Kind kind, std::size_t bytes) {
  segment_.meet(rank_, static_cast<std::uint32_t>(kind), bytes);
}

/// Slots -> sums -> all processes. Each process sums its part of every chunk, so the work is shared, and each element
/// is summed once, in rank order. The slots are free again after the second barrier. The result is written only after
/// the first barrier of the next chunk, which every process reaches after copying the result out.
template <class T>
void SharedMemoryTransport::all_reduce(T* data, std::int64_t count) {
  const auto total = static_cast<std::size_t>(count);
  const std::size_t chunk = segment_.slot_bytes() / sizeof(T);
  auto* result = reinterpret_cast<T*>(segment_.result());
  const auto slot = [&](int rank) {
    return reinterpret_cast<T*>(segment_.slots() + static_cast<std::size_t>(rank) * segment_.slot_bytes());
  };
  for (std::size_t begin = 0; begin < total; begin += chunk) {
    const std::size_t size = std::min(chunk, total - begin);
    std::memcpy(slot(rank_), data + begin, size * sizeof(T));
    meet(Collective::Kind::kAllReduceSum, size * sizeof(T));
    const auto [first, last] = part_of(size, rank_, segment_.size());
    std::copy(slot(0) + first, slot(0) + last, result + first);
    for (int other = 1; other < segment_.size(); ++other) {
      const T* term = slot(other);
      for (std::size_t i = first; i < last; ++i) result[i] += term[i];
    }
    segment_.barrier();
    std::memcpy(data + begin, result, size * sizeof(T));
  }
}

/// A slot has an equal share for each process's part; each process sums its own shares of all slots, in rank order,
/// into its part.
template <class T>
void SharedMemoryTransport::reduce_scatter(const std::vector<at::Tensor>& parts) {
  const std::size_t processes = parts.size();
  const std::size_t share = segment_.slot_bytes() / sizeof(T) / processes;
  const auto count_at = [&](std::size_t part, std::size_t begin) {
    const auto total = static_cast<std::size_t>(parts[part].numel());
    return begin < total ? std::min(share, total - begin) : 0;
  };
  const auto slot = [&](std::size_t process) {
    return reinterpret_cast<T*>(segment_.slots() + process * segment_.slot_bytes());
  };
  const auto own = static_cast<std::size_t>(rank_);
  std::int64_t longest = 0;
  for (const at::Tensor& part : parts) longest = std::max(longest, part.numel());
  for (std::size_t begin = 0; begin < static_cast<std::size_t>(longest); begin += share) {
    std::size_t bytes = 0;
    for (std::size_t part = 0; part < processes; ++part) {
      const std::size_t count = count_at(part, begin);
      if (count > 0) std::copy_n(parts[part].data_ptr<T>() + begin, count, slot(own) + part * share);
      bytes += count * sizeof(T);
    }
    meet(Collective::Kind::kReduceScatterSum, bytes);
    const std::size_t count = count_at(own, begin);
    if (count > 0) {
      T* const sum = parts[own].data_ptr<T>() + begin;
      std::copy_n(slot(0) + own * share, count, sum);
      for (std::size_t process = 1; process < processes; ++process) {
        const T* term = slot(process) + own * share;
        for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
      }
    }
    segment_.barrier();
  }
}

/// The processes' chunks are adjacent: a contiguous output takes a whole gather in one copy.
void SharedMemoryTransport::all_gather(const std::byte* input, const std::vector<at::Tensor>& outputs,
                                       std::size_t bytes) {
  const auto processes = static_cast<std::size_t>(segment_.size());
  const bool is_one_piece = outputs.size() == 1;
  for (std::size_t begin = 0; begin < bytes; begin += segment_.slot_bytes()) {
    const std::size_t size = std::min(segment_.slot_bytes(), bytes - begin);
    std::memcpy(segment_.slots() + static_cast<std::size_t>(rank_) * size, input + begin, size);
    meet(Collective::Kind::kAllGather, size);
    if (is_one_piece && size == bytes) {
      std::memcpy(data_of(outputs.front()), segment_.slots(), processes * size);
    } else {
      for (std::size_t process = 0; process < processes; ++process) {
        std::byte* output = is_one_piece ? data_of(outputs.front()) + process * bytes : data_of(outputs[process]);
        std::memcpy(output + begin, segment_.slots() + process * size, size);
      }
    }
    segment_.barrier();
  }
}

void SharedMemoryTransport::broadcast(std::byte* data, std::size_t bytes, int root) {
  for (std::size_t begin = 0; begin < bytes; begin += segment_.slot_bytes()) {
    const std::size_t size = std::min(segment_.slot_bytes(), bytes - begin);
    if (rank_ == root) std::memcpy(segment_.slots(), data + begin, size);
    meet(Collective::Kind::kBroadcast, size);
    if (rank_ != root) std::memcpy(data + begin, segment_.slots(), size);
    segment_.barrier();
  }
}

}  // namespace nanobench::core
