#include "core/base/error.h"

#include <new>

namespace nanobench::core {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kDataLoss: return "data_loss";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kIncomplete: return "incomplete";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

void throw_check_failure(const char* expression, const char* file, int line, const std::string& message) {
  throw Error(ErrorCode::kInternal,
              std::string(file) + ":" + std::to_string(line) + ": " + message + " (failed: " + expression + ")");
}

int exit_code_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kExitUsage;
  const auto* own = dynamic_cast<const Error*>(&error);
  if (own == nullptr || own->code() == ErrorCode::kInternal) return kExitBug;
  return own->code() == ErrorCode::kIncomplete ? kExitIncomplete : kExitUsage;
}

}  // namespace nanobench::core
