#include "core/protocol/turn_gate.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/base/json.h"

namespace nanobench::core {
namespace {

constexpr std::chrono::duration<double> kLookForStop{0.2};

}  // namespace

TurnGate TurnGate::from_environment() {
  const char* const text = std::getenv(kTurnsFdVariable);
  if (text == nullptr) return {};
  const char* const end = text + std::strlen(text);
  int number = -1;
  const auto parsed = std::from_chars(text, end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  unsetenv(kTurnsFdVariable);
  if (!is_number || number < 0 || fcntl(number, F_SETFD, FD_CLOEXEC) != 0) return {};
  return TurnGate(Fd(number));
}

bool TurnGate::wait(std::int64_t step, const std::function<bool()>& is_stopped) {
  while (needs_turn(step)) {
    if (is_stopped() || !grants_.is_open()) return false;
    if (!wait_readable({grants_.get()}, kLookForStop)) continue;
    lines_.add(read_available(grants_), [this](std::string_view line) { read_grant(line); });
    has_ended_ = has_ended_ || !grants_.is_open();
  }
  return true;
}

void TurnGate::read_grant(std::string_view line) {
  const Json grant = json_or_null(line);
  read_values(
      "not a turn", [&] { until_ = std::max(until_, grant.at("until").get<std::int64_t>()); }, ErrorCode::kDataLoss);
}

}  // namespace nanobench::core
