#include "core/base/refusal.h"

#include "core/base/reason.h"

namespace nanobench::core {

Reason reason_of(const std::exception& error) {
  const auto* refusal = dynamic_cast<const Refusal*>(&error);
  return refusal == nullptr ? Reason::kNone : refusal->reason();
}

std::string subject_of(const std::exception& error) {
  const auto* refusal = dynamic_cast<const Refusal*>(&error);
  return refusal == nullptr ? "" : refusal->subject();
}

void throw_again(const Error& error, const std::string& message) {
  throw_again(error, error.code(), message);
}

void throw_again(const Error& error, ErrorCode code, const std::string& message) {
  throw Refusal(code, reason_of(error), message, subject_of(error));
}

}  // namespace nanobench::core
