#include "reports/effects/effect_text.h"

#include <algorithm>

#include "core/base/text.h"
#include "reports/comparison/remark_text.h"

namespace nanobench::reports {

std::string reason_text(const EffectResult& effect) {
  switch (effect.no_verdict) {
    case NoVerdict::kNone: return "";
    case NoVerdict::kMissingCell: return "not every cell has a completed run";
    case NoVerdict::kOtherPlaces:
      return "no seed has all its cells on one machine and seat, and times of different places are not compared";
    case NoVerdict::kNoTimes: return "not every cell has runs with a step time";
    case NoVerdict::kOtherCode: return different_code(effect.other_code);
    case NoVerdict::kFewValidations:
      return "too few validations to convert loss into time; the loss and the time have their own verdicts";
    case NoVerdict::kUncertainSlope:
      return "the end of the loss curve is too flat or too noisy to convert loss into time; the loss has its own "
             "verdict";
    case NoVerdict::kOneSeed: return "n = 1 gives no error";
    case NoVerdict::kNoError: return "the runs give no error to judge by";
    case NoVerdict::kFewSeeds: break;
  }
  return "n = " + std::to_string(std::min(effect.loss.n, effect.log_time.n)) + "; a verdict needs " +
         std::to_string(effect.min_n);
}

std::string disagreement_text(const EffectResult& effect) {
  const RankShift& shift = *effect.second.beside(effect.loss);
  const bool is_paired = effect.second.pairs && &shift == &*effect.second.pairs;
  const std::string test = is_paired ? "the signed-rank test" : "the Mann-Whitney test";
  const std::string runs = is_paired
                               ? counted(shift.n, "seed")
                               : std::to_string(shift.n) + " against " + std::to_string(shift.n_without) + " runs";
  return effect.contrast.effect +
         ": two tests of val loss disagree. The t test gives p = " + format_significant(*effect.loss.adjusted_p, 2) +
         ", " + test + " over " + runs + " gives p = " + format_significant(*shift.adjusted_p, 2) + " and a shift of " +
         format_signed(shift.shift, 4) + ". Look at the single runs before you rely on either.";
}

}  // namespace nanobench::reports
