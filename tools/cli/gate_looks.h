/// `gate --until-decided` and `gate --budget`: both sides get more seeds until the gate has an answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/gate/gate.h"
#include "reports/stats/sequential.h"
#include "tools/cli/gate_run.h"
#include "tools/cli/program.h"

namespace nanobench::tools {

/// Looks at a gate after `first`, ... `most` seeds a side, without more false alarms than one look has: after every
/// seed, or after every few where that would be more than 50 looks.
class GateLooks {
 public:
  /// `alpha` for all looks together. Throws Error{kInvalidArgument} unless 2 <= first <= most.
  GateLooks(int first, int most, double alpha);

  int count() const { return (most_ - first_ + step_ - 1) / step_ + 1; }
  /// At look 1, 2, ...
  int seeds(int look) const { return std::min(most_, first_ + (look - 1) * step_); }

  /// The alpha of one test at the last look.
  double last_alpha() { return boundaries(1).back().nominal_p; }

  /// The gate over the runs of the first seeds of both arms, as many as the look has. Each test may spend what the
  /// boundary of its look allows: the boundaries are those of alpha over the number of tests, and Holm divides what
  /// they add up to, so that he stays on the safe side at every step.
  reports::GateResult evaluate(reports::Arm baseline, reports::Arm candidate, reports::GatePolicy policy,
                               const reports::GateSetting& setting, const std::vector<std::uint64_t>& seeds, int look);

 private:
  const std::vector<reports::Look>& boundaries(int tests);

  int first_;
  int most_;
  int step_;
  double alpha_;
  std::map<int, std::vector<reports::Look>> boundaries_;  ///< by the number of tests: they take milliseconds
};

/// Runs both sides with more and more seeds, until the gate has an answer, the maximum is reached or the budget holds
/// no further seed; prints the last look. All looks are parts of one plan for each side, so the same command continues.
/// Returns the exit code. Throws Error as run_plan() does, and for a budget that does not hold the first look.
int run_gate_until_decided(const GateOptions& options, const suites::Suite& suite, const reports::GatePolicy& policy,
                           results::Store& store, const Session& session, std::vector<std::string> notes);

}  // namespace nanobench::tools
