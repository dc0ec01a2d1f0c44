#include "reports/transfer/transfer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "reports/stats/proportion.h"

namespace nanobench::reports {
namespace {

constexpr std::array kQuestions = {Question::kLoss, Question::kTime, Question::kEqualLoss};

std::optional<bool> direction_of(Verdict verdict) {
  if (verdict == Verdict::kImproved) return true;
  if (verdict == Verdict::kRegressed) return false;
  return std::nullopt;
}

/// Whether the later value is the better one.
std::optional<bool> direction_of(const std::optional<FeatureVerdict>& verdict) {
  if (verdict == FeatureVerdict::kKeep) return true;
  if (verdict == FeatureVerdict::kDrop) return false;
  return std::nullopt;
}

std::optional<TransferValue> value_of_metric(const MeasuredEffect& effect) {
  if (!effect.value || !std::isfinite(*effect.value)) return std::nullopt;
  TransferValue value{.value = *effect.value,
                      .se = {},
                      .interval = effect.interval,
                      .is_better = direction_of(effect.verdict),
                      .n = effect.n};
  if (effect.estimate) {
    value.se = effect.estimate->se;
  } else if (effect.is_exact) {
    value.se = 0.0;
  }
  return value;
}

/// Seconds at equal loss on the scale of their estimate, which is a logarithm times the reference.
std::optional<TransferValue> value_at_equal_loss(const EffectResult& effect) {
  const EqualLoss& equal = effect.seconds.equal_loss;
  const std::optional<double>& reference = effect.seconds.reference_s;
  if (!equal.is_converted() || !reference || !(*reference > 0.0)) return std::nullopt;
  TransferValue value{.value = equal.estimate.value / *reference,
                      .se = equal.estimate.se / *reference,
                      .interval = {},
                      .is_better = direction_of(effect.verdict),
                      .n = effect.seconds.n};
  const double low = 1.0 + equal.interval.low / *reference;
  const double high = 1.0 + equal.interval.high / *reference;
  if (low > 0.0 && std::isfinite(high))
    value.interval = ConfidenceInterval{.low = std::log(low), .high = std::log(high), .level = equal.interval.level};
  return value;
}

/// The changes by key, in the order of their first measurement.
std::vector<TransferChange> gathered(const std::vector<MeasuredChange>& measured) {
  std::vector<TransferChange> changes;
  for (const MeasuredChange& one : measured) {
    auto found = std::find_if(changes.begin(), changes.end(),
                              [&](const TransferChange& change) { return change.key == one.key; });
    if (found == changes.end()) {
      changes.push_back({.key = one.key, .name = one.effect.contrast.effect, .measured = {}, .published = {}});
      found = std::prev(changes.end());
    }
    found->measured.emplace(one.scale, one);
  }
  return changes;
}

/// Different changes have different names: their values are added, and their bases where that is not enough.
void tell_apart(std::vector<TransferChange>& changes) {
  const auto collide = [&](const TransferChange& change) {
    return std::count_if(changes.begin(), changes.end(),
                         [&](const TransferChange& other) { return other.name == change.name; }) > 1;
  };
  const auto add = [&](auto text_of) {
    std::vector<std::string> names;
    for (const TransferChange& change : changes)
      names.push_back(change.name + (collide(change) ? text_of(change.key) : ""));
    for (std::size_t i = 0; i < changes.size(); ++i) changes[i].name = names[i];
  };
  add([](const ChangeKey& key) { return key.base_text().empty() ? "" : " (" + key.base_text() + ")"; });
  add([](const ChangeKey& key) { return " (" + key.from + " to " + key.to + ")"; });
}

struct Both {
  const TransferChange* change = nullptr;
  TransferValue small;
  TransferValue large;
};

/// Code that computes the same has no effect on the loss, at any scale.
bool has_equal_losses(const Both& both) {
  const auto is_nothing = [](const TransferValue& value) {
    return value.value == 0.0 && value.se.value_or(0.0) == 0.0;
  };
  return is_nothing(both.small) && is_nothing(both.large);
}

void finish(SignCount& count) {
  count.interval = clopper_pearson(count.agree, count.of);
}

void add_sign(SignCount& count, const Both& both, bool agrees) {
  count.of += 1;
  count.agree += agrees ? 1 : 0;
  if (!agrees) count.disagreeing.push_back(both.change->name);
}

/// Better than no change. The record table decides by its number alone.
std::optional<bool> direction_at(const TransferValue& value, bool is_published) {
  if (!is_published) return value.is_better;
  return value.value == 0.0 ? std::nullopt : std::optional(value.value < 0.0);
}

void count_signs(ScalePair& pair, const std::vector<Both>& shared) {
  for (const Both& both : shared) {
    const std::optional<bool> large = direction_at(both.large, pair.is_published());
    if (!large) continue;
    const Signs signs = signs_of(pair, both.small, both.large);
    if (signs != Signs::kUndecided) add_sign(pair.decided, both, signs == Signs::kSame);
    add_sign(pair.predicted, both, *large ? both.small.value < 0.0 : both.small.value > 0.0);
  }
  finish(pair.decided);
  finish(pair.predicted);
}

/// nullopt if a value has no error.
std::optional<double> reliability_at(const std::vector<Both>& shared, TransferValue Both::*side,
                                     const std::string& scale) {
  std::map<std::string, std::size_t> sources;
  std::vector<RankedValue> values;
  for (const Both& both : shared) {
    const TransferValue& value = both.*side;
    if (!value.se) return std::nullopt;
    RankedValue& ranked = values.emplace_back(RankedValue{.value = value.value, .se = *value.se, .parts = {}});
    for (const auto& [digest, weight] : both.change->measured.at(scale).sources) {
      if (weight != 0.0) ranked.parts.push_back({sources.emplace(digest, sources.size()).first->second, weight});
    }
  }
  return rank_reliability(values);
}

ScalePair pair_of(const Transfer& transfer, const std::string& small, const std::string& large, Question question) {
  ScalePair pair{.small = small, .large = large, .question = question};
  std::vector<Both> shared;
  for (std::size_t i = 0; i < transfer.changes.size(); ++i) {
    const TransferChange& change = transfer.changes[i];
    const std::optional<TransferValue> a = change.value_at(small, question), b = change.value_at(large, question);
    if (!a || !b) continue;
    const Both both{&change, *a, *b};
    if (question == Question::kLoss && has_equal_losses(both)) {
      pair.equal += 1;
      continue;
    }
    pair.most_seeds = std::max(pair.most_seeds, b->n);
    pair.changes.push_back(i);
    shared.push_back(both);
  }
  count_signs(pair, shared);
  std::vector<double> first, second;
  for (const Both& both : shared) {
    first.push_back(both.small.value);
    second.push_back(both.large.value);
  }
  pair.order = spearman(first, second);
  pair.small_reliability = reliability_at(shared, &Both::small, small);
  if (!pair.is_published()) pair.large_reliability = reliability_at(shared, &Both::large, large);
  return pair;
}

}  // namespace

const char* title_of(Question question) {
  switch (question) {
    case Question::kLoss: return "loss";
    case Question::kTime: return "training clock";
    case Question::kEqualLoss: break;
  }
  return "time at equal loss";
}

Signs signs_of(const ScalePair& pair, const TransferValue& small, const TransferValue& large) {
  const std::optional<bool> at_large = direction_at(large, pair.is_published());
  if (!small.is_better || !at_large) return Signs::kUndecided;
  return *small.is_better == *at_large ? Signs::kSame : Signs::kOpposite;
}

std::optional<TransferValue> value_of(const EffectResult& effect, Question question) {
  if (question == Question::kLoss) return value_of_metric(effect.loss);
  if (!effect.other_code.empty()) return std::nullopt;
  return question == Question::kTime ? value_of_metric(effect.log_time) : value_at_equal_loss(effect);
}

std::optional<TransferValue> TransferChange::value_at(const std::string& scale, Question question) const {
  if (scale == kPublishedScale) {
    if (question != Question::kEqualLoss || !published || !published->counts()) return std::nullopt;
    return TransferValue{.value = published->log_ratio, .se = {}, .interval = {}, .is_better = {}, .n = 0};
  }
  const auto found = measured.find(scale);
  return found == measured.end() ? std::nullopt : value_of(found->second.effect, question);
}

std::optional<double> ScalePair::ceiling() const {
  if (!small_reliability || !large_reliability) return std::nullopt;
  return std::sqrt(*small_reliability * *large_reliability);
}

Transfer analyse_transfer(const std::vector<MeasuredChange>& measured, const ablations::Catalogue& catalogue) {
  Transfer transfer{.scales = scales_of(measured, catalogue), .changes = gathered(measured), .pairs = {}};
  for (TransferChange& change : transfer.changes) change.published = published_change(catalogue, change.key);
  tell_apart(transfer.changes);
  std::vector<std::string> sides = transfer.scales;
  sides.emplace_back(kPublishedScale);
  for (std::size_t large = 1; large < sides.size(); ++large) {
    for (std::size_t small = 0; small < large; ++small) {
      for (const Question question : kQuestions) {
        ScalePair pair = pair_of(transfer, sides[small], sides[large], question);
        if (!pair.changes.empty() || pair.equal > 0) transfer.pairs.push_back(std::move(pair));
      }
    }
  }
  return transfer;
}

}  // namespace nanobench::reports
