/// The Transport over a Mesh: collectives built from pairwise exchanges, chunk by chunk.
#pragma once

#include <memory>
#include <vector>

#include "engine/distributed/mesh.h"
#include "engine/distributed/transport.h"

namespace nanobench::core {

/// Sums are computed in parts: each process sums its part of every chunk in rank order and sends the result to all
/// others. Each process sends 2 (P - 1) / P times the tensor's bytes.
class MeshTransport final : public Transport {
 public:
  /// The mesh must outlive it. `chunk_bytes`: bytes of a tensor sent at a time.
  explicit MeshTransport(Mesh& mesh, std::size_t chunk_bytes = kChunkBytes);

  int rank() const override { return mesh_.rank(); }
  int size() const override { return mesh_.size(); }
  std::string name() const override { return mesh_.name(); }
  void carry_out(const Collective& collective) override;

  static constexpr std::size_t kChunkBytes = std::size_t{1} << 22;

 private:
  using Outgoing = std::vector<std::span<const std::byte>>;
  using Incoming = std::vector<std::span<std::byte>>;

  template <class T>
  void all_reduce(T* data, std::size_t count);
  template <class T>
  void reduce_scatter(const std::vector<at::Tensor>& parts);
  void all_gather(std::span<const std::byte> input, const std::vector<at::Tensor>& outputs);
  void broadcast(std::span<std::byte> data, int root);
  void exchange(Collective::Kind kind, const Outgoing& outgoing, const Incoming& incoming);
  Outgoing nothing_out() const { return Outgoing(static_cast<std::size_t>(size())); }
  Incoming nothing_in() const { return Incoming(static_cast<std::size_t>(size())); }

  Mesh& mesh_;
  std::size_t chunk_bytes_;
  std::vector<std::byte> terms_;  ///< terms from the other processes for this one's part
};

}  // namespace nanobench::core
