#include "engine/distributed/handshake.h"

#include <algorithm>
#include <cstdint>

#include "core/base/secret_file.h"

namespace nanobench::core {
namespace {

constexpr std::string_view kHandshakeMagic = "nanorun1";
constexpr std::string_view kWelcome = "w";
constexpr std::size_t kRankBytes = 4;
constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kProofBytes = sizeof(Sha256);
constexpr std::size_t kHelloBytes = kHandshakeMagic.size() + kRankBytes + kRandomBytes;
static_assert(CallerHandshake::kReplyBytes == kRandomBytes + kProofBytes);
static_assert(CallerHandshake::kWelcomeBytes == kWelcome.size());

enum class Side : char { kListener = 'l', kCaller = 'c' };

/// Little-endian on every host.
std::string number_text(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::uint32_t rank_from(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kRankBytes; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return value;
}

/// With its length before it, so that no two lists of texts have the same bytes.
std::string counted_text(std::string_view text) {
  return number_text(text.size(), 8) + std::string(text);
}

struct Ranks {
  int listener = 0;
  int caller = 0;
};

std::string proof_of(Side side, const Membership& membership, Ranks ranks, std::string_view challenge) {
  std::string said(kHandshakeMagic);
  said += static_cast<char>(side);
  for (const int number : {membership.size, ranks.listener, ranks.caller})
    said += number_text(static_cast<std::uint32_t>(number), kRankBytes);
  said += counted_text(membership.job) + counted_text(membership.purpose) + counted_text(challenge);
  const Sha256 proof = hmac_sha256(membership.secret, said);
  return {proof.begin(), proof.end()};
}

bool is_same_proof(std::string_view a, std::string_view b) {
  Sha256 first{}, second{};
  if (a.size() != first.size() || b.size() != second.size()) return false;
  std::copy(a.begin(), a.end(), first.begin());
  std::copy(b.begin(), b.end(), second.begin());
  return is_equal_in_constant_time(first, second);
}

}  // namespace

ListenerHandshake::ListenerHandshake(const Membership& membership, int own_rank)
    : membership_(&membership), own_rank_(own_rank) {}

std::size_t ListenerHandshake::wanted() const {
  if (is_complete_) return 0;
  return challenge_.empty() ? kHelloBytes : kProofBytes;
}

bool ListenerHandshake::can_begin_with(std::string_view bytes) const {
  const std::size_t known = std::min(bytes.size(), kHandshakeMagic.size());
  return !challenge_.empty() || bytes.substr(0, known) == kHandshakeMagic.substr(0, known);
}

std::optional<std::string> ListenerHandshake::reply_to_hello(std::string_view message) {
  if (message.substr(0, kHandshakeMagic.size()) != kHandshakeMagic) return std::nullopt;
  const std::uint32_t rank = rank_from(message.substr(kHandshakeMagic.size(), kRankBytes));
  if (rank >= static_cast<std::uint32_t>(membership_->size) || rank == static_cast<std::uint32_t>(own_rank_))
    return std::nullopt;
  caller_ = static_cast<int>(rank);
  const std::string own_part = random_bytes(kRandomBytes);
  challenge_ = std::string(message.substr(kHandshakeMagic.size() + kRankBytes)) + own_part;
  return own_part + proof_of(Side::kListener, *membership_, {own_rank_, caller_}, challenge_);
}

std::optional<std::string> ListenerHandshake::reply_to(std::string_view message) {
  if (message.size() != wanted() || is_complete_) return std::nullopt;
  if (challenge_.empty()) return reply_to_hello(message);
  if (!is_same_proof(message, proof_of(Side::kCaller, *membership_, {own_rank_, caller_}, challenge_)))
    return std::nullopt;
  is_complete_ = true;
  return std::string(kWelcome);
}

CallerHandshake::CallerHandshake(const Membership& membership, int own_rank, int listener_rank)
    : membership_(&membership),
      own_rank_(own_rank),
      listener_rank_(listener_rank),
      hello_(std::string(kHandshakeMagic) + number_text(static_cast<std::uint32_t>(own_rank), kRankBytes) +
             random_bytes(kRandomBytes)) {}

std::optional<std::string> CallerHandshake::answer_to(std::string_view reply) const {
  if (reply.size() != kReplyBytes) return std::nullopt;
  const std::string challenge =
      hello_.substr(kHandshakeMagic.size() + kRankBytes) + std::string(reply.substr(0, kRandomBytes));
  const Ranks ranks{listener_rank_, own_rank_};
  if (!is_same_proof(reply.substr(kRandomBytes), proof_of(Side::kListener, *membership_, ranks, challenge)))
    return std::nullopt;
  return proof_of(Side::kCaller, *membership_, ranks, challenge);
}

}  // namespace nanobench::core
