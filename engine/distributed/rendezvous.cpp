#include "engine/distributed/rendezvous.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "engine/distributed/agent_store.h"

namespace nanobench::core {
namespace {

constexpr std::chrono::seconds kFailurePatience{3};
constexpr std::size_t kMaxFailureBytes = 8192;  ///< with every byte escaped, still a text of the rendezvous
constexpr const char* kFailureKey = "failure";

Deadline after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

std::string place_text(const RendezvousPlace& place) {
  return place.address + ":" + std::to_string(place.port);
}

std::string to_text(const ProcessFailure& failure) {
  const std::string message = failure.message.substr(0, kMaxFailureBytes);
  return safe_dump(Json({{"outcome", enum_name(failure.outcome)}, {"message", message}}));
}

ProcessFailure failure_from(const std::string& text, const ProcessFailure& otherwise) {
  const Json json = core::json_or_null(text);
  if (!json.is_object()) return otherwise;
  const auto outcome = json.find("outcome"), message = json.find("message");
  if (outcome == json.end() || message == json.end() || !outcome->is_string() || !message->is_string())
    return otherwise;
  return {enum_value<RunOutcome>(outcome->get<std::string>()).value_or(otherwise.outcome), message->get<std::string>()};
}

}  // namespace

Rendezvous::Rendezvous(const RendezvousPlace& place, int rank, int size)
    : rank_(rank), size_(size), patience_(place.patience) {
  const Membership membership{.secret = place.secret, .job = place.job, .purpose = "rendezvous", .size = size};
  try {
    rank == 0 ? listen(place, membership) : find_first(place, membership);
  } catch (const Error& error) {
    rethrow_internal(error);
    const std::string who = process_name(rank, size);
    const std::string what = rank == 0 ? " cannot listen at " : " does not find the first process at ";
    throw_again(error, ErrorCode::kUnavailable,
                who + what + place_text(place) +
                    "; set MASTER_ADDR and MASTER_PORT to an address of the first process's host and a free port: " +
                    error.what());
  }
}

Rendezvous::~Rendezvous() = default;

void Rendezvous::listen(const RendezvousPlace& place, const Membership& membership) {
  first_address_ = place.is_hosted ? own_address_towards(place.address, place.port) : place.address;
  own_address_ = first_address_;
  server_ = std::make_unique<RendezvousServer>(listen_at(own_address_, place.is_hosted ? 0 : place.port), membership);
  port_ = server_->port();
  if (place.is_hosted) tell_agent(place, {.address = own_address_, .port = port_});
}

void Rendezvous::find_first(const RendezvousPlace& place, const Membership& membership) {
  const Deadline end = after(place.patience);
  MeetingPoint point{.address = place.address, .port = place.port};
  if (place.is_hosted) point = ask_agent(place);
  connection_ = connect_authenticated(point.address, point.port, membership, rank_, /*peer=*/0, end);
  first_address_ = peer_address_of(connection_);
  own_address_ = own_address_of(connection_);
  port_ = point.port;
}

/// Throws std::runtime_error.
std::string Rendezvous::ask(const RendezvousRequest& request, Deadline end) {
  const std::lock_guard lock(mutex_);
  const std::string bytes = to_bytes(request);
  char header[kReplyHeaderBytes];
  std::string text;
  const auto receives = [&](char* to, std::size_t count) {
    return receive_all(connection_, to, count, time_until(end));
  };
  bool is_answered = connection_.is_open() && send_all(connection_, bytes.data(), bytes.size(), time_until(end)) &&
                     receives(header, sizeof header);
  if (is_answered) {
    text.resize(reply_length(header));
    is_answered = receives(text.data(), text.size());
  }
  if (is_answered) return text;
  const bool is_late = time_until(end).count() == 0;
  connection_.reset();  // a reply that still comes would be taken for the next one
  throw std::runtime_error(is_late ? "it has not come in time" : "the first process has ended");
}

std::string Rendezvous::post(const std::string& key, const std::string& text, Deadline end) {
  NB_CHECK(key.size() <= kMaxKeyBytes && text.size() <= kMaxTextBytes, "a text too long for the rendezvous");
  if (server_) return server_->post(key, text);
  return ask({.kind = RendezvousRequest::Kind::kPost, .key = key, .text = text}, end);
}

std::string Rendezvous::read(const std::string& key, Deadline end) {
  if (!server_) return ask({.kind = RendezvousRequest::Kind::kRead, .key = key, .text = {}}, end);
  if (const std::optional<std::string> text = server_->read(key, end)) return *text;
  throw std::runtime_error("it has not come in time");
}

std::string Rendezvous::strangers_text() const {
  if (dropped() == 0) return "";
  return "; connections dropped because they did not prove that they know the secret of this run: " +
         std::to_string(dropped());
}

std::vector<std::string> Rendezvous::exchange(const std::string& what, const std::string& text) {
  const auto key = [&](int rank) { return what + "/" + std::to_string(rank); };
  const Deadline end = after(patience_);
  std::vector<std::string> texts;
  int other = rank_;
  try {
    if (post(key(rank_), text, end) != text)
      throw Refusal(
          ErrorCode::kUnavailable, Reason::kRepeated,
          silence_of(rank_, size_, other) + "another process of this run has the same number" + strangers_text(),
          std::to_string(rank_));
    for (other = 0; other < size_; ++other) texts.push_back(read(key(other), end));
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Refusal(ErrorCode::kUnavailable, Reason::kSilent,
                  silence_of(rank_, size_, other) + error.what() + strangers_text(), std::to_string(other));
  }
  return texts;
}

ProcessFailure Rendezvous::first_failure(const ProcessFailure& failure) {
  try {
    return failure_from(post(kFailureKey, to_text(failure), after(kFailurePatience)), failure);
  } catch (const std::exception&) {
    return failure;
  }
}

}  // namespace nanobench::core
