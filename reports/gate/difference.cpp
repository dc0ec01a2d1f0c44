#include "reports/gate/difference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/stats/moments.h"
#include "reports/stats/two_sample.h"

namespace nanobench::reports {
namespace {

std::vector<double> numbers(const BySeed& values, bool takes_log) {
  std::vector<double> list;
  for (const auto& [seed, value] : values) list.push_back(takes_log ? std::log(value) : value);
  return list;
}

}  // namespace

Difference paired_difference(const BySeed& candidate, const BySeed& baseline, bool takes_log) {
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : candidate) {
    const auto other = baseline.find(seed);
    if (other == baseline.end()) continue;
    ours.push_back(takes_log ? std::log(value) : value);
    theirs.push_back(takes_log ? std::log(other->second) : other->second);
  }
  Difference difference{.pairs = static_cast<int>(ours.size()), .least_n = static_cast<int>(ours.size())};
  if (ours.empty()) return difference;
  difference.estimate = paired_t(ours, theirs);
  const std::optional<PairedMoments> moments = paired_moments(ours, theirs);
  if (moments && !moments->moments.has_spread()) difference.exact = moments->moments.mean;
  if (!moments)
    difference.exact = ours.front() - theirs.front();  // one pair: whether it proves anything is asked later
  return difference;
}

Difference unpaired_difference(const BySeed& candidate, const BySeed& baseline, bool takes_log) {
  const std::vector<double> ours = numbers(candidate, takes_log), theirs = numbers(baseline, takes_log);
  return {.estimate = welch(ours, theirs), .least_n = static_cast<int>(std::min(ours.size(), theirs.size()))};
}

}  // namespace nanobench::reports
