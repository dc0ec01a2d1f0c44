/// One number that a claim's rule judges, from the runs of its arms: a ratio, a difference, a mean, with its error.
/// Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ablations/claim_rule.h"
#include "reports/stats/interval.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {

struct MeasuredNumber {
  std::optional<double> value;
  std::optional<ConfidenceInterval> interval;  ///< of 95 %; absent: one run, or no spread
  bool is_exact = false;                       ///< counted, or the same in every run: there is no error
  int n = 0;                                   ///< runs of the arm with fewest, or pairs of runs
};

/// The form over the arms' values by seed, paired by seed. Ratios are means of logarithms.
///   Without an arm that the form needs, or a common seed: no value. One seed: a value without interval.
MeasuredNumber number_of(ablations::RuleForm form, const BySeed& before, const BySeed& after);

/// The ratio of two standard deviations, with Fisher's interval; at least two runs each, and normal values.
MeasuredNumber sd_ratio(const BySeed& before, const BySeed& after);

/// A run's repetitions of one operation, arm by arm; the i-th of both arms belong together.
struct OperationRepetitions {
  std::vector<double> before;
  std::vector<double> after;
};

/// Over runs: from three runs on, each run's median counts once; below that, all repetitions do.
MeasuredNumber number_of(ablations::RuleForm form, const std::vector<OperationRepetitions>& runs);

}  // namespace nanobench::reports
