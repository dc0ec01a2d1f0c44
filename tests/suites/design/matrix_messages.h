// What a matrix says of its cells, for tests: by kind and subject, with the facts that the sentence must name.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "suites/design/plan.h"

namespace nanobench::suites {

using core::MessageKind;

inline bool says(const Matrix& matrix, MessageKind kind, const std::string& subject,
                 const std::vector<std::string>& facts = {}) {
  return std::any_of(matrix.messages.begin(), matrix.messages.end(), [&](const core::Message& message) {
    return message.kind == kind && message.subject == subject &&
           std::all_of(facts.begin(), facts.end(),
                       [&](const std::string& fact) { return message.text.find(fact) != std::string::npos; });
  });
}

/// For the output of a test that fails.
inline std::string all_of(const std::vector<core::Message>& messages) {
  std::string text;
  for (const core::Message& message : messages)
    text += enum_name(message.kind) + " [" + message.subject + "] " + message.text + "\n";
  return text;
}

}  // namespace nanobench::suites
