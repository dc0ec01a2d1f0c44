#include "core/base/error.h"

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

}  // namespace nanobench::core
