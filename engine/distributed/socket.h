/// TCP sockets between the processes of a run. Linux.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nanobench::core {

/// A socket that closes itself.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release();
  void close();

 private:
  int fd_;
};

/// What this host calls itself.
std::string host_name();

/// Listens at all addresses of this host, at a free port. Throws Error{kUnavailable}.
Socket listen_anywhere();
int port_of(const Socket& listener);

/// The address of this host from which `address` is reached. Throws Error{kUnavailable}.
std::string own_address_towards(const std::string& address, int port);

/// Throws Error{kUnavailable} when nobody answers within `patience`.
Socket connect_to(const std::string& address, int port, std::chrono::seconds patience);
/// The next connection; a closed Socket when none comes within `patience`.
Socket accept_from(const Socket& listener, std::chrono::milliseconds patience);

/// Small messages leave at once, and a host that is gone is noticed within about ten seconds.
void tune(const Socket& socket);

/// All of it, waiting where it must. False: the other end is gone.
bool send_all(const Socket& socket, const void* bytes, std::size_t count, std::chrono::milliseconds patience);
bool receive_all(const Socket& socket, void* bytes, std::size_t count, std::chrono::milliseconds patience);

}  // namespace nanobench::core
