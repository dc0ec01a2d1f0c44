/// Connections between the processes of one run. Both ends have proven that they know the run's secret (handshake.h);
/// whoever cannot is dropped, counted and reported, and holds nobody up.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/distributed/handshake.h"
#include "engine/distributed/socket.h"

namespace nanobench::core {

/// A connection and the rank of the process at its other end.
struct MemberConnection {
  Socket socket;
  int rank = 0;
};

/// Why a listener gives a connection up.
enum class DropReason {
  kTooMany,  ///< it had not finished when too many others came
  kLate,
  kSawOurProof,  ///< it ended then, as a process with another secret does
  kEnded,        ///< before its handshake did
  kNotProven,    ///< that it knows the secret
};

/// Completes "a connection from 127.0.0.1, which ".
const char* words_of(DropReason reason);

/// Accepts the other processes of the run. All handshakes go on at the same time; each has a few seconds. Used by one
/// thread at a time; dropped() by any.
class AuthenticatedListener {
 public:
  AuthenticatedListener(Listening listening, const Membership& membership, int own_rank);
  AuthenticatedListener(const AuthenticatedListener&) = delete;
  AuthenticatedListener& operator=(const AuthenticatedListener&) = delete;

  int port() const { return listening_.port; }

  /// The next process that has proven itself; nullopt if none has by `end`.
  std::optional<MemberConnection> accept(Deadline end);

  /// For a caller that waits for other descriptors too: what to poll for, for at most how many milliseconds (-1: no
  /// limit), and what to do then. advance() never waits.
  void add_to(std::vector<pollfd>& waiting) const;
  int poll_ms() const;
  std::vector<MemberConnection> advance();

  /// Counts and reports a connection that is given up. Connections 1, 10, 100, ... are reported on standard error.
  void drop(const Socket& socket, const std::string& why);
  /// Connections given up so far.
  std::int64_t dropped() const { return dropped_; }

 private:
  struct Handshake {
    Socket socket;
    ListenerHandshake progress;
    std::string received;
    Deadline end;
  };
  enum class Step { kWaits, kProven, kOver };

  void accept_new();
  Step advance(Handshake& handshake);
  bool take_message(Handshake& handshake);

  Listening listening_;
  Membership membership_;
  int own_rank_;
  std::vector<Handshake> handshakes_;     ///< oldest first
  std::vector<MemberConnection> proven_;  ///< for the next accept()
  std::atomic<std::int64_t> dropped_{0};
};

/// Connects to process `peer` at the address, as process `own_rank`. Tries again until `end`, as the other process may
/// come later. Throws Error{kUnavailable} saying what was there last: nobody, or somebody who does not know the secret.
Socket connect_authenticated(const std::string& address, int port, const Membership& membership, int own_rank, int peer,
                             Deadline end);

}  // namespace nanobench::core
