// The answers of a comparison of logs in plain words, before its numbers.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "reports/audit/arms.h"
#include "reports/audit/audit_text.h"
#include "reports/kinds/arm_cells.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxArmCards = 12;  ///< more arms are answered by the tables alone

/// How one metric of the arms is worded: a size in its own unit, and as a part of the control's mean.
struct ArmWording {
  ArmMetric metric;
  std::vector<ArmEffect> ArmComparison::*effects;
  const char* subject;
  const char* better;
  const char* worse;
  double unit;
  const char* unit_name;
  bool is_relative;
};

constexpr ArmWording kArmLoss = {
    ArmMetric::kLoss, &ArmComparison::loss, "Val loss", "better", "worse", 1.0, " nats", false};
constexpr ArmWording kArmTime = {
    ArmMetric::kTrainTime, &ArmComparison::time, "Training clock", "shorter", "longer", 1000.0, " s", true};
constexpr ArmWording kArmTarget = {
    ArmMetric::kTargetTime, &ArmComparison::target_time, "Time to the target", "shorter", "longer", 1000.0, " s", true};
constexpr ArmWording kArmStep = {
    ArmMetric::kStepTime, &ArmComparison::step_time, "Step", "shorter", "longer", 1.0, " ms", true};

/// "0.0042 nats", "1.2 s (3.1 %)"
std::string size_text(const ArmWording& words, double value, const std::optional<double>& control_mean) {
  std::string text = format_significant(std::abs(value) / words.unit, 2) + words.unit_name;
  if (words.is_relative && control_mean && *control_mean > 0.0)
    text += " (" + format_significant(100.0 * std::abs(value) / *control_mean, 2) + " %)";
  return text;
}

std::string arm_finding(const ArmWording& words, const ArmEffect& effect, const std::optional<double>& control_mean) {
  if (!effect.difference) return "";
  const auto size = [&](double value) { return size_text(words, value, control_mean); };
  if (effect.verdict == Verdict::kImproved || effect.verdict == Verdict::kRegressed)
    return std::string(*effect.difference < 0.0 ? words.better : words.worse) + " by " + size(*effect.difference);
  if (!effect.interval)
    return "nothing is proved" + (effect.reason == ArmReason::kNone ? "" : ": " + text_of(effect.reason));
  const double bound = std::max(std::abs(effect.interval->low), std::abs(effect.interval->high));
  std::string text = "nothing is proved; a difference is no larger than " + size(bound);
  if (effect.settling_runs) text += "; " + std::to_string(*effect.settling_runs) + " new runs of each would settle it";
  return text;
}

void set_arm_verdict(Card& card, const ArmComparison& comparison, std::size_t pair) {
  const Verdict loss = comparison.loss[pair].verdict, time = comparison.time[pair].verdict;
  const bool is_better = loss == Verdict::kImproved || time == Verdict::kImproved;
  const bool is_worse = loss == Verdict::kRegressed || time == Verdict::kRegressed;
  card.verdict = "open";
  card.tone = Card::Tone::kOpen;
  if (is_better && is_worse) {
    card.verdict = loss == Verdict::kImproved ? "better loss, longer time" : "shorter time, worse loss";
    card.tone = Card::Tone::kPlain;
  } else if (is_better) {
    card.verdict = loss == Verdict::kImproved ? "better loss" : "shorter time";
    card.tone = Card::Tone::kBetter;
  } else if (is_worse) {
    card.verdict = loss == Verdict::kRegressed ? "worse loss" : "longer time";
    card.tone = Card::Tone::kWorse;
  }
}

}  // namespace

std::vector<Card> arm_cards(const ArmComparison& comparison) {
  std::vector<Card> cards;
  if (comparison.pairs.size() > kMaxArmCards) return cards;
  const LogArm& control = comparison.arms[comparison.control];
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    const LogArm& arm = comparison.arms[comparison.pairs[i].candidate];
    Card card{.key = arm.name,
              .title = arm.name,
              .text = "against " + control.name + ", " + counted(static_cast<std::int64_t>(arm.losses.size()), "run") +
                      " and " + std::to_string(control.losses.size()),
              .verdict = ""};
    set_arm_verdict(card, comparison, i);
    for (const ArmWording& words : {kArmLoss, kArmTime, kArmTarget, kArmStep}) {
      const std::string text =
          arm_finding(words, (comparison.*(words.effects))[i], mean_of(values_of(control, words.metric)));
      if (!text.empty()) card.lines.push_back(std::string(words.subject) + ": " + text + ".");
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace nanobench::reports
