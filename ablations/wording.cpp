#include "ablations/wording.h"

#include "core/base/reason.h"
#include "core/base/text.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;
using core::MessageKind;
using core::Reason;
using core::Refusal;

std::string with_asker(const std::string& text, const Settled& settled, const std::string& feature) {
  const PulledIn* const pulled_in = settled.find_pulled_in(feature);
  return pulled_in == nullptr ? text : text + " (for " + assignment(pulled_in->asked) + ")";
}

}  // namespace

std::string assignment(const std::string& feature, const std::string& value) {
  return feature + "=" + value;
}

std::string assignment(const FeatureSetting& setting) {
  return assignment(setting.feature, setting.value);
}

std::string assignments(const FeatureSettings& settings) {
  std::vector<std::string> texts;
  for (const auto& [feature, value] : settings) texts.push_back(assignment(feature, value));
  return joined(texts);
}

std::string described(const Settled& settled, const FeatureSetting& setting) {
  return with_asker(assignment(setting), settled, setting.feature);
}

core::Message already_set(const FeatureSetting& setting, const std::string& record) {
  return {MessageKind::kAlreadySet, setting.feature, assignment(setting) + " is what " + record + " already has"};
}

core::Message set_too(const PulledIn& pulled_in) {
  return {MessageKind::kSetToo, pulled_in.setting.feature,
          need_of(pulled_in) + ", so " + pulled_in.setting.feature + " is set too" +
              (pulled_in.before ? " (it was " + *pulled_in.before + ")" : "")};
}

std::string need_of(const PulledIn& pulled_in) {
  return assignment(pulled_in.needed_by) + " needs " + assignment(pulled_in.setting);
}

Refusal unmet_requirement(const Settled& settled, const FeatureSetting& setting, const FeatureRelation& requirement,
                          const FeatureSetting& other) {
  return {ErrorCode::kConflict, Reason::kUnmet,
          described(settled, setting) + " needs " + requirement.feature + " to be " +
              joined(requirement.values, " or ") + ", but it is set to " +
              with_asker(other.value, settled, other.feature) + "; leave one of the two settings out",
          assignment(setting)};
}

Refusal exclusion(const Settled& settled, const FeatureSetting& setting, const FeatureSetting& other, bool is_set) {
  return {ErrorCode::kConflict, Reason::kExcluded,
          described(settled, setting) + " excludes " + described(settled, other) + "; " +
              (is_set ? "leave one of the two settings out" : "set " + other.feature + " to another value as well"),
          assignment(setting)};
}

Refusal same_place(const Settled& settled, const FeatureSetting& setting, const FeatureSetting& other) {
  return {ErrorCode::kConflict, Reason::kOverlap,
          described(settled, setting) + " and " + described(settled, other) +
              " change the same setting; leave one of them out",
          assignment(setting)};
}

Refusal blamed(const core::LocatedError& error, const std::vector<std::string>& askers, const std::string& record,
               const std::vector<std::string>& own) {
  std::string message = error.what();
  if (!askers.empty()) {
    message += "; asked for by " + listed(askers);
  } else if (!own.empty()) {
    message += "; " + record + " itself has " + listed(own);
  }
  return {error.code(), error.reason(), message, error.subject()};
}

std::string held_note(const std::vector<std::pair<FeatureSetting, std::optional<std::string>>>& held) {
  std::vector<std::string> texts;
  for (const auto& [setting, own] : held)
    texts.push_back(assignment(setting) + (own ? " (officially " + *own + ")" : ""));
  return "held by the scale: " + joined(texts);
}

std::string sentence(const NoEffect& no_effect) {
  const std::string start = no_effect.what + " changes nothing";
  if (no_effect.same_as) return start + ": " + *no_effect.same_as + " sets the same";
  std::string why = joined(no_effect.scale_notes, "; ");
  if (why.empty()) {
    why = no_effect.own_value ? "there it is the same as \"" + *no_effect.own_value + "\""
                              : "there it is the same as without";
  }
  return start + " at scale " + no_effect.scale + ": " + why + "; leave it out, or choose another value or scale";
}

Refusal too_few(const std::string& setting, const std::string& what, std::int64_t needed, std::int64_t got) {
  const std::string count = std::to_string(needed);
  return {ErrorCode::kUnavailable, Reason::kTooFewProcesses,
          setting + " acts only with " + count + " " + what + " or more, and this run has " + std::to_string(got) +
              "; ask for them (--" + what + " " + count + ", or \"" + what +
              "\" in the suite) or leave the setting out",
          setting};
}

Refusal too_few_micro_steps(const std::string& setting, std::int64_t needed, std::int64_t got) {
  return {ErrorCode::kUnavailable, Reason::kTooFewMicroSteps,
          setting + " acts only with " + std::to_string(needed) +
              " micro-steps or more for each rank, and this run has " + std::to_string(got) +
              "; choose a scale or sequence length with more sequences a step, or leave the setting out",
          setting};
}

Refusal needs_gpu(const std::string& setting) {
  return {ErrorCode::kUnavailable, Reason::kNeedsGpu,
          setting +
              " acts only on a GPU, and this run computes on the CPU; ask for one (--device "
              "cuda, or \"device\" in the suite) or leave the setting out",
          setting};
}

}  // namespace nanobench::ablations
