#include "engine/distributed/tcp_mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

constexpr std::uint32_t kMagic = 0x6e6d7368;  // also tells hosts of another byte order apart
constexpr std::uint32_t kGoodbye = 0xffffffff;

/// Before each payload.
struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t tag = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Header) == 24);

}  // namespace

/// What a process tells the others about itself.
struct TcpMesh::Card {
  std::string address;
  int port = 0;
  std::string host;

  std::string text() const { return safe_dump(Json({{"address", address}, {"port", port}, {"host", host}})); }

  /// nullopt for a text that is no card.
  static std::optional<Card> from(const std::string& text) {
    const Json json = core::json_or_null(text);
    if (!json.is_object()) return std::nullopt;
    const auto address = json.find("address"), port = json.find("port"), host = json.find("host");
    for (const auto& member : {address, port, host}) {
      if (member == json.end()) return std::nullopt;
    }
    if (!address->is_string() || !port->is_number_unsigned() || !host->is_string()) return std::nullopt;
    const auto number = port->get<std::uint64_t>();
    if (number == 0 || number > 65535) return std::nullopt;
    return Card{address->get<std::string>(), static_cast<int>(number), host->get<std::string>()};
  }
};

TcpMesh::TcpMesh(Rendezvous& rendezvous, const RendezvousPlace& place, int rank, int size, FirstFailure first_failure)
    : rank_(rank), size_(size), first_failure_(std::move(first_failure)), peers_(static_cast<std::size_t>(size)) {
  const Membership membership{.secret = place.secret, .job = place.job, .purpose = "mesh", .size = size};
  AuthenticatedListener listener(listen_at(rendezvous.own_address(), 0), membership, rank);
  const std::vector<Card> cards = exchange_cards(rendezvous, listener.port());
  const Deadline end = std::chrono::steady_clock::now() + place.patience;
  connect_to_lower_ranks(rendezvous, cards, membership, end);
  accept_higher_ranks(listener, end);
  dropped_ = listener.dropped();
}

std::vector<TcpMesh::Card> TcpMesh::exchange_cards(Rendezvous& rendezvous, int port) {
  const Card own{.address = rendezvous.own_address(), .port = port, .host = host_name()};
  std::vector<Card> cards;
  for (const std::string& text : rendezvous.exchange("mesh", own.text())) {
    const std::optional<Card> card = Card::from(text);
    if (!card) {
      throw Refusal(ErrorCode::kUnavailable, Reason::kMalformed,
                    process_name(static_cast<int>(cards.size()), size_) +
                        " does not say where it listens; start all processes with one engine",
                    std::to_string(cards.size()));
    }
    cards.push_back(*card);
  }
  host_share_ = {.rank = 0, .size = 0};
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (cards[i].host != own.host) continue;
    if (static_cast<int>(i) < rank_) ++host_share_.rank;
    ++host_share_.size;
  }
  return cards;
}

void TcpMesh::connect_to_lower_ranks(const Rendezvous& rendezvous, const std::vector<Card>& cards,
                                     const Membership& membership, Deadline end) {
  for (int other = 0; other < rank_; ++other) {
    const Card& card = cards[static_cast<std::size_t>(other)];
    // Process 0 is where it was found: its own host may know itself by another address.
    const std::string& address = other == 0 ? rendezvous.first_address() : card.address;
    try {
      peers_[static_cast<std::size_t>(other)].socket =
          connect_authenticated(address, card.port, membership, rank_, other, end);
    } catch (const Error& error) {
      rethrow_internal(error);
      throw_again(error, process_name(rank_, size_) + " cannot reach process " + std::to_string(other) + " at " +
                             address + ":" + std::to_string(card.port) + ": " + error.what());
    }
  }
}

void TcpMesh::accept_higher_ranks(AuthenticatedListener& listener, Deadline end) {
  for (int missing = size_ - 1 - rank_; missing > 0;) {
    std::optional<MemberConnection> member = listener.accept(end);
    if (!member) {
      throw Error(ErrorCode::kUnavailable, std::to_string(missing) + " of the other " + std::to_string(size_ - 1) +
                                               " processes did not connect to " + process_name(rank_, size_));
    }
    Peer& peer = peers_[static_cast<std::size_t>(member->rank)];
    if (member->rank < rank_ || peer.socket.is_open()) {
      listener.drop(member->socket, "claims the place of process " + std::to_string(member->rank));
      continue;
    }
    tune(member->socket);
    peer.socket = std::move(member->socket);
    --missing;
  }
}

void TcpMesh::fail(const std::string& message) {
  throw PeerFailed(first_failure_({RunOutcome::kCrashed, message}));
}

void TcpMesh::lose(int peer) {
  fail(silent_end_of(peer, size_));
}

/// One outgoing and one incoming message of one peer.
class TcpMesh::Transfer {
 public:
  enum class Progress { kGoesOn, kLost };

  Transfer(Peer& peer, const Header& header, std::span<const std::byte> out, std::span<std::byte> in)
      : peer_(peer), header_out_(header), out_(out), in_(in) {
    header_out_.bytes = out.size();
  }

