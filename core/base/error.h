/// The only exception type of nanobench, the check that throws it, and the exit codes for errors and verdicts.
/// Thread-safe: no state.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace nanobench::core {

/// Kind of error; tools/ maps it to an exit code.
enum class ErrorCode {
  kInvalidArgument,  ///< the user's input is wrong: exit 2
  kNotFound,         ///< a named thing does not exist: exit 2
  kConflict,         ///< two valid inputs exclude each other: exit 2
  kUnavailable,      ///< this build or machine cannot do it: exit 2
  kDataLoss,         ///< a file is truncated or corrupt: exit 2
  kIo,               ///< the operating system refused: exit 2
  kIncomplete,       ///< what had begun could not be ended, so the evidence is incomplete: exit 4
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
inline constexpr int kExitRegression = 1;     ///< a gate or an audit reached a verdict and failed
inline constexpr int kExitUsage = 2;          ///< an invalid command line, configuration or file
inline constexpr int kExitInconclusive = 3;   ///< not enough evidence to decide
inline constexpr int kExitIncomplete = 4;     ///< a cell failed, so the evidence is incomplete
inline constexpr int kExitNotComparable = 5;  ///< no baseline, or one from another machine, scale or data set
inline constexpr int kExitBug = 70;           ///< a bug in nanobench
inline constexpr int kExitInterrupted = 130;

/// The exit code of a program that ends because of `error`: kExitIncomplete, kExitUsage, or kExitBug for kInternal and
/// for what is no Error. Too little memory is no bug.
int exit_code_of(const std::exception& error);

/// Rethrows the Error being handled if it is a bug in nanobench (kInternal), which no caller may ignore.
inline void rethrow_internal(const Error& error) {
  if (error.code() == ErrorCode::kInternal) throw;
}

}  // namespace nanobench::core

/// Checks for programmer errors, also in release builds: throws Error{kInternal}.
#define NB_CHECK(condition, message)                                                     \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      ::nanobench::core::throw_check_failure(#condition, __FILE__, __LINE__, (message)); \
    }                                                                                    \
  } while (false)
