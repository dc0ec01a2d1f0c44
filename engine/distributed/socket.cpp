#include "engine/distributed/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kAttemptPatience{5};  ///< for one address of several
constexpr int kPortAttempts = 16;

[[noreturn]] void fail(const std::string& doing) {
  throw Error(ErrorCode::kUnavailable, "cannot " + doing + ": " + std::strerror(errno));
}

std::string place_text(const std::string& address, int port) {
  return address + ":" + std::to_string(port);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& address, int port, int type) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw Error(ErrorCode::kUnavailable, "cannot find the host " + address + ": " + gai_strerror(error));
  return {found, &freeaddrinfo};
}

bool wait_for(int fd, short events, Clock::time_point end) {
  for (;;) {
    pollfd waiting = {fd, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(time_until(end).count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

/// A non-blocking socket that has started to connect, or none.
Socket begin_connection(const addrinfo& place) {
  Socket socket(::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, place.ai_protocol));
  if (!socket.is_open()) return socket;
  if (connect(socket.get(), place.ai_addr, place.ai_addrlen) != 0 && errno != EINPROGRESS) socket.reset();
  return socket;
}

bool is_connected(const Socket& socket, Clock::time_point end) {
  if (!socket.is_open() || !wait_for(socket.get(), POLLOUT, end)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) errno = error;
  return error == 0;
}

/// A socket that listens at one address, or none, with the reason in errno.
Socket listen_socket(const sockaddr* place, socklen_t size, bool takes_both_families = false) {
  Socket socket(::socket(place->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket;
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.get(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_REUSEADDR, 1);  // connections of the run before may still be closing
  if (place->sa_family == AF_INET6) set(IPPROTO_IPV6, IPV6_V6ONLY, takes_both_families ? 0 : 1);
  if (bind(socket.get(), place, size) == 0 && listen(socket.get(), SOMAXCONN) == 0) return socket;
  const int reason = errno;
  socket.reset();
  errno = reason;
  return socket;
}

int port_of(const Socket& listener) {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &size) != 0) fail("ask for the own port");
  return ntohs(place.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&place)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&place)->sin_port);
}

void set_port(sockaddr_storage& place, int port) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (place.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&place)->sin6_port = number;
  } else {
    reinterpret_cast<sockaddr_in*>(&place)->sin_port = number;
  }
}

Listening listen_everywhere(int port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  Socket socket = listen_socket(reinterpret_cast<sockaddr*>(&any), sizeof any, /*takes_both_families=*/true);
  if (!socket.is_open()) {  // a host without IPv6
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    any4.sin_port = any.sin6_port;
    socket = listen_socket(reinterpret_cast<sockaddr*>(&any4), sizeof any4);
  }
  if (!socket.is_open()) fail("listen for the other processes");
  Listening listening;
  listening.port = port_of(socket);
  listening.sockets.push_back(std::move(socket));
  return listening;
}

/// Whether the list names the address of `place` before it, as /etc/hosts often makes it for localhost.
bool is_repeated(const Addresses& places, const addrinfo* place) {
  for (const addrinfo* earlier = places.get(); earlier != place; earlier = earlier->ai_next) {
    if (earlier->ai_addrlen == place->ai_addrlen &&
        std::memcmp(earlier->ai_addr, place->ai_addr, place->ai_addrlen) == 0)
      return true;
  }
  return false;
}

/// Listens at those of the addresses that are this host's own. nullopt if the port that the system gave for the first
/// one is taken at another one.
std::optional<Listening> listen_at(const Addresses& places, int port) {
  Listening listening{.sockets = {}, .port = port};
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    if (is_repeated(places, place)) continue;
    sockaddr_storage there{};
    std::memcpy(&there, place->ai_addr, place->ai_addrlen);
    set_port(there, listening.port);
    Socket socket = listen_socket(reinterpret_cast<sockaddr*>(&there), place->ai_addrlen);
    if (!socket.is_open()) {
      if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) continue;
      if (errno == EADDRINUSE && port == 0) return std::nullopt;
      fail("listen for the other processes");
    }
    if (listening.port == 0) listening.port = port_of(socket);
    listening.sockets.push_back(std::move(socket));
  }
  return listening;
}

bool is_loopback(const sockaddr* place) {
  if (place->sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(place)->sin6_addr) != 0;
  return ntohl(reinterpret_cast<const sockaddr_in*>(place)->sin_addr.s_addr) >> 24 == 127;
}

/// Whether other hosts understand by the address what this one does.
bool says_an_interface(const std::string& address, const Addresses& places) {
  in6_addr number{};
  if (inet_pton(AF_INET, address.c_str(), &number) == 1 || inet_pton(AF_INET6, address.c_str(), &number) == 1)
    return true;
  if (address == "localhost") return true;
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    if (!is_loopback(place->ai_addr)) return true;
  }
  return false;
}

std::string text_of(const sockaddr_storage& place, socklen_t size) {
  char text[NI_MAXHOST];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&place), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "an unknown address";
  return text;
}

}  // namespace

std::chrono::milliseconds time_until(Deadline end) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return std::max(rest, std::chrono::milliseconds(0));
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Listening listen_at(const std::string& address, int port) {
  const Addresses places = resolve(address, port, SOCK_STREAM);
  for (int i = 0; i < kPortAttempts; ++i) {
    if (std::optional<Listening> listening = listen_at(places, port)) {
      if (!listening->sockets.empty() && says_an_interface(address, places)) return std::move(*listening);
      listening.reset();
      return listen_everywhere(port);
    }
  }
  fail("find a port that is free at all addresses of " + address);
}

std::string own_address_towards(const std::string& address, int port) {
  const Addresses places = resolve(address, port == 0 ? 9 : port, SOCK_DGRAM);
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    const Socket probe(::socket(place->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // Connecting a datagram socket only chooses the route: nothing is sent.
    if (!probe.is_open() || connect(probe.get(), place->ai_addr, place->ai_addrlen) != 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0) return text_of(own, size);
  }
  throw Error(ErrorCode::kUnavailable, "there is no way from this host to " + address);
}

std::string own_address_of(const Socket& socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size);
  return text_of(own, size);
}

std::string peer_address_of(const Socket& socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &size);
  return text_of(peer, size);
}

Socket connect_to(const std::string& address, int port, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  const Addresses places = resolve(address, port, SOCK_STREAM);
  do {
    for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
      Socket socket = begin_connection(*place);
      if (is_connected(socket, std::min(end, Clock::now() + kAttemptPatience))) return socket;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (Clock::now() < end);
  fail("reach another process at " + place_text(address, port));
}

Socket accept_from(const Socket& listener, std::chrono::milliseconds patience) {
  if (!wait_for(listener.get(), POLLIN, Clock::now() + patience)) return Socket();
  return Socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void tune(const Socket& socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.get(), level, option, &value, sizeof value);  // best effort: it works without, only less well
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
}

bool send_all(const Socket& socket, const void* bytes, std::size_t count, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = send(socket.get(), from, count, MSG_NOSIGNAL);
    if (sent > 0) {
      from += sent;
      count -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN ? !wait_for(socket.get(), POLLOUT, end) : errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool receive_all(const Socket& socket, void* bytes, std::size_t count, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  auto* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t received = recv(socket.get(), to, count, 0);
    if (received == 0) return false;
    if (received > 0) {
      to += received;
      count -= static_cast<std::size_t>(received);
    } else if (errno == EAGAIN ? !wait_for(socket.get(), POLLIN, end) : errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace nanobench::core
