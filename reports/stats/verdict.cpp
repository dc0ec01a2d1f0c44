#include "reports/stats/verdict.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {
namespace {

void require_alpha(double alpha) {
  if (alpha > 0.0 && alpha < 0.5) return;
  throw core::Error(core::ErrorCode::kInvalidArgument, "alpha must be between 0 and 0.5, without the ends");
}

}  // namespace

Equivalence equivalence(const Estimate& effect, const Margins& margins, double alpha) {
  require_alpha(alpha);
  require_positive(margins.low, "the lower margin");
  require_positive(margins.high, "the upper margin");
  Equivalence result;
  result.p_above_low = p_of(effect, Tail::kGreater, -margins.low);
  result.p_below_high = p_of(effect, Tail::kLess, margins.high);
  result.p = std::max(result.p_above_low, result.p_below_high);
  result.interval = interval_of(effect, 1.0 - 2.0 * alpha);
  result.is_equivalent = result.p < alpha;
  return result;
}

NonInferiority non_inferiority(const Estimate& effect, double margin, Direction direction, double alpha) {
  require_alpha(alpha);
  require_positive(margin, "the margin");
  const Tail tail = direction == Direction::kLowerIsBetter ? Tail::kLess : Tail::kGreater;
  NonInferiority result;
  result.p = p_of(effect, tail, direction == Direction::kLowerIsBetter ? margin : -margin);
  result.interval = interval_of(effect, 1.0 - alpha, tail);
  result.is_proved = result.p < alpha;
  return result;
}

namespace {

void check(const VerdictRule& rule) {
  require_positive(rule.margins.low, "the lower margin");
  require_positive(rule.margins.high, "the upper margin");
  require_count(rule.min_n, 2, "the fewest runs for a verdict");
  if (!(rule.alpha > 0.0 && rule.alpha < 0.5)) {
    throw core::Error(core::ErrorCode::kInvalidArgument, "alpha must be between 0 and 0.5, without the ends");
  }
}

/// An absent value is fine; a present one must be a probability.
bool is_broken(const std::optional<double>& p) {
  return p && !(*p >= 0.0 && *p <= 1.0);
}

bool is_missing(const Evidence& evidence) {
  if (evidence.n < 1 || is_broken(evidence.p) || is_broken(evidence.p_equivalence)) return true;
  return evidence.effect && !evidence.effect->is_usable();
}

}  // namespace

Verdict verdict_of(const Evidence& evidence, const VerdictRule& rule) {
  check(rule);
  if (is_missing(evidence)) return Verdict::kMissing;
  if (evidence.n < rule.min_n || !evidence.effect) return Verdict::kInconclusive;
  const Estimate& effect = *evidence.effect;
  const double p_inside = evidence.p_equivalence.value_or(equivalence(effect, rule.margins, rule.alpha).p);
  if (p_inside < rule.alpha) return Verdict::kUnchanged;
  if (!(evidence.p.value_or(p_of(effect)) < rule.alpha)) return Verdict::kInconclusive;
  const bool is_lower = effect.value < 0.0;
  return is_lower == (rule.direction == Direction::kLowerIsBetter) ? Verdict::kImproved : Verdict::kRegressed;
}

FeatureVerdict feature_verdict_of(const Evidence& removal, double margin_s, double alpha, int min_n) {
  const VerdictRule rule{
      .direction = Direction::kLowerIsBetter, .margins = Margins::symmetric(margin_s), .alpha = alpha, .min_n = min_n};
  switch (verdict_of(removal, rule)) {
    case Verdict::kRegressed: return FeatureVerdict::kKeep;
    case Verdict::kImproved: return FeatureVerdict::kDrop;
    case Verdict::kUnchanged: return FeatureVerdict::kBarnacle;
    case Verdict::kNotWorse:
    case Verdict::kInconclusive:
    case Verdict::kMissing: break;
  }
  return FeatureVerdict::kInconclusive;
}

}  // namespace nanobench::reports
