/// The tests of `nanobench bisect`: one commit of a trainer's repository against the good one, in turn and seed by
/// seed, until the gate has an answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/bisection.h"
#include "results/store.h"
#include "suites/design/suite.h"
#include "tools/cli/engine_builds.h"
#include "tools/cli/gate_looks.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"

namespace nanobench::tools {

/// What all steps of a bisection share.
struct BisectSetup {
  suites::Suite suite;  ///< of a trainer with a source, whose revision is that of each step; or of our engine
  EngineBuilds* builds = nullptr;  ///< of our engine's commits; null: a trainer's own
  reports::GatePolicy policy;      ///< its alpha is that of one test
  int first_seeds = 2;
  int max_seeds = 10;
  bool keeps_trees = false;  ///< between the looks at a commit, with what was built in them
  SuiteRunOptions run;
  std::vector<std::string> argv;
};

/// Names, in the store, of the plans that a bisection of the suite makes.
std::string bisection_name(const std::string& suite_name);

/// Runs steps. Their runs are found again by a later bisection of the same commits, whatever its range. Not
/// thread-safe.
class BisectSteps {
 public:
  /// Throws Error as GateLooks does, and as plan_suite() for a good revision that cannot be planned.
  BisectSteps(BisectSetup setup, reports::Commit good, results::Store& store);

  /// Tests the commit; nullopt if the user interrupts. What cannot be planned or run is skipped, with the reason.
  std::optional<reports::BisectStep> test(const reports::Commit& commit);

  /// Seconds that a further test will take, by the runs so far; nullopt before the first.
  std::optional<double> seconds_per_test() const;

  /// The tests' good runs are those of the first one: times, which need runs in turn, do not gate.
  bool shares_good_runs() const { return !setup_.policy.time.gates; }
  int cells() const { return static_cast<int>(good_.matrix.cells.size()); }

 private:
  class Held;
  std::string tree_of(const reports::Commit& commit, const suites::Plan& plan) const;
  suites::Plan plan_of(const reports::Commit& commit, std::int64_t arm) const;
  std::optional<reports::GateResult> look_until_decided(const suites::Plan& good, const suites::Plan& candidate,
                                                        int& seeds);
  bool run(const suites::Plan& good, const suites::Plan& candidate, int seeds, bool is_first);
  void tell(const std::string& line) const;
  bool has_failed(const suites::Plan& candidate, int seeds) const;

  BisectSetup setup_;
  reports::Commit good_commit_;
  results::Store& store_;
  GateLooks looks_;
  suites::Plan good_;                                      ///< where all steps share it
  std::int64_t good_plan_id_ = 0, candidate_plan_id_ = 0;  ///< of the newest step
  std::vector<double> seconds_;                            ///< of each test so far, if all of its runs were to be made
};

}  // namespace nanobench::tools
