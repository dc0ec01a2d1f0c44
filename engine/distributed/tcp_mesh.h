/// The Mesh of TCP connections, between processes of one host or of several.
#pragma once

#include <memory>
#include <vector>

#include "engine/distributed/communicator.h"
#include "engine/distributed/mesh.h"
#include "engine/distributed/rendezvous.h"
#include "engine/distributed/socket.h"

namespace nanobench::core {

/// A process that ends without say_goodbye() is noticed by all others: at once when its host lives, within about ten
/// seconds when the host is gone.
class TcpMesh final : public Mesh {
 public:
  /// Connects each with each; returns in all processes or throws in them. Throws Error{kUnavailable} naming what could
  /// not be reached.
  TcpMesh(Rendezvous& rendezvous, const RendezvousPlace& place, int rank, int size, FirstFailure first_failure);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "tcp"; }
  /// By the names that the hosts give themselves.
  const HostShare& host_share() const { return host_share_; }

  void exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                std::span<const std::span<std::byte>> incoming) override;

  /// Throws PeerFailed when a process has ended without a goodbye. For whoever waits for something else.
  void check_alive();
  /// Whether process `peer` has neither ended nor said goodbye.
  bool is_alive(int peer) const;

  /// The run has come to its end here: that this process ends is no failure from now on. The last thing to be called.
  void say_goodbye() noexcept;

 private:
  struct Peer {
    Socket socket;
  };
  class Transfer;

  void connect(const std::vector<std::string>& cards, const Socket& listener, const RendezvousPlace& place);
  void accept_higher_ranks(const std::string& token, const Socket& listener, const RendezvousPlace& place);
  [[noreturn]] void fail(const std::string& message);
  [[noreturn]] void lose(int peer);

  int rank_;
  int size_;
  HostShare host_share_;
  FirstFailure first_failure_;
  std::vector<Peer> peers_;  ///< by rank; none at the own place
  std::uint64_t messages_out_ = 0;
};

}  // namespace nanobench::core
