/// `run --until-decided` and `run --budget`: seeds where they decide most, by a group-sequential rule.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tools/cli/suite_run.h"

namespace nanobench::tools {

/// Adds seeds to a suite until every change has a verdict, or the budget is spent.
struct UntilDecided {
  bool is_asked = false;           ///< false, and no budget: the seeds are fixed
  std::optional<double> budget_s;  ///< for the whole command, with Slurm for its runs; absent: as long as it takes
  std::optional<int> max_seeds;    ///< seeds at the last look; absent: kMaxSeeds
  double alpha = 0.05;             ///< over all changes and looks together
  static constexpr int kMaxSeeds = 10;

  /// Throws Error{kInvalidArgument} for a maximum without looks, or below the first one.
  bool is_sequential() const;
};

void add_until_decided_options(CLI::App& command, UntilDecided& rule);

/// How far a search is: "look 2, 3m 10s of 10m spent", or "look 2, 3m 10s so far" without a budget.
std::string search_text(int look, double spent_s, const std::optional<double>& budget_s);

/// The suite's own seeds first, then the smallest others.
std::vector<std::uint64_t> seeds_up_to(const std::vector<std::uint64_t>& own, int count);

/// Throws Error{kInvalidArgument} if the suite has more seeds than the rule allows.
void check_max_seeds(const suites::Suite& suite, const UntilDecided& rule);

/// Runs the suite with more and more seeds, with a look at the results after each, until every single change is decided
/// by the boundary of its look (reports/stats/sequential.h) or `max_seeds` are used up. Cells of decided changes get no
/// more seeds, nor do those of changes that the seeds left can hardly decide.
///
/// With a budget, seeds are added only while they are expected to fit, for the changes that need the fewest of them if
/// not for all. The boundaries are those without a budget, so a later call with more continues. A budget that does not
/// hold the first look is refused before the first run; where nothing is known of a cell of a trainer, or with Slurm,
/// after one seed of each. With Slurm the budget is that of the runs of all tasks together. A cell that fails ends its
/// changes alone. Otherwise like run_suite.
int run_until_decided(const suites::Suite& suite, const UntilDecided& rule, const SuiteRunOptions& options,
                      const Session& session);

}  // namespace nanobench::tools
