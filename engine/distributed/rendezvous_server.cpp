#include "engine/distributed/rendezvous_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kMaxRequestBytes = kHeaderBytes + kMaxKeyBytes + kMaxTextBytes;
constexpr std::size_t kMaxTexts = 4096;  ///< far more than the processes of a run have to say
constexpr std::chrono::milliseconds kReplyPatience{1000};

std::size_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

std::string length_text(std::size_t length) {
  return {static_cast<char>(length & 0xff), static_cast<char>(length >> 8 & 0xff)};
}

/// Reads what has come, at most one request's length in all. False at the end of the connection.
bool receive_some(const Socket& socket, std::string& received) {
  char bytes[4096];
  while (received.size() < kMaxRequestBytes) {
    const std::size_t space = std::min(sizeof bytes, kMaxRequestBytes - received.size());
    const ssize_t count = recv(socket.get(), bytes, space, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    received.append(bytes, static_cast<std::size_t>(count));
  }
  return true;
}

bool send_reply(const Socket& socket, const std::string& text) {
  const std::string reply = length_text(text.size()) + text;
  return send_all(socket, reply.data(), reply.size(), kReplyPatience);
}

}  // namespace

std::string to_bytes(const RendezvousRequest& request) {
  NB_CHECK(request.key.size() <= kMaxKeyBytes && request.text.size() <= kMaxTextBytes, "a text for the rendezvous");
  return std::string{static_cast<char>(request.kind), static_cast<char>(request.key.size())} +
         length_text(request.text.size()) + request.key + request.text;
}

std::optional<RendezvousRequest> take_request(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const std::size_t key_length = byte_at(bytes, 1);
  const std::size_t text_length = reply_length(bytes.data() + 2);
  const std::size_t length = kHeaderBytes + key_length + text_length;
  if (bytes.size() < length) return std::nullopt;
  RendezvousRequest request{.kind = static_cast<RendezvousRequest::Kind>(bytes.front()),
                            .key = bytes.substr(kHeaderBytes, key_length),
                            .text = bytes.substr(kHeaderBytes + key_length, text_length)};
  bytes.erase(0, length);
  return request;
}

std::size_t reply_length(const char* two_bytes) {
  return byte_at({two_bytes, 2}, 0) | byte_at({two_bytes, 2}, 1) << 8;
}

RendezvousServer::RendezvousServer(Listening listening, const Membership& membership)
    : listener_(std::move(listening), membership, /*own_rank=*/0), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.is_open()) throw Error(ErrorCode::kUnavailable, "this process may open no more descriptors");
  thread_ = std::thread([this] { serve(); });
}

RendezvousServer::~RendezvousServer() {
  is_ending_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

std::string RendezvousServer::post(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto there = texts_.find(key);
  if (there != texts_.end()) return there->second;
  if (texts_.size() == kMaxTexts) return "";
  texts_.emplace(key, text);
  has_changed_.notify_all();
  eventfd_write(wake_.get(), 1);
  return text;
}

std::optional<std::string> RendezvousServer::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto there = texts_.find(key);
  return there == texts_.end() ? std::nullopt : std::optional(there->second);
}

std::optional<std::string> RendezvousServer::read(const std::string& key, Deadline end) {
  std::unique_lock lock(mutex_);
  if (!has_changed_.wait_until(lock, end, [&] { return texts_.count(key) > 0; })) return std::nullopt;
  return texts_.at(key);
}

void RendezvousServer::wait_for_work() {
  std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}};
  for (const Client& client : clients_) waiting.push_back({client.socket.get(), POLLIN, 0});
  listener_.add_to(waiting);
  poll(waiting.data(), waiting.size(), listener_.poll_ms());
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
}

void RendezvousServer::serve() {
  while (!is_ending_) {
    wait_for_work();
    for (MemberConnection& member : listener_.advance())
      clients_.push_back({.socket = std::move(member.socket), .received = {}, .awaited = {}});
    std::vector<Client> remaining;
    for (Client& client : clients_) {
      if (serve(client)) remaining.push_back(std::move(client));
    }
    clients_ = std::move(remaining);
  }
}

/// False: the connection is over.
bool RendezvousServer::serve(Client& client) {
  if (!receive_some(client.socket, client.received)) return false;
  while (!client.awaited) {
    const std::optional<RendezvousRequest> request = take_request(client.received);
    if (!request) return true;
    switch (request->kind) {
      case RendezvousRequest::Kind::kPost:
        if (!send_reply(client.socket, post(request->key, request->text))) return false;
        break;
      case RendezvousRequest::Kind::kRead:
        client.awaited = request->key;
        if (!answer(client)) return false;
        break;
      default: return false;
    }
  }
  // A process that talks on while it waits for a reply is none of ours.
  return client.received.empty() && answer(client);
}

bool RendezvousServer::answer(Client& client) {
  const std::optional<std::string> text = find(*client.awaited);
  if (!text) return true;
  client.awaited.reset();
  return send_reply(client.socket, *text);
}

}  // namespace nanobench::core
