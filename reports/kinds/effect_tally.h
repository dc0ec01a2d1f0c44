/// The verdicts of a plan's single changes, counted for its headline. Private to reports/kinds. Pure, thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/effects/effects.h"

namespace nanobench::reports {

struct EffectTally {
  int total = 0;
  int too_many = 0, one_seed = 0, within_noise = 0, unknown = 0;     ///< undecided ones by SeedsForVerdict::Status
  int known = 0, min_more = 0;                                       ///< changes that need a known number of seeds
  std::optional<int> max_more = {};                                  ///< absent: some need more than can be named
  std::set<std::string> reasons = {};                                ///< reasons of the unknown ones
  std::string name = {};                                             ///< name of the last one
  std::vector<std::string> kept = {}, dropped = {}, barnacles = {};  ///< names

  bool operator==(const EffectTally&) const = default;
};

/// The tally of the effects that have verdicts. `needed` is in their order, and may be shorter.
EffectTally tally_of(const std::vector<EffectResult>& effects,
                     const std::vector<std::optional<SeedsForVerdict>>& needed);

}  // namespace nanobench::reports
