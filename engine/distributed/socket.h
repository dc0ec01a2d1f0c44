/// TCP sockets between the processes of a run. Linux.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/process/streams.h"

namespace nanobench::core {

using Socket = Fd;
using Deadline = std::chrono::steady_clock::time_point;

/// At least 0.
std::chrono::milliseconds time_until(Deadline end);

/// This host's own name.
std::string host_name();

/// Sockets that listen at one port of one or more addresses.
struct Listening {
  std::vector<Socket> sockets;
  int port = 0;
};

/// Listens at the addresses of this host that `address` means, and at no other: a numeric address, or a host name.
///   port  0: any free port
/// Two cases tell nothing about the interface, and all addresses of this host are used: an address that is none of this
/// host's own (a forwarded one), and a host name that this host knows as a loopback address (as Debian's 127.0.1.1)
/// though others do not. Throws Error{kUnavailable}.
Listening listen_at(const std::string& address, int port);

/// The address of this host on the route to `address`. Throws Error{kUnavailable}.
std::string own_address_towards(const std::string& address, int port);

/// The numeric address of this end and of the other end of a connection; "an unknown address" for none.
std::string own_address_of(const Socket& socket);
std::string peer_address_of(const Socket& socket);

/// Throws Error{kUnavailable} if nobody answers within `patience`.
Socket connect_to(const std::string& address, int port, std::chrono::milliseconds patience);
/// The next connection; a closed Socket if none arrives within `patience`.
Socket accept_from(const Socket& listener, std::chrono::milliseconds patience);

/// Sends small messages immediately, and detects an unreachable host within about ten seconds.
void tune(const Socket& socket);

/// Transfers all bytes, waiting as needed. False: the other end is unreachable.
bool send_all(const Socket& socket, const void* bytes, std::size_t count, std::chrono::milliseconds patience);
bool receive_all(const Socket& socket, void* bytes, std::size_t count, std::chrono::milliseconds patience);

}  // namespace nanobench::core
