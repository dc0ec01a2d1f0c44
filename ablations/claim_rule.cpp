#include "ablations/claim_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::ablations {

namespace {

using core::Json;
using core::JsonObject;
using core::Reason;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = 1e18;

double low_of(const RuleInterval& interval) {
  return interval.low.value_or(-kInfinity);
}

double high_of(const RuleInterval& interval) {
  return interval.high.value_or(kInfinity);
}

RuleInterval read_interval(const JsonObject& object, const Json& item, std::size_t index) {
  const auto fail = [&](core::Reason reason, const std::string& message) {
    const std::string pointer = object.pointer_to("within") + "/" + std::to_string(index);
    throw core::Refusal(core::ErrorCode::kInvalidArgument, reason,
                        core::json_location(object.source(), pointer) + ": " + message, pointer);
  };
  const auto is_end = [](const Json& end) { return end.is_null() || end.is_number(); };
  if (!item.is_array() || item.size() != 2 || !is_end(item[0]) || !is_end(item[1])) {
    fail(core::Reason::kWrongType, "expected [low, high], each a number or null for no limit");
  }
  RuleInterval interval;
  if (item[0].is_number()) interval.low = item[0].get<double>();
  if (item[1].is_number()) interval.high = item[1].get<double>();
  if (!interval.low && !interval.high) fail(core::Reason::kNoLimit, "holds everything; a rule must be able to fail");
  if (low_of(interval) > high_of(interval))
    fail(core::Reason::kReversed, "its low end is above its high end; swap them");
  return interval;
}

/// Distance of `value` from the nearest interval; 0 inside one.
double distance(const ClaimRule& rule, double value) {
  double nearest = kInfinity;
  for (const RuleInterval& interval : rule.within) {
    nearest = std::min(nearest, std::max({0.0, low_of(interval) - value, value - high_of(interval)}));
  }
  return nearest;
}

/// Numbers on both sides of every interval end, near it and beyond the tolerance.
std::vector<double> candidates(const ClaimRule& rule) {
  std::vector<double> values = {-1, 0, 1};
  for (const RuleInterval& interval : rule.within) {
    for (const auto& end : {interval.low, interval.high}) {
      if (!end) continue;
      const double step = 2 * rule.tolerance + 1e-6 * std::max(1.0, std::fabs(*end));
      values.insert(values.end(), {*end, *end - step, *end + step, *end / 2, *end * 2});
    }
    if (interval.low && interval.high) values.push_back(*interval.low / 2 + *interval.high / 2);
  }
  return values;
}

bool is_possible(const ClaimRule& rule, MetricRange range, double value) {
  const bool is_difference = rule.form == RuleForm::kAfterMinusBefore;
  const bool is_ratio = rule.form == RuleForm::kAfterOverBefore || rule.form == RuleForm::kBeforeOverAfter;
  if (value < 0 && !is_difference) return false;
  if (range == MetricRange::kPositive || is_ratio) return true;
  if (range == MetricRange::kFraction) return std::fabs(value) <= 1;
  return value == 0 || value == 1 || value == -1;
}

std::string number_text(double value) {
  std::ostringstream text;
  text.precision(12);
  text << value;
  return text.str();
}

std::string interval_text(const RuleInterval& interval) {
  if (!interval.low) return "at most " + number_text(*interval.high);
  if (!interval.high) return "at least " + number_text(*interval.low);
  if (*interval.low == *interval.high) return "exactly " + number_text(*interval.low);
  return number_text(*interval.low) + " to " + number_text(*interval.high);
}

}  // namespace

double combined(RuleForm form, double before, double after) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (form) {
    case RuleForm::kBefore: return before;
    case RuleForm::kAfter: return after;
    case RuleForm::kAfterOverBefore: return before == 0 ? nan : after / before;
    case RuleForm::kBeforeOverAfter: return after == 0 ? nan : before / after;
    case RuleForm::kAfterMinusBefore: return after - before;
    case RuleForm::kPair: return nan;
  }
  return nan;
}

ClaimVerdict evaluate(const ClaimRule& rule, double value) {
  if (std::isnan(value)) return ClaimVerdict::kInconclusive;
  const double outside = distance(rule, value);
  if (outside == 0) return ClaimVerdict::kSupported;
  return outside > rule.tolerance ? ClaimVerdict::kContradicted : ClaimVerdict::kInconclusive;
}

ClaimVerdict evaluate(const ClaimRule& rule, double low, double high) {
  if (std::isnan(low) || std::isnan(high) || low > high) return ClaimVerdict::kInconclusive;
  const auto holds = [&](const RuleInterval& i) { return low_of(i) <= low && high <= high_of(i); };
  const auto touches = [&](const RuleInterval& i) {
    return low_of(i) - rule.tolerance <= high && low <= high_of(i) + rule.tolerance;
  };
  if (std::any_of(rule.within.begin(), rule.within.end(), holds)) return ClaimVerdict::kSupported;
  return std::any_of(rule.within.begin(), rule.within.end(), touches) ? ClaimVerdict::kInconclusive
                                                                      : ClaimVerdict::kContradicted;
}

std::optional<double> example_value(const ClaimRule& rule, MetricRange range, ClaimVerdict verdict) {
  for (const double value : candidates(rule)) {
    if (is_possible(rule, range, value) && evaluate(rule, value) == verdict) return value;
  }
  return std::nullopt;
}

ClaimRule read_claim_rule(JsonObject object) {
  ClaimRule rule;
  rule.metric = object.string("metric");
  rule.form = object.enumeration<RuleForm>("of");
  const Json& within = object.at("within");
  if (!within.is_array() || within.empty())
    object.fail("within", Reason::kEmpty, "expected a list of [low, high] with at least one");
  for (std::size_t i = 0; i < within.size(); ++i) rule.within.push_back(read_interval(object, within[i], i));
  if (object.find("tolerance") != nullptr) rule.tolerance = object.number("tolerance", 0, kLargest);
  if (object.find("claimed") != nullptr) {
    rule.claimed = object.number("claimed", -kLargest, kLargest);
    if (evaluate(rule, *rule.claimed) != ClaimVerdict::kSupported) {
      object.fail("claimed", Reason::kOneSided,
                  "this rule would not support what the claim itself states; widen \"within\"");
    }
  }
  rule.text = object.string_or("text", "");
  object.finish();
  return rule;
}

std::string describe(const ClaimRule& rule) {
  std::string text = rule.metric + ", " + (rule.form == RuleForm::kPair ? "of the pair" : enum_name(rule.form)) + ": ";
  for (std::size_t i = 0; i < rule.within.size(); ++i) text += (i == 0 ? "" : ", or ") + interval_text(rule.within[i]);
  if (rule.tolerance > 0) text += "; contradicted only by more than " + number_text(rule.tolerance) + " outside";
  return text;
}

}  // namespace nanobench::ablations
