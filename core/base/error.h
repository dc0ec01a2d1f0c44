/// The one exception type of nanobench, the check that throws it, and the exit codes that errors and verdicts become.
/// Thread-safe: no state.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace nanobench::core {

/// What kind of thing went wrong; tools/ maps it to an exit code.
enum class ErrorCode {
  kInvalidArgument,  ///< the user's input is wrong: exit 2
  kNotFound,         ///< a named thing does not exist: exit 2
  kConflict,         ///< two valid inputs exclude each other: exit 2
  kUnavailable,      ///< this build or machine cannot do it: exit 2
  kDataLoss,         ///< a file is truncated or corrupt: exit 2
  kIo,               ///< the operating system refused: exit 2
  kInternal,         ///< a bug in nanobench: exit 70
};

/// "invalid_argument", "not_found", ...: stable names used in events and JSON output.
const char* to_string(ErrorCode code);

/// Ends the operation. The message is one sentence: what, where (file and JSON pointer), expected against got, next
/// step.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

[[noreturn]] void throw_check_failure(const char* expression, const char* file, int line, const std::string& message);

/// Exit codes: scripts rely on the numbers, which never change.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitRegression = 1;     ///< a gate or an audit that can be decided, and fails
inline constexpr int kExitUsage = 2;          ///< the command line, a configuration, a file
inline constexpr int kExitInconclusive = 3;   ///< not enough evidence to decide
inline constexpr int kExitIncomplete = 4;     ///< a cell failed: the evidence is incomplete
inline constexpr int kExitNotComparable = 5;  ///< no baseline, or one of another machine, scale or data
inline constexpr int kExitBug = 70;           ///< ours
inline constexpr int kExitInterrupted = 130;

/// Throws on the Error that is being handled when it is a bug in nanobench (kInternal), which nobody may pass over.
inline void rethrow_internal(const Error& error) {
  if (error.code() == ErrorCode::kInternal) throw;
}

}  // namespace nanobench::core

/// Programmer errors, alive in release builds: throws Error{kInternal}.
#define NB_CHECK(condition, message)                                                     \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      ::nanobench::core::throw_check_failure(#condition, __FILE__, __LINE__, (message)); \
    }                                                                                    \
  } while (false)
