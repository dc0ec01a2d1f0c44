// The answers of a comparison in plain words, before its numbers.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/text.h"
#include "reports/effects/likely_order.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

constexpr int kMaxChangeCards = 10;         ///< more changes are answered metric by metric
constexpr std::size_t kMaxPlacesNamed = 9;  ///< of a likely order; a longer one names its ends

double bound_of(const ConfidenceInterval& interval) {
  return std::max(std::abs(interval.low), std::abs(interval.high));
}

/// The size of a change of the training time. A time that is shorter by a factor is worth 1 - 1/factor.
double size_of(const MetricWords& words, double value) {
  const bool is_shorter = words.is_time && value < 0.0 && value > -std::log(2.0);
  return is_shorter ? std::log1p(-std::expm1(value)) : std::abs(value);
}

/// "0.0045 to 0.0117 nats": a unit that both ends have is named once.
std::string range_text(const std::string& near, const std::string& far) {
  const std::size_t space = near.find(' ');
  const bool is_number = !near.empty() && (std::isdigit(static_cast<unsigned char>(near.front())) != 0);
  const bool shares_unit = is_number && space != std::string::npos && far.ends_with(near.substr(space));
  return (shares_unit ? near.substr(0, space) : near) + " to " + far;
}

/// "better by 0.0081 nats (0.0045 to 0.0117 nats)"
std::string proved_text(const MetricWords& words, const MeasuredEffect& effect) {
  const char* const word = *effect.value < 0.0 ? words.better : words.worse;
  std::string text = std::string(word) + " by " + words.size(size_of(words, *effect.value));
  if (!effect.interval) return text;
  const double near = *effect.value < 0.0 ? effect.interval->high : effect.interval->low;
  const double far = *effect.value < 0.0 ? effect.interval->low : effect.interval->high;
  if (near * far <= 0.0) return text;  // decided at an earlier look
  return text + " (" + range_text(words.size(size_of(words, near)), words.size(size_of(words, far))) + ")";
}

std::string finding_text(const MetricWords& words, const MeasuredEffect& effect, double margin) {
  switch (effect.verdict) {
    case Verdict::kImproved:
    case Verdict::kRegressed: return effect.value ? proved_text(words, effect) : "";
    case Verdict::kUnchanged: return "the same within " + words.size(margin) + ", proved";
    case Verdict::kMissing: return "";
    case Verdict::kNotWorse:
    case Verdict::kInconclusive: break;
  }
  if (!effect.value) return "";
  if (!effect.interval) return "nothing is proved or bounded by " + counted(effect.n, "seed");
  if (effect.is_outlying) return "nothing is known, because its runs scatter far more than the others'";
  const double bound = bound_of(*effect.interval);
  if (!(bound < words.max_bound)) return "nothing is proved, and nothing is bounded";
  return "nothing is proved; a change is no larger than " + words.size(bound);
}

std::string saving_text(const EffectResult& effect) {
  const EqualLoss& equal = effect.seconds.equal_loss;
  if (!equal.is_converted()) return "";
  const auto size = [](double seconds) { return format_significant(std::abs(seconds), 2) + " s"; };
  switch (effect.verdict.value_or(FeatureVerdict::kInconclusive)) {
    case FeatureVerdict::kKeep: return size(equal.seconds) + " saved";
    case FeatureVerdict::kDrop: return size(equal.seconds) + " lost";
    case FeatureVerdict::kBarnacle: return "the same within the margins, proved";
    case FeatureVerdict::kInconclusive: break;
  }
  const double bound = bound_of(equal.interval);
  return std::isfinite(bound) ? "nothing is proved; a change is no larger than " + size(bound) : "";
}

/// "-4.3 %"; a change that rounds to nothing is not shown as nothing.
std::string percent_text(double fraction) {
  constexpr double kMinShown = 0.0005;
  return std::abs(fraction) < kMinShown ? (fraction < 0.0 ? "less by under 0.1 %" : "more by under 0.1 %")
                                        : format_signed_percent(fraction, 1);
}

/// "FLOPs -4.3 %, attention blocks -8.3 %"; empty if nothing was counted.
std::string counted_text(const CountedChange& change) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (!value) return;
    parts.push_back(std::string(name) + " " + (*value == 0.0 ? "unchanged" : percent_text(*value)));
  };
  add("FLOPs", change.flops);
  add("attention blocks", change.blocks);
  return joined(parts);
}

