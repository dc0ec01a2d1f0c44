/// TCP sockets between the processes of a run. Linux.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/process/streams.h"

namespace nanobench::core {

using Socket = Fd;

/// This host's own name.
std::string host_name();

/// Listens on all addresses of this host, on a free port. Throws Error{kUnavailable}.
Socket listen_anywhere();
int port_of(const Socket& listener);

/// The address of this host on the route to `address`. Throws Error{kUnavailable}.
std::string own_address_towards(const std::string& address, int port);

/// Throws Error{kUnavailable} if nobody answers within `patience`.
Socket connect_to(const std::string& address, int port, std::chrono::seconds patience);
/// The next connection; a closed Socket if none arrives within `patience`.
Socket accept_from(const Socket& listener, std::chrono::milliseconds patience);

/// Sends small messages immediately, and detects an unreachable host within about ten seconds.
void tune(const Socket& socket);

/// Transfers all bytes, waiting as needed. False: the other end is unreachable.
bool send_all(const Socket& socket, const void* bytes, std::size_t count, std::chrono::milliseconds patience);
bool receive_all(const Socket& socket, void* bytes, std::size_t count, std::chrono::milliseconds patience);

}  // namespace nanobench::core
