#include "ablations/claim_rule.h"

#include <cmath>
#include <limits>

#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;
using core::Json;
using core::JsonObject;

constexpr auto kSupported = ClaimVerdict::kSupported;
constexpr auto kContradicted = ClaimVerdict::kContradicted;
constexpr auto kInconclusive = ClaimVerdict::kInconclusive;

ClaimRule rule_of(const std::string& text) {
  const Json json = core::parse_json(text, "r.json");
  return read_claim_rule(JsonObject(json, "r.json", "/rule"));
}

ClaimRule two_readings() {
  return rule_of(R"({"metric": "step_ms", "of": "after/before", "within": [[0.6, 0.7], [0.72, null]],
                     "tolerance": 0.125, "claimed": 0.65})");
}

TEST(ClaimRule, SupportsInsideAnIntervalAndContradictsBeyondTheTolerance) {
  const ClaimRule rule = two_readings();
  EXPECT_EQ(evaluate(rule, 0.6), kSupported) << "ends are inside";
  EXPECT_EQ(evaluate(rule, 0.7), kSupported);
  EXPECT_EQ(evaluate(rule, 1e9), kSupported);
  EXPECT_EQ(evaluate(rule, 0.71), kInconclusive) << "between two intervals, within the tolerance";
  EXPECT_EQ(evaluate(rule, 0.475), kInconclusive);
  EXPECT_EQ(evaluate(rule, 0.47), kContradicted);
  EXPECT_EQ(evaluate(rule, std::nan("")), kInconclusive);
  EXPECT_EQ(evaluate(rule, -std::numeric_limits<double>::infinity()), kContradicted);
}

TEST(ClaimRule, AVerdictNeedsTheWholeConfidenceInterval) {
  const ClaimRule rule = two_readings();
  EXPECT_EQ(evaluate(rule, 0.61, 0.69), kSupported);
  EXPECT_EQ(evaluate(rule, 0.61, 0.71), kInconclusive) << "reaches out";
  EXPECT_EQ(evaluate(rule, 0.65, 0.75), kInconclusive) << "spans the gap";
  EXPECT_EQ(evaluate(rule, 0.3, 0.48), kInconclusive) << "touches the tolerance";
  EXPECT_EQ(evaluate(rule, 0.3, 0.4), kContradicted);
  EXPECT_EQ(evaluate(rule, 0.4, std::nan("")), kInconclusive);
  EXPECT_EQ(evaluate(rule, 0.69, 0.61), kInconclusive) << "no interval";
}

TEST(ClaimRule, CombinesTheArms) {
  EXPECT_EQ(combined(RuleForm::kBefore, 4, 2), 4);
  EXPECT_EQ(combined(RuleForm::kAfter, 4, 2), 2);
  EXPECT_EQ(combined(RuleForm::kAfterOverBefore, 4, 2), 0.5);
  EXPECT_EQ(combined(RuleForm::kBeforeOverAfter, 4, 2), 2);
  EXPECT_EQ(combined(RuleForm::kAfterMinusBefore, 4, 2), -2);
  EXPECT_TRUE(std::isnan(combined(RuleForm::kAfterOverBefore, 0, 2)));
  EXPECT_TRUE(std::isnan(combined(RuleForm::kBeforeOverAfter, 4, 0)));
}

TEST(ClaimRule, FindsExamplesThatTheMetricCanHave) {
  const auto has = [](const std::string& of, const std::string& within, MetricRange range, ClaimVerdict verdict) {
    const ClaimRule rule = rule_of(R"({"metric": "m", "of": ")" + of + R"(", "within": )" + within + "}");
    const std::optional<double> example = example_value(rule, range, verdict);
    if (example) {
      EXPECT_EQ(evaluate(rule, *example), verdict);
    }
    return example.has_value();
  };
  EXPECT_FALSE(has("after", "[[0, null]]", MetricRange::kPositive, kContradicted)) << "times are never negative";
  EXPECT_TRUE(has("after-before", "[[0, null]]", MetricRange::kPositive, kContradicted)) << "their differences are";
  EXPECT_FALSE(has("after/before", "[[null, -2]]", MetricRange::kPositive, kSupported));
  EXPECT_FALSE(has("after", "[[0.5, 1]]", MetricRange::kIndicator, kInconclusive));
  EXPECT_FALSE(has("after", "[[0, 1]]", MetricRange::kIndicator, kContradicted));
  EXPECT_TRUE(has("after", "[[1, 1]]", MetricRange::kIndicator, kContradicted));
  EXPECT_TRUE(has("after-before", "[[-1, 0]]", MetricRange::kIndicator, kContradicted));
  EXPECT_FALSE(has("after", "[[1.5, null]]", MetricRange::kFraction, kSupported));
  EXPECT_TRUE(has("after", "[[null, 3], [5, null]]", MetricRange::kPositive, kContradicted)) << "the gap";
}

TEST(ClaimRule, NamesFileAndPointerOfWhatIsWrong) {
  const auto message = [](const std::string& text) {
    return error_of(ErrorCode::kInvalidArgument, [&] { rule_of(text); });
  };
  expect_parts(message(R"({"of": "after", "within": [[1, 2]]})"), Reason::kMissingKey,
               {"r.json: /rule: ", "\"metric\""});
  expect_parts(message(R"({"metric": "m", "of": "before-after", "within": [[1, 2]]})"), Reason::kUnknownName,
               {"r.json: /rule/of", "after-before", "before-after"});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": []})"), Reason::kEmpty, {"r.json: /rule/within: "});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": [1, 2]})"), Reason::kWrongType,
               {"r.json: /rule/within/0: "});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": [[1, 2], [2, 1]]})"), Reason::kReversed,
               {"r.json: /rule/within/1: "});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": [[null, null]]})"), Reason::kNoLimit,
               {"r.json: /rule/within/0: "});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": [[1, 2]], "tolerance": -1})"), Reason::kOutOfRange,
               {"r.json: /rule/tolerance"});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": [[1, 2]], "claimed": 3})"), Reason::kOneSided,
               {"r.json: /rule/claimed: "});
  expect_parts(message(R"({"metric": "m", "of": "after", "within": [[1, 2]], "tolerence": 0.1})"), Reason::kUnknownKey,
               {"r.json: /rule/tolerence", "\"tolerance\""});
}

TEST(ClaimRule, DescribesItself) {
  EXPECT_EQ(describe(two_readings()),
            "step_ms, after/before: 0.6 to 0.7, or at least 0.72; contradicted only by more than 0.125 outside");
  EXPECT_EQ(describe(rule_of(R"({"metric": "steps", "of": "after", "within": [[3, 3], [null, 1]]})")),
            "steps, after: exactly 3, or at most 1");
}

}  // namespace
}  // namespace nanobench::ablations
