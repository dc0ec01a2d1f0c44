#include "ablations/effect.h"

#include <algorithm>
#include <set>

#include "ablations/patch.h"
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
std::string reason(const ScaledConfig& scaled, const std::vector<std::string>& pointers) {
  std::string text;
  for (const ScaleNote& note : scaled.notes) {
    const bool concerns = std::any_of(pointers.begin(), pointers.end(), [&](const std::string& pointer) {
      return std::any_of(note.settings.begin(), note.settings.end(),
                         [&](const std::string& setting) { return covers(setting, pointer); });
    });
    if (concerns) text += (text.empty() ? "" : "; ") + note.text;
  }
  return text;
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
      throw Error(ErrorCode::kUnavailable, assignment(id, value) + " changes nothing" + why(*other, own));
    }
  }

  void check_patch(std::vector<std::string>& messages) const {
    if (request_.patch.empty()) return;
    const std::optional<TrainConfig> without = with_patch(settled_.config, Json::object());
    if (without && without->digest() != official_.digest() && is_idle(*without)) {
      throw Error(ErrorCode::kUnavailable, request_.patch_source + " changes nothing" + why(*without, std::nullopt));
    }
    for (const std::string& leaf : leaves_of(request_.patch)) {
      Json rest = request_.patch;
      const Json::json_pointer place(leaf);
      rest.at(place.parent_pointer()).erase(place.back());
      const std::optional<TrainConfig> other = with_patch(settled_.config, rest);
      if (!other || other->digest() == official_.digest() || !is_idle(*other)) continue;
      messages.push_back(request_.patch_source + ": " + leaf + " changes nothing" + why(*other, std::nullopt));
    }
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
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  bool is_idle(const TrainConfig& other) const {
    try {
      const Participants participants{request_.ranks, request_.processes};
      return apply_scale(other, catalogue_.scale(request_.scale), participants).config.digest() ==
             scaled_.config.digest();
    } catch (const Error&) {
      return false;
    }
  }

  std::string why(const TrainConfig& other, const std::optional<std::string>& own) const {
    const std::vector<std::string> pointers = differing_pointers(official_, other);
    if (pointers.empty()) return ": " + request_.patch_source + " sets the same";
    std::string text = reason(scaled_, pointers);
    if (text.empty()) text = own ? "there it is the same as \"" + *own + "\"" : "there it is the same as without";
    return " at scale " + request_.scale + ": " + text + "; leave it out, or choose another value or scale";
  }

  const Catalogue& catalogue_;
  const ResolveRequest& request_;
  const Settled& settled_;
  const TrainConfig& official_;
  const ScaledConfig& scaled_;
};

struct Need {
  const char* what;  ///< as in {"needs": ...} and in the option
  std::int64_t least;
  std::optional<std::int64_t> got;  ///< absent: not known here
};

void check_need(const std::string& setting, const Need& need) {
  if (!need.got || *need.got >= need.least) return;
  const std::string what = need.what;
  throw Error(ErrorCode::kUnavailable, setting + " acts only with " + std::to_string(need.least) + " " + what +
                                           " or more, and this run has " + std::to_string(*need.got) +
                                           "; ask for them (--" + what + " " + std::to_string(need.least) + ", or \"" +
                                           what + "\" in the suite) or leave the setting out");
}

/// Micro-steps follow from the batch, which no option changes.
void check_micro_steps(const std::string& setting, std::int64_t least, const TrainConfig& scaled) {
  const core::DataConfig& data = scaled.data;
  const std::int64_t got = data.sequences_per_step / (data.ranks * data.loader.sequences_per_read);
  if (got >= least) return;
  throw Error(ErrorCode::kUnavailable, setting + " acts only with " + std::to_string(least) +
                                           " micro-steps or more for each rank, and this run has " +
                                           std::to_string(got) +
                                           "; choose a scale or sequence length with more sequences a step, or leave "
                                           "the setting out");
}

void check_gpu(const std::string& setting, const std::optional<core::DeviceChoice>& device) {
  if (!device || device->is_gpu) return;
  throw Error(ErrorCode::kUnavailable, setting +
                                           " acts only on a GPU, and this run computes on the CPU; ask for one "
                                           "(--device cuda, or \"device\" in the suite) or leave the setting out");
}

}  // namespace

void check_needs(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
                 const TrainConfig& scaled) {
  for (const auto& [id, value] : request.settings) {
    const Feature& feature = catalogue.feature(id);
    if (value_at(settled.record, feature) == value) continue;
    check_need(assignment(id, value), {"processes", feature.needs.processes, scaled.distributed.processes});
    check_need(assignment(id, value), {"ranks", feature.needs.ranks, scaled.data.ranks});
    check_need(assignment(id, value), {"threads", feature.needs.threads, request.threads});
    check_micro_steps(assignment(id, value), feature.needs.micro_steps, scaled);
    if (feature.needs.gpu) check_gpu(assignment(id, value), request.device);
  }
  if (request.patch.contains("gpu")) check_gpu(request.patch_source + ": /gpu", request.device);
}

void check_effects(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
                   const TrainConfig& official, const ScaledConfig& scaled, std::vector<std::string>& messages) {
  const EffectCheck check(catalogue, request, settled, official, scaled);
  check.check_settings();
  check.check_patch(messages);
}

}  // namespace nanobench::ablations
