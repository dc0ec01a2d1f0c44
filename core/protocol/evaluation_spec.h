/// Multiple choice that an engine answers with the trained model, outside its training clock. Plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"

namespace nanobench::core {

struct EvaluationSpec {
  std::string name;                     ///< part of metrics' tags: "hellaswag"
  std::string file;                     ///< its items (core/data/choice_task.h)
  std::string digest;                   ///< of the items
  std::optional<double> best_accuracy;  ///< where it is known; reported with the result
  bool operator==(const EvaluationSpec&) const = default;
};

/// Whether the text is a name: 1 to 40 letters a to z, digits and "_", the first a letter.
bool is_evaluation_name(std::string_view text);

Json to_json(const EvaluationSpec& spec);
/// A list of evaluations with distinct names. Throws LocatedError.
std::vector<EvaluationSpec> read_evaluations(const Json& value, const std::string& source);

}  // namespace nanobench::core
