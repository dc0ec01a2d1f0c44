/// All sentences about settings that cannot hold, have no effect or pulled in others. They are made here, from values
/// alone. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ablations/resolve.h"
#include "ablations/settle.h"
#include "core/base/json.h"
#include "core/base/message.h"

namespace nanobench::ablations {

/// "feature=value"
std::string assignment(const std::string& feature, const std::string& value);
std::string assignment(const FeatureSetting& setting);
/// "a=b, c=d"
std::string assignments(const FeatureSettings& settings);
/// "feature=value (for other=value)" if another setting pulled it in.
std::string described(const Settled& settled, const FeatureSetting& setting);

core::Message already_set(const FeatureSetting& setting, const std::string& record);
core::Message set_too(const PulledIn& pulled_in);
/// "a=b needs c=d": the reason for the setting that was pulled in.
std::string need_of(const PulledIn& pulled_in);

/// The setting needs one of the values that another setting rules out.
core::Refusal unmet_requirement(const Settled& settled, const FeatureSetting& setting,
                                const FeatureRelation& requirement, const FeatureSetting& other);
/// `is_set`: the other value was requested or pulled in, and is not the record's own.
core::Refusal exclusion(const Settled& settled, const FeatureSetting& setting, const FeatureSetting& other,
                        bool is_set);
core::Refusal same_place(const Settled& settled, const FeatureSetting& setting, const FeatureSetting& other);

/// Explains why a configuration is invalid and names the settings that asked for it, or the record if there are none.
core::Refusal blamed(const core::LocatedError& error, const std::vector<std::string>& askers, const std::string& record,
                     const std::vector<std::string>& own);

/// "held by the scale: a=b (officially c)", with the record's own value if it has one.
std::string held_note(const std::vector<std::pair<FeatureSetting, std::optional<std::string>>>& held);

/// Why a setting or patch changes nothing: another patch sets the same, or the scale hides it.
struct NoEffect {
  std::string what;                      ///< "rotary=half", "suite.json: /base/patch", followed by the pointer
  std::optional<std::string> same_as;    ///< a patch that sets the same; the other reasons are then ignored
  std::string scale;                     ///< scale at which it changes nothing
  std::vector<std::string> scale_notes;  ///< the scale's notes about it
  std::optional<std::string> own_value;  ///< the record's value, if it is the same
};
std::string sentence(const NoEffect& no_effect);

/// A setting takes effect only in runs with more of something.
core::Refusal too_few(const std::string& setting, const std::string& what, std::int64_t needed, std::int64_t got);
core::Refusal too_few_micro_steps(const std::string& setting, std::int64_t needed, std::int64_t got);
core::Refusal needs_gpu(const std::string& setting);

}  // namespace nanobench::ablations
