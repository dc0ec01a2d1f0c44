#include "core/protocol/evaluation_spec.h"

#include <algorithm>

#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {

bool is_evaluation_name(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= 40 && is_letter(text[0]) && std::all_of(text.begin(), text.end(), fits);
}

Json to_json(const EvaluationSpec& spec) {
  Json json = {{"name", spec.name}, {"file", spec.file}, {"digest", spec.digest}};
  if (spec.best_accuracy) json["best_accuracy"] = *spec.best_accuracy;
  return json;
}

std::vector<EvaluationSpec> read_evaluations(const Json& value, const std::string& source) {
  if (!value.is_array())
    throw LocatedError(ErrorCode::kInvalidArgument, Reason::kWrongType, source, {""},
                       "expected a list, got " + std::string(value.type_name()));
  std::vector<EvaluationSpec> evaluations;
  for (std::size_t i = 0; i < value.size(); ++i) {
    JsonObject object(value[i], source, "/" + std::to_string(i));
    EvaluationSpec spec{
        .name = object.string("name"), .file = object.string("file"), .digest = object.string("digest")};
    if (!is_evaluation_name(spec.name))
      object.fail("name", "expected at most 40 letters a to z, digits and \"_\", the first a letter, got \"" +
                              spec.name + "\"");
    if (object.find("best_accuracy") != nullptr) spec.best_accuracy = object.number("best_accuracy", 0, 1);
    object.finish();
    const auto is_same = [&](const EvaluationSpec& other) { return other.name == spec.name; };
    if (std::any_of(evaluations.begin(), evaluations.end(), is_same))
      object.fail("name", Reason::kRepeated, spec.name + " appears twice; keep one of them");
    evaluations.push_back(std::move(spec));
  }
  return evaluations;
}

}  // namespace nanobench::core
