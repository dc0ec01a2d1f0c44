/// How far a small scale predicts a larger one: the same changes at two scales, or at a scale and in the record table.
/// For each pair of scales and each question: do the signs agree, does the order, and what does noise allow? Pure,
/// thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/enum_names.h"
#include "reports/effects/influence.h"
#include "reports/stats/rank_correlation.h"
#include "reports/transfer/measured_change.h"
#include "reports/transfer/published_change.h"

namespace nanobench::reports {

/// The label of the record table's side. It has times at equal loss only.
inline constexpr const char* kPublishedScale = "published";

/// One change at one scale, in the unit of a question: nats per token for the loss, a logarithm of a ratio of training
/// clocks for the time and for the time at equal loss. Below 0: better.
struct TransferValue {
  double value = 0.0;
  std::optional<double> se;                    ///< absent: the runs give no error; 0: every seed gave this value
  std::optional<ConfidenceInterval> interval;  ///< holds simultaneously for the effects of its plan
  std::optional<bool> is_better;               ///< by its verdict; absent: the direction is not decided
  int n = 0;                                   ///< complete seeds; 0 in the record table
};

/// nullopt if it was not measured. Times of different code (EffectResult::other_code) have no value.
std::optional<TransferValue> value_of(const EffectResult& effect, Question question);

/// One change at every scale at which it was measured.
struct TransferChange {
  ChangeKey key;
  std::string name;                                ///< "rotary", "record13"; with its base where names collide
  std::map<std::string, MeasuredChange> measured;  ///< by scale
  std::optional<PublishedChange> published;

  /// At a scale, or in the record table if that counts.
  std::optional<TransferValue> value_at(const std::string& scale, Question question) const;
};

/// How many of some changes have the same direction at both scales.
struct SignCount {
  int agree = 0;
  int of = 0;
  std::optional<ConfidenceInterval> interval;  ///< 95 %, exact (proportion.h), as if the changes were independent
  std::vector<std::string> disagreeing;        ///< names
};

/// Whether two scales give a change the same direction.
enum class Signs {
  kSame,
  kOpposite,
  kUndecided,  ///< not both decide its direction
};

NB_ENUM_NAMES(Signs, {Signs::kSame, "same"}, {Signs::kOpposite, "opposite"}, {Signs::kUndecided, "undecided"});

/// "loss", "training clock", "time at equal loss".
const char* title_of(Question question);

/// Two scales and one question.
struct ScalePair {
  std::string small;
  std::string large;
  Question question = Question::kLoss;
  std::vector<std::size_t> changes;  ///< that have a value at both, in the order of Transfer::changes
  int most_seeds = 0;                ///< of an effect at the large scale; 0 for the record table
  int equal = 0;                     ///< changes that are left out: the loss is the same to the bit at both scales
  SignCount decided;                 ///< of those whose direction both scales decide
  SignCount predicted;               ///< of those that the large scale decides: sign of the small scale's estimate
  std::optional<RankCorrelation> order;
  std::optional<double> small_reliability;  ///< rank_reliability(); absent for the record table and without errors
  std::optional<double> large_reliability;

  bool is_published() const { return large == kPublishedScale; }
  /// The rank correlation that two perfectly related scales would have with these errors, about.
  std::optional<double> ceiling() const;
};

/// The signs of a change with these values at the scales of the pair. The record table decides by its number alone.
Signs signs_of(const ScalePair& pair, const TransferValue& small, const TransferValue& large);

struct Transfer {
  std::vector<std::string> scales;  ///< measured ones, smallest runs first
  std::vector<TransferChange> changes;
  std::vector<ScalePair> pairs;  ///< with at least one change; small scales first, the record table last
};

/// Changes keep the order in which they come; those with the same key are one.
Transfer analyse_transfer(const std::vector<MeasuredChange>& measured, const ablations::Catalogue& catalogue);

}  // namespace nanobench::reports
