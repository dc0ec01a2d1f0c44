#include "ablations/effect.h"

#include <algorithm>
#include <set>

#include "ablations/patch.h"
#include "ablations/wording.h"
#include "core/base/error.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::TrainConfig;

/// Settings whose values differ.
std::vector<std::string> differing_pointers(const TrainConfig& a, const TrainConfig& b) {
  const Json one = Json(core::to_json(a)).flatten();
  const Json two = Json(core::to_json(b)).flatten();
  std::set<std::string> pointers;
  const auto collect = [&](const Json& from, const Json& other) {
    for (const auto& [pointer, value] : from.items()) {
      if (pointer != "/name" && (!other.contains(pointer) || other.at(pointer) != value)) pointers.insert(pointer);
    }
  };
  collect(one, two);
  collect(two, one);
  return {pointers.begin(), pointers.end()};
}

/// What the scale says about these settings.
std::vector<std::string> notes_about(const ScaledConfig& scaled, const std::vector<std::string>& pointers) {
  std::vector<std::string> texts;
  for (const ScaleNote& note : scaled.notes) {
    const bool concerns = std::any_of(pointers.begin(), pointers.end(), [&](const std::string& pointer) {
      return std::any_of(note.settings.begin(), note.settings.end(),
                         [&](const std::string& setting) { return covers(setting, pointer); });
    });
    if (concerns) texts.push_back(note.text);
  }
  return texts;
}

class EffectCheck {
 public:
  EffectCheck(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
              const TrainConfig& official, const ScaledConfig& scaled)
      : catalogue_(catalogue), request_(request), settled_(settled), official_(official), scaled_(scaled) {}

  void check_settings() const {
    for (const auto& [id, value] : request_.settings) {
      const std::optional<std::string> own = value_at(settled_.record, catalogue_.feature(id));
      if (own == value) continue;
      const std::optional<TrainConfig> other = without_setting(id, own);
      if (!other || !is_idle(*other)) continue;
      const bool comes_along = !own && request_.patch.empty() && other->digest() == official_.digest();
      if (comes_along) continue;  // it is the default of what it pulled in, and that acts
      throw Error(ErrorCode::kUnavailable, sentence(no_effect(assignment(id, value), *other, own)));
    }
  }

  /// Throws when the whole patch does nothing; otherwise one message for each part that does nothing.
  std::vector<core::Message> check_patch() const {
    std::vector<core::Message> messages;
    if (request_.patch.empty()) return messages;
    const std::optional<TrainConfig> without = with_patch(settled_.config, Json::object());
    if (without && without->digest() != official_.digest() && is_idle(*without)) {
      throw Error(ErrorCode::kUnavailable, sentence(no_effect(request_.patch_source, *without, std::nullopt)));
    }
    for (const std::string& leaf : leaves_of(request_.patch)) {
      Json rest = request_.patch;
      const Json::json_pointer place(leaf);
      rest.at(place.parent_pointer()).erase(place.back());
      const std::optional<TrainConfig> other = with_patch(settled_.config, rest);
      if (!other || other->digest() == official_.digest() || !is_idle(*other)) continue;
      messages.push_back({core::MessageKind::kNoEffect, leaf,
                          sentence(no_effect(request_.patch_source + ": " + leaf, *other, std::nullopt))});
    }
    return messages;
  }

 private:
  /// The official configuration with the record's own value in place of the setting; none when that is not valid.
  std::optional<TrainConfig> without_setting(const std::string& id, const std::optional<std::string>& own) const {
    FeatureSettings settings = settled_.settings;
    settings.erase(id);
    if (own) settings[id] = *own;
    return with_patch(with_settings(catalogue_, settled_.record, settings, settled_.held), request_.patch);
  }

  std::optional<TrainConfig> with_patch(const Json& config, const Json& patch) const {
    try {
      return core::read_train_config(merged(config, patch), "");
    } catch (const Error& error) {
      rethrow_internal(error);
      return std::nullopt;
    }
  }

  bool is_idle(const TrainConfig& other) const {
    try {
      const Participants participants{request_.ranks, request_.processes};
      return apply_scale(other, catalogue_.scale(request_.scale), participants).config.digest() ==
             scaled_.config.digest();
    } catch (const Error& error) {
      rethrow_internal(error);
      return false;
    }
  }

  NoEffect no_effect(const std::string& what, const TrainConfig& other, const std::optional<std::string>& own) const {
    const std::vector<std::string> pointers = differing_pointers(official_, other);
    return {.what = what,
            .same_as = pointers.empty() ? std::optional(request_.patch_source) : std::nullopt,
            .scale = request_.scale,
            .scale_notes = notes_about(scaled_, pointers),
            .own_value = own};
  }

  const Catalogue& catalogue_;
  const ResolveRequest& request_;
  const Settled& settled_;
  const TrainConfig& official_;
  const ScaledConfig& scaled_;
};

/// Micro-steps follow from the batch, which no option changes.
std::int64_t micro_steps(const TrainConfig& scaled) {
  const core::DataConfig& data = scaled.data;
  return data.sequences_per_step / (data.ranks * data.loader.sequences_per_read);
}

void require(const std::string& setting, const std::string& what, std::int64_t needed,
             const std::optional<std::int64_t>& got) {
  if (got && *got < needed) throw too_few(setting, what, needed, *got);
}

bool is_on_cpu(const ResolveRequest& request) {
  return request.device == "cpu";
}

}  // namespace

void check_needs(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
                 const TrainConfig& scaled) {
  for (const auto& [id, value] : request.settings) {
    const Feature& feature = catalogue.feature(id);
    if (value_at(settled.record, feature) == value) continue;
    const std::string setting = assignment(id, value);
    require(setting, "processes", feature.needs.processes, scaled.distributed.processes);
    require(setting, "ranks", feature.needs.ranks, scaled.data.ranks);
    require(setting, "threads", feature.needs.threads, request.threads);
    if (const std::int64_t got = micro_steps(scaled); got < feature.needs.micro_steps)
      throw too_few_micro_steps(setting, feature.needs.micro_steps, got);
    if (feature.needs.gpu && is_on_cpu(request)) throw needs_gpu(setting);
  }
  if (request.patch.contains("gpu") && is_on_cpu(request)) throw needs_gpu(request.patch_source + ": /gpu");
}

std::vector<core::Message> check_effects(const Catalogue& catalogue, const ResolveRequest& request,
                                         const Settled& settled, const TrainConfig& official,
                                         const ScaledConfig& scaled) {
  const EffectCheck check(catalogue, request, settled, official, scaled);
  check.check_settings();
  return check.check_patch();
}

}  // namespace nanobench::ablations
