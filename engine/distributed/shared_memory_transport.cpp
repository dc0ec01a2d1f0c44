#include "engine/distributed/shared_memory_transport.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace nanobench::core {
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
    case Collective::Kind::kAllReduceSum: all_reduce(tensor); break;
    case Collective::Kind::kAllGather: all_gather(data_of(tensor), collective.outputs, bytes); break;
    case Collective::Kind::kBroadcast: broadcast(data_of(tensor), bytes, collective.root); break;
  }
}

void SharedMemoryTransport::meet(Collective::Kind kind, std::size_t bytes) {
  segment_.meet(rank_, static_cast<std::uint32_t>(kind), bytes);
}

void SharedMemoryTransport::all_reduce(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: all_reduce_as(tensor.data_ptr<float>(), tensor.numel()); break;
    case at::kDouble: all_reduce_as(tensor.data_ptr<double>(), tensor.numel()); break;
    case at::kLong: all_reduce_as(tensor.data_ptr<std::int64_t>(), tensor.numel()); break;
    default: throw Error(ErrorCode::kInternal, "sum of an unexpected dtype");
  }
}

/// Slots -> sums -> all processes. Each process sums its part of every chunk, so the work is shared, and each element
/// is summed once, in rank order. The slots are free again after the second barrier. The result is written only after
/// the first barrier of the next chunk, which every process reaches after copying the result out.
template <class T>
void SharedMemoryTransport::all_reduce_as(T* data, std::int64_t count) {
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
