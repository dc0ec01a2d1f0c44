#include "engine/distributed/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

using Clock = std::chrono::steady_clock;

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

/// Milliseconds until `end`, for poll: at least 0.
int remaining_ms(Clock::time_point end) {
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return rest > 0 ? static_cast<int>(rest) : 0;
}

bool wait_for(int fd, short events, Clock::time_point end) {
  for (;;) {
    pollfd waiting = {fd, events, 0};
    const int ready = poll(&waiting, 1, remaining_ms(end));
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

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Socket listen_anywhere() {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.is_open()) {
    const int off = 0;
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) socket.reset();
  }
  if (!socket.is_open()) {  // a host without IPv6
    socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (!socket.is_open() || bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0)
      fail("open a port for the other processes");
  }
  if (listen(socket.get(), SOMAXCONN) != 0) fail("listen for the other processes");
  return socket;
}

int port_of(const Socket& listener) {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &size) != 0) fail("ask for the own port");
  return ntohs(place.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&place)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&place)->sin_port);
}

std::string own_address_towards(const std::string& address, int port) {
  const Addresses places = resolve(address, port == 0 ? 9 : port, SOCK_DGRAM);
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    const Socket probe(::socket(place->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // Connecting a datagram socket only chooses the route: nothing is sent.
    if (!probe.is_open() || connect(probe.get(), place->ai_addr, place->ai_addrlen) != 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    char text[NI_MAXHOST];
    if (getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      return text;
  }
  throw Error(ErrorCode::kUnavailable, "there is no way from this host to " + address);
}

Socket connect_to(const std::string& address, int port, std::chrono::seconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  const Addresses places = resolve(address, port, SOCK_STREAM);
  do {
    for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
      Socket socket = begin_connection(*place);
      if (is_connected(socket, end)) return socket;
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
