/// The Transport between processes on one host. Tensors pass through shared memory in chunks, so the memory is bounded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/distributed/shared_segment.h"
#include "engine/distributed/transport.h"

namespace nanobench::core {

/// The segment must outlive it.
class SharedMemoryTransport final : public Transport {
 public:
  SharedMemoryTransport(SharedSegment& segment, int rank) : segment_(segment), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return segment_.size(); }
  std::string name() const override { return "shared memory"; }
  void carry_out(const Collective& collective) override;

 private:
  void all_reduce(const at::Tensor& tensor);
  template <class T>
  void all_reduce_as(T* data, std::int64_t count);
  void all_gather(const std::byte* input, const std::vector<at::Tensor>& outputs, std::size_t bytes);
  void broadcast(std::byte* data, std::size_t bytes, int root);
  void meet(Collective::Kind kind, std::size_t bytes);

  SharedSegment& segment_;
  int rank_;
};

}  // namespace nanobench::core
