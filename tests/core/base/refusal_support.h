/// What an operation refuses, by values, for tests: no test compares the words of a sentence.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {

/// An error, taken apart.
struct Refused {
  bool is_refused = false;
  ErrorCode code = ErrorCode::kInternal;
  Reason reason = Reason::kNone;
  std::string subject;
  std::string source;                 ///< of a LocatedError: the file
  std::vector<std::string> pointers;  ///< of a LocatedError: all places that it is about
  std::string message;                ///< for readers; a test looks only for data in it: names, paths, numbers

  /// Whether the message has the data: a name, a path, a number that was put in.
  bool names(const std::string& data) const { return message.find(data) != std::string::npos; }
  /// Whether the message begins with the data: the file and the place in it.
  bool begins(const std::string& data) const { return message.rfind(data, 0) == 0; }

  friend void PrintTo(const Refused& refused, std::ostream* out) {
    if (!refused.is_refused) {
      *out << "nothing was refused";
      return;
    }
    *out << to_string(refused.code) << ", reason " << static_cast<int>(refused.reason) << ", subject \""
         << refused.subject << "\": " << refused.message;
  }
};

inline Refused refused_by(const std::exception& error) {
  Refused refused{.is_refused = true,
                  .reason = reason_of(error),
                  .subject = subject_of(error),
                  .source = {},
                  .pointers = {},
                  .message = error.what()};
  if (const auto* own = dynamic_cast<const Error*>(&error)) refused.code = own->code();
  if (const auto* located = dynamic_cast<const LocatedError*>(&error)) {
    refused.source = located->source();
    refused.pointers = located->pointers();
  }
  return refused;
}

/// What the action refuses; is_refused is false if it does not.
template <class Action>
Refused refusal_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return refused_by(error);
  }
  return {};
}

inline ::testing::AssertionResult is_refusal(const char* what, const char* reason_text, const char* /*subject_text*/,
                                             const Refused& refused, Reason reason, const std::string& subject) {
  if (refused.is_refused && refused.reason == reason && refused.subject == subject)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << what << "\n  expected " << reason_text << " (" << static_cast<int>(reason)
                                       << "), subject \"" << subject << "\"\n  got "
                                       << ::testing::PrintToString(refused);
}

inline ::testing::AssertionResult is_coded_refusal(const char* what, const char* code_text, const char* reason_text,
                                                   const char* subject_text, const Refused& refused, ErrorCode code,
                                                   Reason reason, const std::string& subject) {
  if (refused.code == code) return is_refusal(what, reason_text, subject_text, refused, reason, subject);
  return ::testing::AssertionFailure() << what << "\n  expected " << code_text << ", got "
                                       << ::testing::PrintToString(refused);
}

}  // namespace nanobench::core

/// A Refused has the reason and the subject.
#define EXPECT_REFUSED(refused, reason, subject) \
  EXPECT_PRED_FORMAT3(::nanobench::core::is_refusal, refused, reason, subject)

/// The same, and the code. NB: the code comes first, as in a throw.
#define EXPECT_REFUSED_AS(refused, code, reason, subject) \
  EXPECT_PRED_FORMAT4(::nanobench::core::is_coded_refusal, refused, code, reason, subject)

/// The statement throws a Refusal with the reason and the subject.
#define EXPECT_REFUSAL(statement, reason, subject) \
  EXPECT_REFUSED(::nanobench::core::refusal_of([&] { statement; }), reason, subject)
