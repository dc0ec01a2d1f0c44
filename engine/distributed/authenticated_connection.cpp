#include "engine/distributed/authenticated_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/secret_file.h"
#include "engine/distributed/mesh.h"

namespace nanobench::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kHandshakePatience{5000};
constexpr std::size_t kMaxHandshakes = 64;  ///< at the same time; one more ends the oldest
constexpr std::chrono::milliseconds kRetryInterval{500};
constexpr std::chrono::milliseconds kFullInterval{50};  ///< until this process may have a descriptor again

bool is_power_of_ten(std::int64_t number) {
  while (number % 10 == 0) number /= 10;
  return number == 1;
}

enum class Proof { kProven, kNoAnswer, kWrong };

/// The caller's side of a handshake.
Proof prove(const Socket& socket, const CallerHandshake& handshake, Deadline end) {
  const auto send = [&](const std::string& words) {
    return send_all(socket, words.data(), words.size(), time_until(end));
  };
  char reply[CallerHandshake::kReplyBytes];
  if (!send(handshake.hello()) || !receive_all(socket, reply, sizeof reply, time_until(end))) return Proof::kNoAnswer;
  const std::optional<std::string> answer = handshake.answer_to({reply, sizeof reply});
  if (!answer) return Proof::kWrong;
  char welcome[CallerHandshake::kWelcomeBytes];
  if (!send(*answer) || !receive_all(socket, welcome, sizeof welcome, time_until(end))) return Proof::kNoAnswer;
  return Proof::kProven;
}

}  // namespace

const char* words_of(DropReason reason) {
  switch (reason) {
    case DropReason::kTooMany: return "had not finished its handshake when too many others came";
    case DropReason::kLate: return "did not finish its handshake in time";
    case DropReason::kSawOurProof: return "ended when it saw our proof, as a process with another secret does";
    case DropReason::kEnded: return "ended before its handshake did";
    case DropReason::kNotProven: break;
  }
  return "did not prove that it knows the secret of this run";
}

AuthenticatedListener::AuthenticatedListener(Listening listening, const Membership& membership, int own_rank)
    : listening_(std::move(listening)), membership_(membership), own_rank_(own_rank) {}

void AuthenticatedListener::drop(const Socket& socket, const std::string& why) {
  const std::int64_t count = ++dropped_;
  if (!is_power_of_ten(count)) return;
  std::fprintf(stderr, "nanobench-train: warning: %s dropped a connection from %s, which %s; %lld dropped so far\n",
               process_name(own_rank_, membership_.size).c_str(), peer_address_of(socket).c_str(), why.c_str(),
               static_cast<long long>(count));
}

void AuthenticatedListener::accept_new() {
  for (const Socket& listener : listening_.sockets) {
    for (std::size_t i = 0; i < kMaxHandshakes; ++i) {
      errno = 0;
      Socket socket = accept_from(listener, std::chrono::milliseconds(0));
      const bool has_no_descriptor = !socket.is_open() && (errno == EMFILE || errno == ENFILE);
      if (has_no_descriptor && handshakes_.empty()) std::this_thread::sleep_for(kFullInterval);
      if ((has_no_descriptor && !handshakes_.empty()) || handshakes_.size() == kMaxHandshakes) {
        drop(handshakes_.front().socket, words_of(DropReason::kTooMany));
        handshakes_.erase(handshakes_.begin());
      }
      if (!socket.is_open()) break;
      handshakes_.push_back(
          {std::move(socket), ListenerHandshake(membership_, own_rank_), "", Clock::now() + kHandshakePatience});
    }
  }
}

bool AuthenticatedListener::take_message(Handshake& handshake) {
  if (!handshake.progress.can_begin_with(handshake.received)) return false;
  if (handshake.received.size() < handshake.progress.wanted()) return true;
  const std::optional<std::string> reply = handshake.progress.reply_to(std::exchange(handshake.received, {}));
  // The few bytes of a reply always fit into the buffer of a new connection.
  return reply && send_all(handshake.socket, reply->data(), reply->size(), std::chrono::milliseconds(0));
}

AuthenticatedListener::Step AuthenticatedListener::advance(Handshake& handshake) {
  const auto give_up = [&](DropReason why) {
    drop(handshake.socket, words_of(why));
    return Step::kOver;
  };
  while (handshake.progress.wanted() > 0) {
    char bytes[128];
    const std::size_t missing = handshake.progress.wanted() - handshake.received.size();
    const ssize_t count = recv(handshake.socket.get(), bytes, std::min(missing, sizeof bytes), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      return Clock::now() < handshake.end ? Step::kWaits : give_up(DropReason::kLate);
    }
    if (count <= 0) {
      return give_up(handshake.progress.has_sent_proof() ? DropReason::kSawOurProof : DropReason::kEnded);
    }
    handshake.received.append(bytes, static_cast<std::size_t>(count));
    if (!take_message(handshake)) return give_up(DropReason::kNotProven);
  }
  return Step::kProven;
}

std::vector<MemberConnection> AuthenticatedListener::advance() {
  accept_new();
  std::vector<MemberConnection> proven;
  std::vector<Handshake> waiting;
  for (Handshake& handshake : handshakes_) {
    const Step step = advance(handshake);
    if (step == Step::kWaits) {
      waiting.push_back(std::move(handshake));
    } else if (step == Step::kProven) {
      proven.push_back({std::move(handshake.socket), handshake.progress.caller()});
    }
  }
  handshakes_ = std::move(waiting);
  return proven;
}

void AuthenticatedListener::add_to(std::vector<pollfd>& waiting) const {
  for (const Socket& socket : listening_.sockets) waiting.push_back({socket.get(), POLLIN, 0});
  for (const Handshake& handshake : handshakes_) waiting.push_back({handshake.socket.get(), POLLIN, 0});
}

int AuthenticatedListener::poll_ms() const {
  return handshakes_.empty() ? -1 : static_cast<int>(time_until(handshakes_.front().end).count());
}

std::optional<MemberConnection> AuthenticatedListener::accept(Deadline end) {
  for (;;) {
    if (proven_.empty()) proven_ = advance();
    if (!proven_.empty()) {
      MemberConnection first = std::move(proven_.front());
      proven_.erase(proven_.begin());
      return first;
    }
    const auto left = static_cast<int>(time_until(end).count());
    if (left == 0) return std::nullopt;
    std::vector<pollfd> waiting;
    add_to(waiting);
    poll(waiting.data(), waiting.size(), handshakes_.empty() ? left : std::min(left, poll_ms()));
  }
}

Socket connect_authenticated(const std::string& address, int port, const Membership& membership, int own_rank, int peer,
                             Deadline end) {
  std::string words;
  Reason reason = Reason::kNone;
  do {
    try {
      Socket socket = connect_to(address, port, time_until(end));
      tune(socket);
      switch (prove(socket, CallerHandshake(membership, own_rank, peer), end)) {
        case Proof::kProven: return socket;
        case Proof::kNoAnswer:
          words = "whatever listens there does not answer as a process of this run";
          reason = Reason::kSilent;
          break;
        case Proof::kWrong:
          reason = Reason::kOtherSecret;
          words =
              "whatever listens there does not know the secret of this run; give all processes the same file of "
              "mode 600 by " +
              std::string(kSecretFileVariable);
          break;
      }
    } catch (const Error& error) {
      rethrow_internal(error);
      if (words.empty()) words = error.what();
    }
    std::this_thread::sleep_for(std::min(kRetryInterval, time_until(end)));
  } while (Clock::now() < end);
  throw Refusal(ErrorCode::kUnavailable, reason, words, address);
}

}  // namespace nanobench::core
