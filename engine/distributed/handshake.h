/// The first words on a new connection: both ends prove that they know the secret of the same run. Plain C++, without
/// sockets. Thread-safe: no shared state.
///
///   caller    -> listener   8 letters, the caller's rank, 32 random bytes
///   listener  -> caller     32 random bytes, and its proof
///   caller    -> listener   its proof
///   listener  -> caller     one letter: welcome
///
/// A proof is HMAC-SHA256 with the secret as key, over the side that proves, both ends' random bytes and ranks, and
/// everything in Membership. It is worth nothing on another connection, from the other side, or for another run. Every
/// message has one length; only the proofs depend on the secret. What follows on the connection is neither encrypted
/// nor signed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/hmac_sha256.h"

namespace nanobench::core {

/// What both ends must agree on.
struct Membership {
  std::string secret;   ///< never sent
  std::string job;      ///< distinguishes the starts at one address
  std::string purpose;  ///< what the connection is for
  int size = 1;         ///< number of processes
};

/// The side of the process that is called. Use once. The membership must outlive it.
class ListenerHandshake {
 public:
  ListenerHandshake(const Membership& membership, int own_rank);

  /// The length of the message that the caller sends next; 0 when the handshake is complete.
  std::size_t wanted() const;
  /// Whether a message of a member can begin so.
  bool can_begin_with(std::string_view bytes) const;
  /// The reply to a message of wanted() bytes; nullopt if the caller is no member.
  std::optional<std::string> reply_to(std::string_view message);
  /// Whether the caller has been sent this side's proof.
  bool has_sent_proof() const { return !challenge_.empty(); }
  /// The rank that the caller has proven, once wanted() is 0.
  int caller() const { return caller_; }

 private:
  std::optional<std::string> reply_to_hello(std::string_view message);

  const Membership* membership_;
  int own_rank_;
  int caller_ = -1;
  std::string challenge_;  ///< the caller's random bytes and the own ones
  bool is_complete_ = false;
};

/// The side of the process that calls. Use once. The membership must outlive it.
class CallerHandshake {
 public:
  CallerHandshake(const Membership& membership, int own_rank, int listener_rank);

  static constexpr std::size_t kReplyBytes = 64;   ///< length of the reply to hello()
  static constexpr std::size_t kWelcomeBytes = 1;  ///< length of the reply to answer_to()

  const std::string& hello() const { return hello_; }
  /// The answer to the listener's first reply; nullopt if the listener is no member.
  std::optional<std::string> answer_to(std::string_view reply) const;

 private:
  const Membership* membership_;
  int own_rank_;
  int listener_rank_;
  std::string hello_;
};

}  // namespace nanobench::core
