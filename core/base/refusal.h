/// An Error that says by values what is wrong: a reason and its subject. Callers and tests compare these; the sentence
/// is for readers, and its words may change at any time. Thread-safe: no state.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace nanobench::core {

/// What is wrong. core/base/reason.h has the enumerators: who only passes a reason on does not depend on the list.
enum class Reason : int;

/// Ends the operation as an Error does.
class Refusal : public Error {
 public:
  /// `subject`: what is refused, as data and not in words: a JSON pointer, a file, a name, a number. Empty where the
  /// reason says it all.
  Refusal(ErrorCode code, Reason reason, const std::string& message, std::string subject = "")
      : Error(code, message), reason_(reason), subject_(std::move(subject)) {}
  Reason reason() const noexcept { return reason_; }
  const std::string& subject() const noexcept { return subject_; }

 private:
  Reason reason_;
  std::string subject_;
};

/// Reason::kNone of what is no Refusal.
Reason reason_of(const std::exception& error);

/// "" of what is no Refusal.
std::string subject_of(const std::exception& error);

/// Throws an error with another message, such as one that begins with where it happened. Code, reason and subject stay.
[[noreturn]] void throw_again(const Error& error, const std::string& message);
/// The same with another code.
[[noreturn]] void throw_again(const Error& error, ErrorCode code, const std::string& message);

}  // namespace nanobench::core
