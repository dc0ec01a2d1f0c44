#include "reports/kinds/effect_tally.h"

#include <algorithm>

#include "reports/effects/effect_text.h"

namespace nanobench::reports {
namespace {

void add_known(EffectTally& tally, const SeedsForVerdict& answer) {
  const int least = answer.min_seeds.value_or(*answer.seeds) - answer.have;
  tally.min_more = tally.known == 0 ? least : std::min(tally.min_more, least);
  const std::optional<int> most = answer.max_seeds ? std::optional(*answer.max_seeds - answer.have) : std::nullopt;
  tally.max_more = !most || (tally.known > 0 && !tally.max_more)
                       ? std::nullopt
                       : std::optional(std::max(tally.max_more.value_or(0), *most));
  ++tally.known;
}

void add_open(EffectTally& tally, const EffectResult& effect, const SeedsForVerdict& answer) {
  using Status = SeedsForVerdict::Status;
  switch (answer.status) {
    case Status::kKnown: return add_known(tally, answer);
    case Status::kTooMany: ++tally.too_many; return;
    case Status::kOneSeed: ++tally.one_seed; return;
    case Status::kWithinNoise: ++tally.within_noise; return;
    case Status::kUnknown: break;
  }
  ++tally.unknown;
  const std::string reason = reason_text(effect);
  tally.reasons.insert(reason.empty() ? "its runs give no answer" : reason);
}

}  // namespace

EffectTally tally_of(const std::vector<EffectResult>& effects,
                     const std::vector<std::optional<SeedsForVerdict>>& needed) {
  EffectTally tally;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const EffectResult& effect = effects[i];
    if (!effect.verdict) continue;
    ++tally.total;
    tally.name = effect.contrast.effect;
    switch (*effect.verdict) {
      case FeatureVerdict::kKeep: tally.kept.push_back(tally.name); break;
      case FeatureVerdict::kDrop: tally.dropped.push_back(tally.name); break;
      case FeatureVerdict::kBarnacle: tally.barnacles.push_back(tally.name); break;
      case FeatureVerdict::kInconclusive:
        add_open(tally, effect, i < needed.size() ? needed[i].value_or(SeedsForVerdict{}) : SeedsForVerdict{});
    }
  }
  return tally;
}

}  // namespace nanobench::reports
