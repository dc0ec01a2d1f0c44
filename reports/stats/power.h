/// How many runs are needed and what they can show: power of t tests by the non-central t distribution. Pure,
/// thread-safe; all arguments are settings, so one out of range throws Error{kInvalidArgument}. Computing a power takes
/// about 0.1 ms.
#pragma once

#include <functional>
#include <optional>

#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// The error of a planned experiment with known spreads.
struct PlannedError {
  double se = 0.0;  ///< standard error of the effect
  double df = 0.0;
};

/// One sample against a target, or n pairs (sd of one run, or of one difference). n >= 2.
PlannedError planned_error(double sd, int n);

/// Two independent arms, with Satterthwaite's df at the true spreads; exact for equal spreads and counts up to what
/// Welch loses by estimating df (below 1 % of power from n = 4 on). Both n >= 2.
PlannedError planned_error(double first_sd, int first_n, double second_sd, int second_n);

struct PowerSettings {
  double alpha = 0.05;
  bool is_two_sided = true;  ///< else one-sided in the effect's direction
};

/// Probability that the test finds an effect (any sign; one-sided: above 0 is the direction asked for).
double power_of(double effect, const PlannedError& error, const PowerSettings& settings = {});

/// The effect, above 0, that is found with this power. `power` above alpha.
double minimum_detectable_effect(const PlannedError& error, double power = 0.8, const PowerSettings& settings = {});

/// The same when the spread behind `error.se` is itself an estimate with `spread_df` degrees of freedom, made before
/// and apart from the experiment: the effect is found with this power on average over such estimates. The fewer degrees
/// of freedom, the larger it is. About 1 ms.
double predictive_detectable_effect(const PlannedError& error, double spread_df, double power = 0.8,
                                    const PowerSettings& settings = {});

/// The power of an effect (above 0 for a one-sided test) on average over such estimates. About 0.1 ms.
double predictive_power(double effect, const PlannedError& error, double spread_df, const PowerSettings& settings = {});

/// Error of the design as a function of the number of runs, the smallest n that can vary.
using ErrorOfRuns = std::function<PlannedError(int)>;

/// The fewest runs, from 2 on, that find `effect` (not 0) with this power; nullopt when `max` are not enough.
std::optional<int> required_runs(double effect, const ErrorOfRuns& error, double power = 0.8,
                                 const PowerSettings& settings = {}, int max = 1000000);

/// Probability that two one-sided tests prove equivalence when the truth is `effect`; exact, by integration over the
/// estimated spread (Phillips 1990). 0 or nearly so where the margins are below what n can resolve.
double equivalence_power(double effect, const PlannedError& error, const Margins& margins, double alpha = 0.05);

/// The fewest runs, from 2 on, that prove equivalence with this power; nullopt if `max` are not enough, or if the
/// effect is not inside the margins.
std::optional<int> required_runs_for_equivalence(double effect, const ErrorOfRuns& error, const Margins& margins,
                                                 double power = 0.8, double alpha = 0.05, int max = 1000000);

/// The tests behind a verdict (verdict.h): one of a difference, one of equivalence.
struct VerdictTests {
  Margins margins;                  ///< margins of the equivalence test
  double alpha_difference = 0.05;   ///< two-sided; among several effects, the share of this one
  double alpha_equivalence = 0.05;  ///< one-sided
};

/// Probability of a verdict, by either test, when the truth is `effect`. Exact.
double verdict_power(double effect, const PlannedError& error, const VerdictTests& tests);

/// The fewest runs, from 2 on, that give a verdict with this power; nullopt when `max` are not enough.
std::optional<int> required_runs_for_verdict(double effect, const ErrorOfRuns& error, const VerdictTests& tests,
                                             double power = 0.8, int max = 1000000);

}  // namespace nanobench::reports