void add_counted(Card& card, const CountedChange& change) {
  if (!change.empty()) card.lines.push_back("Counted per step, without noise: " + counted_text(change) + ".");
}

void add_line(Card& card, const std::string& subject, const std::string& text) {
  if (!text.empty()) card.lines.push_back(subject + ": " + text + ".");
}

/// The shortest true answer about one change.
void set_verdict(Card& card, const EffectResult& effect) {
  const auto set = [&](const char* words, Card::Tone tone) {
    card.verdict = words;
    card.tone = tone;
  };
  switch (*effect.verdict) {
    case FeatureVerdict::kKeep: return set("pays", Card::Tone::kBetter);
    case FeatureVerdict::kDrop: return set("costs time", Card::Tone::kWorse);
    case FeatureVerdict::kBarnacle: return set("does neither good nor harm", Card::Tone::kSame);
    case FeatureVerdict::kInconclusive: break;
  }
  const Verdict loss = effect.loss.verdict, time = effect.log_time.verdict;
  const bool is_better = loss == Verdict::kImproved || time == Verdict::kImproved;
  const bool is_worse = loss == Verdict::kRegressed || time == Verdict::kRegressed;
  if (is_better && is_worse)
    return set(loss == Verdict::kImproved ? "better loss, longer time" : "shorter time, worse loss",
               Card::Tone::kPlain);
  if (is_better) return set(loss == Verdict::kImproved ? "better loss" : "shorter time", Card::Tone::kBetter);
  if (is_worse) return set(loss == Verdict::kRegressed ? "worse loss" : "longer time", Card::Tone::kWorse);
  if (loss == Verdict::kUnchanged && time == Verdict::kUnchanged) return set("the same", Card::Tone::kSame);
  set("open", Card::Tone::kOpen);
}

const Comparison* table_row(const ComparisonTable& table, const std::string& label) {
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [&](const Comparison& comparison) { return comparison.label == label; });
  return row == table.rows.end() ? nullptr : &*row;
}

/// What the change is: the title of its record in a history, else what the contrast compares.
void describe_change(Card& card, const results::PlanRecord& plan, const ComparisonTable& table,
                     const EffectResult& effect) {
  const std::optional<ComparedCells> cells = compared_cells(effect.contrast);
  const Comparison* const row = cells ? table_row(table, cells->to) : nullptr;
  const bool is_of_row = plan.design == results::Design::kHistory && row != nullptr;
  card.text = is_of_row ? row->title : effect.contrast.meaning;
  if (is_of_row) card.link = row->link;
}

Card change_card(const results::PlanRecord& plan, const ComparisonTable& table, const EffectResult& effect,
                 const std::optional<SeedsForVerdict>& needed, const std::map<std::string, CountedCost>& costs,
                 const EffectRules& rules) {
  Card card{.key = effect.contrast.effect, .title = effect.contrast.effect, .text = "", .verdict = ""};
  describe_change(card, plan, table, effect);
  set_verdict(card, effect);
  add_line(card, kLossWords.subject, finding_text(kLossWords, effect.loss, rules.loss_margin));
  add_line(card, "At long positions", finding_text(kLossWords, effect.at_long_positions, rules.loss_margin));
  const bool is_same_code = effect.other_code.empty();
  add_line(card, kTimeWords.subject,
           is_same_code ? finding_text(kTimeWords, effect.log_time, std::log1p(rules.time_margin))
                        : "not comparable, because one side lacks a kernel");
  add_line(card, "Time to the same loss", saving_text(effect));
  if (needed && needed->status == SeedsForVerdict::Status::kKnown)
    card.lines.push_back("A verdict takes " + seeds_range(*needed) + " seeds in all.");
  if (const std::optional<ComparedCells> cells = compared_cells(effect.contrast))
    add_counted(card, counted_change(costs, cells->from, cells->to));
  return card;
}