  bool is_sent() const { return sent_ == sizeof(Header) + out_.size(); }
  bool is_received() const { return received_ == sizeof(Header) + in_.size(); }
  bool is_done() const { return is_sent() && is_received(); }
  short events() const { return static_cast<short>((is_sent() ? 0 : POLLOUT) | (is_received() ? 0 : POLLIN)); }
  const Header& header_in() const { return header_in_; }
  bool has_header() const { return received_ >= sizeof(Header); }

  Progress send_some() {
    while (!is_sent()) {
      const auto [from, count] = sent_ < sizeof(Header)
                                     ? std::pair(bytes_of(header_out_) + sent_, sizeof(Header) - sent_)
                                     : std::pair(out_.data() + (sent_ - sizeof(Header)), total_out() - sent_);
      const ssize_t n = send(peer_.socket.get(), from, count, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN ? Progress::kGoesOn : Progress::kLost;
      sent_ += static_cast<std::size_t>(n);
    }
    return Progress::kGoesOn;
  }

  /// Stops after the header, so that it can be checked before the payload is received.
  Progress receive_some() {
    while (!is_received()) {
      const bool in_header = received_ < sizeof(Header);
      std::byte* to =
          in_header ? reinterpret_cast<std::byte*>(&header_in_) + received_ : in_.data() + (received_ - sizeof(Header));
      const std::size_t count = (in_header ? sizeof(Header) : sizeof(Header) + in_.size()) - received_;
      const ssize_t n = recv(peer_.socket.get(), to, count, MSG_DONTWAIT);
      if (n == 0) return Progress::kLost;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN ? Progress::kGoesOn : Progress::kLost;
      received_ += static_cast<std::size_t>(n);
      if (in_header && has_header()) return Progress::kGoesOn;
    }
    return Progress::kGoesOn;
  }

 private:
  static const std::byte* bytes_of(const Header& header) { return reinterpret_cast<const std::byte*>(&header); }
  std::size_t total_out() const { return sizeof(Header) + out_.size(); }

  Peer& peer_;
  Header header_out_;
  Header header_in_{.magic = 0};
  std::span<const std::byte> out_;
  std::span<std::byte> in_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
};

void TcpMesh::exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                       std::span<const std::span<std::byte>> incoming) {
  const Header header{.tag = tag, .number = messages_out_++};
  std::vector<std::pair<int, Transfer>> transfers;
  for (int peer = 0; peer < size_; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    if (peer != rank_) transfers.emplace_back(peer, Transfer(peers_[p], header, outgoing[p], incoming[p]));
  }
  const auto advance = [&](int peer, Transfer& transfer) {
    if (!transfer.is_sent() && transfer.send_some() == Transfer::Progress::kLost) lose(peer);
    const bool had_header = transfer.has_header();
    if (!transfer.is_received() && transfer.receive_some() == Transfer::Progress::kLost) lose(peer);
    if (had_header || !transfer.has_header()) return;
    const Header& theirs = transfer.header_in();
    if (theirs.magic == kMagic && theirs.tag == kGoodbye) fail(process_name(peer, size_) + " has left the run early");
    const std::size_t expected = incoming[static_cast<std::size_t>(peer)].size();
    if (theirs.magic != kMagic || theirs.tag != tag || theirs.number != header.number || theirs.bytes != expected) {
      const auto text = [](std::uint32_t a, std::uint64_t n, std::uint64_t bytes) {
        return "operation " + std::to_string(a) + " (number " + std::to_string(n) + ") of " + std::to_string(bytes) +
               " bytes";
      };
      fail("internal error: process " + std::to_string(rank_) + " communicates " + text(tag, header.number, expected) +
           " while process " + std::to_string(peer) + " communicates " + text(theirs.tag, theirs.number, theirs.bytes));
    }
    if (transfer.receive_some() == Transfer::Progress::kLost) lose(peer);
  };
  for (;;) {
    std::vector<pollfd> waiting;
    for (auto& [peer, transfer] : transfers) {
      if (!transfer.is_done()) advance(peer, transfer);
      if (!transfer.is_done())
        waiting.push_back({peers_[static_cast<std::size_t>(peer)].socket.get(), transfer.events(), 0});
    }
    if (waiting.empty()) return;
    poll(waiting.data(), waiting.size(), -1);
  }
}

void TcpMesh::check_alive() {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    char byte = 0;  // looked at only: whatever has come, a goodbye, is not an end without a word
    const ssize_t n = recv(peers_[static_cast<std::size_t>(peer)].socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) lose(peer);
  }
}

bool TcpMesh::is_alive(int peer) const {
  char byte = 0;
  const ssize_t n = recv(peers_[static_cast<std::size_t>(peer)].socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void TcpMesh::say_goodbye() noexcept {
  const Header goodbye{.tag = kGoodbye};
  for (const Peer& peer : peers_) {
    if (peer.socket.is_open()) send_all(peer.socket, &goodbye, sizeof goodbye, std::chrono::milliseconds(100));
  }
}

}  // namespace nanobench::core
