/// Looks at the data while runs are still being added, without more false alarms: group-sequential tests with alpha
/// spending (Lan and DeMets 1983). Pure, thread-safe.
///
/// The looks spend the total alpha by O'Brien and Fleming's rule (almost none early, nearly all at the end), or by a
/// power of the fraction (Kim and DeMets 1987): with the power 1 evenly, which lets a large effect be found at the
/// first looks. They may come at any fractions of the planned runs. Boundaries hold exactly for normal statistics with
/// independent increments. For t statistics (Welch, paired) a look's p-value is compared with the p-value of its
/// boundary: `p < nominal_p`. With few runs this alone gives too many false alarms (5.8 % for 5 %, pairs at every n
/// from 2 to 5; 6.0 % where alpha is spent evenly over 3 to 12, and a quarter more than an alpha of 0.001), so plans by
/// runs spend only small_sample_guard() of alpha. Simulations in
/// tests/reports/stats/sequential_test.cpp check them against their alpha.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace nanobench::reports {

struct SequentialSettings {
  double alpha = 0.05;  ///< for all looks together
  bool is_two_sided = true;
  double spending_power = 0.0;  ///< alpha t^power is spent by the fraction t; 0: O'Brien and Fleming's rule
};

/// Share of alpha that plans by runs with more than one look spend, to compensate for t's p-values with few runs.
double small_sample_guard(const SequentialSettings& settings);

/// One look of a plan.
struct Look {
  double information = 0.0;  ///< fraction of the planned runs; 1 at the last look
  double spent = 0.0;        ///< alpha spent up to and including this look
  double z = 0.0;            ///< boundary of the normal statistic
  /// p-value of `z`, one- or two-sided like the plan. 1 - nominal_p is the level of intervals that hold at all looks
  /// together (repeated confidence intervals).
  double nominal_p = 0.0;
  double equivalence_p = 0.0;  ///< nominal_p of the one-sided plan with the same alpha, for two one-sided tests
};

/// 2 - 2 Phi(z(1 - alpha/2) / sqrt(t)) one-sided; two-sided, each side spends alpha / 2 in this way.
double obrien_fleming_spending(double information, const SequentialSettings& settings = {});
/// What is spent by this fraction, by the rule of the settings.
double spent_by(double information, const SequentialSettings& settings);

/// The looks of a plan, at ascending fractions that end with 1, at most 50, at least 0.002 apart. Boundaries above 8
/// become 8 (p 1e-15). By recursive integration (Armitage, McPherson and Rowe 1969): 1e-8 in z; takes a few ms. Throws
/// Error{kInvalidArgument} for other fractions or an alpha outside (0, 0.5).
std::vector<Look> sequential_looks(std::span<const double> information, const SequentialSettings& settings = {});

/// Looks after first, first + step, ... and `max` runs per arm (or pairs), for t statistics. Spends
/// small_sample_guard() of alpha unless there is only one look. 2 <= first <= max, step >= 1, at most 50 looks.
std::vector<Look> sequential_looks(int first, int max, int step, const SequentialSettings& settings = {});

/// The smallest step of looks between `first` and `max` runs that makes no more than 50 of them.
int look_step(int first, int max);

/// Probability of having crossed a boundary by each look. `drift`: mean of the normal statistic at full information; 0
/// gives false alarms, others power. Two-sided counts both boundaries. Throws like sequential_looks, and if the lengths
/// differ.
std::vector<double> crossing_probabilities(std::span<const double> z, std::span<const double> information,
                                           double drift = 0.0, bool is_two_sided = true);

/// Chance that a test decides at the last look, given the statistic `z` at `information` (a fraction above 0 and below
/// 1) and the drift (mean of the statistic at full information): the last statistic lies beyond -+`outer`, or within
/// -+`inner` for an inner bound above 0. Normal approximation. Throws Error{kInvalidArgument} for values out of range.
double conditional_power(double z, double information, double drift, double outer, double inner = 0.0);

/// What a look found; absent if the test is undefined (no spread yet), which never stops.
struct LookEvidence {
  std::optional<double> p;              ///< p-value of the effect
  std::optional<double> p_equivalence;  ///< p-value of two one-sided tests (verdict.h)
};

enum class SequentialDecision {
  kStopForEffect,
  kStopForEquivalence,  ///< proved inside the margins
  kContinue,
  kStopAtEnd,  ///< the last look proved nothing
};

struct SequentialResult {
  SequentialDecision decision = SequentialDecision::kContinue;
  int look = 0;  ///< the deciding or latest one, from 1; 0 before the first
};

/// Decides after the looks so far. The first crossing decides, whatever came later. At the same look, an effect takes
/// precedence over equivalence. Throws Error{kInvalidArgument} for more evidence than looks, or a p outside [0, 1].
SequentialResult decide(std::span<const Look> plan, std::span<const LookEvidence> so_far);

}  // namespace nanobench::reports