/// "a (84 %), b (60 %), c": the chance that each is better than the next one.
std::string order_text(const LikelyOrder& order, const std::vector<EffectResult>& effects) {
  std::vector<std::string> parts;
  const std::size_t count = order.places.size();
  const std::size_t end = count > kMaxPlacesNamed ? kMaxPlacesNamed / 2 : count;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == end) parts.emplace_back("...");
    if (i >= end && i + end < count) continue;
    const std::string& name = effects[order.places[i]].contrast.effect;
    parts.push_back(i + 1 < count ? name + " (" + chance_text(order.chances[i]) + ")" : name);
  }
  return joined(parts);
}

std::optional<Card> order_card(const std::vector<EffectResult>& effects) {
  Card card{.key = "likely_order",
            .title = "Likely order",
            .text = "Best first, and the chance that each is better than the next.",
            .verdict = ""};
  const LikelyOrder loss = likely_order(effects, &EffectResult::loss);
  const LikelyOrder time = likely_order(effects, &EffectResult::log_time);
  if (!loss.places.empty()) add_line(card, kLossWords.subject, order_text(loss, effects));
  if (!time.places.empty()) add_line(card, kTimeWords.subject, order_text(time, effects));
  return card.lines.empty() ? std::nullopt : std::optional(card);
}

/// From the first row of a history to its last.
std::optional<Card> course_card(const ComparisonTable& table, const std::map<std::string, CountedCost>& costs) {
  const std::string text = course_text(table);
  if (text.empty()) return std::nullopt;
  const Comparison& first = table.rows.front();
  const Comparison& last = table.rows.back();
  Card card{.key = "course", .title = first.label + " to " + last.label, .text = "", .verdict = ""};
  card.lines = {text};
  if (first.published_step_ms && last.published_step_ms && *last.published_step_ms > 0.0) {
    card.lines.push_back("Published: " + format_significant(*first.published_step_ms / *last.published_step_ms, 3) +
                         " times as fast, for the official model on 8 H100.");
  }
  add_counted(card, counted_change(costs, first.label, last.label));
  return card;
}

/// The counted changes that are largest, where no card is about a single change.
std::optional<Card> counted_card(const std::vector<EffectResult>& effects,
                                 const std::map<std::string, CountedCost>& costs) {
  constexpr std::size_t kMaxNamed = 6;
  std::vector<std::pair<double, std::string>> changes;
  for (const EffectResult& effect : effects) {
    const std::optional<ComparedCells> cells = compared_cells(effect.contrast);
    if (!cells || !effect.verdict) continue;
    const CountedChange change = counted_change(costs, cells->from, cells->to);
    const double size = std::max(std::abs(change.flops.value_or(0.0)), std::abs(change.blocks.value_or(0.0)));
    if (size > 0.0) changes.emplace_back(size, effect.contrast.effect + ": " + counted_text(change) + ".");
  }
  if (changes.empty()) return std::nullopt;
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Card card{.key = "counted",
            .title = "Counted per step",
            .text = "By the cost model, without noise; the largest first.",
            .verdict = ""};
  for (const auto& [size, line] : changes) {
    if (card.lines.size() == kMaxNamed) break;
    card.lines.push_back(line);
  }
  return card;
}

}  // namespace

std::vector<Card> verdict_cards(const results::PlanRecord& plan, const ComparisonTable& table,
                                const std::vector<EffectResult>& effects,
                                const std::vector<std::optional<SeedsForVerdict>>& needed,
                                const std::map<std::string, CountedCost>& costs, const EffectRules& rules) {
  const auto judged = std::count_if(effects.begin(), effects.end(), [](const EffectResult& effect) {
    return effect.verdict && (effect.loss.value || effect.log_time.value);
  });
  if (judged == 0) return {};
  std::vector<Card> cards;
  const bool is_one_by_one = judged <= kMaxChangeCards;
  if (is_one_by_one) {
    for (std::size_t i = 0; i < effects.size(); ++i) {
      if (!effects[i].verdict || (!effects[i].loss.value && !effects[i].log_time.value)) continue;
      cards.push_back(change_card(plan, table, effects[i], i < needed.size() ? needed[i] : std::nullopt, costs, rules));
    }
  } else {
    cards = metric_cards(effects);
  }
  const auto add = [&](std::optional<Card> card) {
    if (card) cards.push_back(std::move(*card));
  };
  if (plan.design == results::Design::kHistory) add(course_card(table, costs));
  add(order_card(effects));
  if (!is_one_by_one) add(counted_card(effects, costs));
  return cards;
}

}  // namespace nanobench::reports
