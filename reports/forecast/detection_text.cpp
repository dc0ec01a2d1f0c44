#include "reports/forecast/detection_text.h"

#include "core/base/text.h"

namespace nanobench::reports {

std::string source_text(const NoiseFigure& noise) {
  switch (noise.source) {
    case NoiseSource::kSuite: return "stored runs of this suite, seed by seed";
    case NoiseSource::kSelfComparison:
      return "plan " + std::to_string(noise.plan_id) + ", one configuration against itself (a_a)" +
             (noise.is_bound ? ", over seeds" : "");
    case NoiseSource::kAllRuns: return "all stored runs of this scale, over seeds";
    case NoiseSource::kAllPlans: return "all stored plans of this scale, seed by seed";
    case NoiseSource::kNone: break;
  }
  return "unknown: no replicated runs of this scale, engine and machine are stored";
}

std::string text_of(const Undetectable& why, const NoiseFigure& noise) {
  switch (why.kind) {
    case Undetectable::Kind::kNoNoise: return source_text(noise);
    case Undetectable::Kind::kEqualRuns: return "the stored runs of one seed do not differ";
    case Undetectable::Kind::kManySeeds: return "more than " + format_count(why.seeds) + " seeds would be needed";
    case Undetectable::Kind::kFewSeeds: break;
  }
  return std::to_string(why.seeds) + (why.seeds == 1 ? " seed gives" : " seeds give") + " no verdict: --seeds " +
         std::to_string(kVerdictSeeds) + " or more";
}

}  // namespace nanobench::reports
