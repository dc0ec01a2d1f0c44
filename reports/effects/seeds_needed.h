/// How many seeds a change without a verdict still needs. Pure, thread-safe.
///
/// The measured effect and its error are taken as the truth: with more seeds the error falls as their root, and its
/// degrees of freedom grow with them. So it is a rough number where it comes from few seeds.
#pragma once

#include <optional>
#include <vector>

#include "reports/effects/effects.h"

namespace nanobench::reports {

inline constexpr double kVerdictPower = 0.8;  ///< chance of a verdict with the seeds that are named
inline constexpr int kMostSeedsTold = 500;    ///< beyond it no number is named
inline constexpr int kLeastSeedsAdvised = 3;  ///< where nothing can be told yet

struct SeedsForVerdict {
  enum class Status {
    kTold,     ///< `seeds` is known
    kTooMany,  ///< more than kMostSeedsTold
    kOneSeed,  ///< one seed has no spread to tell it from
    kUnknown,  ///< no run, no error, or a loss that cannot be turned into seconds
  };
  Status status = Status::kUnknown;
  int have = 0;              ///< complete seeds
  std::optional<int> seeds;  ///< of each cell, altogether; above `have`

  int more() const { return seeds ? *seeds - have : 0; }
};

/// "told", "too_many", "one_seed", "unknown": stable names.
const char* to_string(SeedsForVerdict::Status status);

/// In the order of `effects`, by the rules that the seeds to come are judged by (final_rules_of); nullopt for those
/// with a verdict and those that get none. Where several are undecided, each is counted as if none of the others will
/// be: Holm then asks the most.
std::vector<std::optional<SeedsForVerdict>> seeds_needed(const std::vector<EffectResult>& effects,
                                                         const EffectRules& rules);

}  // namespace nanobench::reports
