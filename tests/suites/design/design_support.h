// What tests of designs share: the embedded catalogue, changed suites, and the messages of a matrix by kind and
// subject, with the facts that the sentence must name.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/json.h"
#include "suites/design/plan.h"
#include "suites/design/suite.h"

namespace nanobench::suites {

using core::MessageKind;

inline const ablations::Catalogue& catalogue() {
  static const ablations::Catalogue embedded = ablations::Catalogue::embedded();
  return embedded;
}

inline core::Json with(core::Json json, const std::string& key, const core::Json& value) {
  json[key] = value;
  return json;
}

/// Records 12 to 18 at smoke, with three seeds.
inline Suite history_suite() {
  return read_suite({{"name", "history"},
                     {"design", "history"},
                     {"records", {"record12", "record13", "record14", "record15", "record16", "record17", "record18"}},
                     {"scale", "smoke"},
                     {"seeds", {1, 2, 3}}},
                    "history.json");
}

/// Features of record 17 at smoke.
inline Suite ablation_suite(const std::string& design, const core::Json& features) {
  return read_suite({{"name", "ablation"},
                     {"design", design},
                     {"base", {{"record", "record17"}}},
                     {"features", features},
                     {"scale", "smoke"}},
                    "ablation.json");
}

inline std::vector<std::string> labels_of(const Matrix& matrix) {
  std::vector<std::string> labels;
  for (const Cell& cell : matrix.cells) labels.push_back(cell.label);
  return labels;
}

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
