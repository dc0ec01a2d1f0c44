/// The Mesh of TCP connections between processes on one or more hosts.
#pragma once

#include <memory>
#include <vector>

#include "engine/distributed/authenticated_connection.h"
#include "engine/distributed/communicator.h"
#include "engine/distributed/mesh.h"
#include "engine/distributed/rendezvous.h"
#include "engine/distributed/socket.h"

namespace nanobench::core {

/// All others notice a process that ends without say_goodbye(): immediately if its host is up, within about ten seconds
/// if the host is down.
class TcpMesh final : public Mesh {
 public:
  /// Connects all processes pairwise, each authenticated by the place's secret; returns in all of them or throws in all
  /// of them. Throws Error{kUnavailable} naming what could not be reached.
  TcpMesh(Rendezvous& rendezvous, const RendezvousPlace& place, int rank, int size, FirstFailure first_failure);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "tcp"; }
  /// Connections of strangers that were dropped while the processes connected.
  std::int64_t dropped() const { return dropped_; }
  /// Determined by the hosts' own names.
  const HostShare& host_share() const { return host_share_; }

  void exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                std::span<const std::span<std::byte>> incoming) override;

  /// Throws PeerFailed when a process has ended without a goodbye. For code that waits for something else.
  void check_alive();
  /// Whether process `peer` has neither ended nor said goodbye.
  bool is_alive(int peer) const;

  /// Announces the end of the run in this process, so that its exit is not a failure. Must be the last call.
  void say_goodbye() noexcept;

 private:
  struct Peer {
    Socket socket;
  };
  struct Card;
  class Transfer;

  std::vector<Card> exchange_cards(Rendezvous& rendezvous, int port);
  void connect_to_lower_ranks(const Rendezvous& rendezvous, const std::vector<Card>& cards,
                              const Membership& membership, Deadline end);
  void accept_higher_ranks(AuthenticatedListener& listener, Deadline end);
  [[noreturn]] void fail(const std::string& message);
  [[noreturn]] void lose(int peer);

  int rank_;
  int size_;
  HostShare host_share_;
  FirstFailure first_failure_;
  std::vector<Peer> peers_;  ///< by rank; the own entry is empty
  std::uint64_t messages_out_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace nanobench::core
