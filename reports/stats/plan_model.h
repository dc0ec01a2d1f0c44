/// One model for all contrasts of a plan: response = cell + block + error. A block is a seed (for times, a seed on one
/// machine), whose cells share their random numbers or their surroundings. Every cell informs the spread of every
/// contrast, so few seeds suffice. Cells of a plan may scatter unequally, so a contrast's own spread counts as well:
///
///   plan's variance      s_p^2 = sum of squared residuals / nu over cells and blocks, nu = (C - 1)(n - 1)
///   contrast by block    d_s = sum c y;  own variance s_j^2 = var(d) / sum c^2, with d = n - 1 degrees of freedom
///   variance             (w s_p^2 + d s_j^2) / (w + d), times sum c^2 / n for the contrast's mean
///   degrees of freedom   min(w + d, (w + d)^2 / ((w^2 + 2 w d) / nu + d))
///
/// From three blocks on, s_j^2 stands alone where it is far below s_p^2, as for near twins. Where it is so far above
/// that chance alone exceeds it in less than one contrast of ten, w falls in proportion to that chance: a step to s_j^2
/// alone would make an interval of few blocks several times as wide at once (after Phipson et al. 2016, "Robust
/// hyperparameter estimation"). A cell that scatters so much more than all others together that an ordinary plan has
/// such a one in a hundred cases (one that trains unstably) counts neither in s_p^2 nor in the blocks' effects, and its
/// contrasts have s_j^2 alone. The degrees of freedom are Satterthwaite's; s_j^2 is a part of s_p^2, hence the term
/// 2 w d. Missing runs leave least squares. tests/reports/stats/plan_model_test.cpp measures false alarms and power.
/// Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/stats/estimate.h"
#include "reports/stats/factorial_effects.h"
#include "reports/stats/power.h"

namespace nanobench::reports {

/// table[cell][block]; absent: no run. Every cell has the same number of blocks.
using ResponseTable = std::vector<std::vector<std::optional<double>>>;

/// Weights of the plan's spread for losses and seconds, and for logarithms of times, whose spreads are more alike.
inline constexpr double kLossPriorDf = 4.0;
inline constexpr double kTimePriorDf = 12.0;

/// A standard deviation of one run that other plans gave.
struct EarlierSpread {
  double sd = 0.0;  ///< above 0
  double df = 0.0;  ///< above 0
};

struct SpreadSettings {
  double prior_df = kLossPriorDf;             ///< w, in degrees of freedom; 0: own spreads only
  int family = 1;                             ///< contrasts that are judged together; at least 1
  double resolution = 0.0;                    ///< the values are multiples of it; 0: they have all their digits
  std::optional<EarlierSpread> earlier = {};  ///< counts as residuals of this plan
};

/// The spread that judges a contrast.
enum class SpreadKind {
  kNone,     ///< one block, or no spread at all
  kOwn,      ///< its own, because the plan has no other: two cells, or no residual
  kShared,   ///< moderated by the plan's
  kSmaller,  ///< its own, which is far below the plan's: its cells are near twins
  kLarger,  ///< the plan's with a lower weight, its own being far above it; alone for a cell that the plan's leaves out
};

NB_ENUM_NAMES(SpreadKind, {SpreadKind::kNone, "none"}, {SpreadKind::kOwn, "own"}, {SpreadKind::kShared, "shared"},
              {SpreadKind::kSmaller, "smaller"}, {SpreadKind::kLarger, "larger"});

/// The error that a contrast would have with another number of blocks.
struct ErrorForecast {
  double se_of_one = 0.0;  ///< standard error of the contrast in one block
  double prior_df = 0.0;   ///< w as used, lower where its own spread is far above the plan's; 0: its own alone
  int cells = 2;           ///< C: cells that differ

  /// `n` >= 2.
  PlannedError at(int n) const;
};

struct ContrastFit {
  double value = 0.0;                ///< sum of coefficient times mean over the complete blocks
  int n = 0;                         ///< blocks in which every cell of the contrast has a value
  bool is_exact = false;             ///< two or more blocks gave exactly this value
  std::optional<Estimate> estimate;  ///< absent without a spread
  SpreadKind spread = SpreadKind::kNone;
  std::optional<double> own_sd;  ///< s_j, of one run; absent for one block
  double own_df = 0.0;           ///< n - 1
  bool is_outlying = false;      ///< of a cell that is not counted in the plan's spread
  ErrorForecast forecast;        ///< meaningful with an estimate
};

/// Residuals of one table, and the contrasts that it estimates.
class PlanModel {
 public:
  /// Cells whose values are bit for bit equal count as one, unless the values are rounded: a contrast between them is
  /// exactly 0. Throws Error{kInvalidArgument} for settings out of range, rows of different lengths, and values that
  /// are not finite.
  explicit PlanModel(const ResponseTable& table, const SpreadSettings& settings = {});

  /// nullopt if no block has all cells of the contrast. Coefficients are not scaled. Throws Error{kInvalidArgument} if
  /// their number differs from the cells', or they do not sum to 0.
  std::optional<ContrastFit> fit(const Contrast& contrast) const;

  /// s_p, of one run; absent if no residual is left.
  std::optional<double> plan_sd() const;
  double plan_df() const { return df_; }  ///< nu
  int cells() const { return static_cast<int>(merged_.size()); }

  /// Residual of each value, in the shape of the table given.
  ResponseTable residuals() const;

 private:
  void merge_cells(const ResponseTable& table);
  void fit_residuals();
  bool leave_out_one(ResponseTable& kept);
  bool is_outlying(const std::vector<double>& coefficients) const;
  std::vector<double> merged_coefficients(const Contrast& contrast) const;
  std::vector<double> by_block(const Contrast& contrast, const std::vector<double>& coefficients) const;
  void add_estimate(ContrastFit& fit, double own, double unit) const;

  SpreadSettings settings_;
  std::vector<std::size_t> group_of_;  ///< cell -> row of merged_
  ResponseTable merged_;               ///< distinct cells
  ResponseTable residuals_;            ///< of merged_
  std::vector<bool> is_left_out_;      ///< by row of merged_: it scatters far more than the others
  double variance_ = 0.0;              ///< s_p^2
  double df_ = 0.0;
  double magnitude_ = 0.0;  ///< largest |value|, whose rounding is no spread
};

/// A mean of values whose spread is judged beside that of its companions.
struct ModeratedMean {
  Estimate estimate;
  SpreadKind spread = SpreadKind::kNone;
};

/// The mean of each group, for groups of differences that scatter alike, such as one metric's in several cells: the
/// same moderation, with the residuals about the groups' means as s_p^2 and nu = sum of (n - 1). Groups of fewer than
/// two values, or without a spread, are left out of it and have no mean.
std::vector<std::optional<ModeratedMean>> moderated_means(std::span<const std::vector<double>> groups,
                                                          const SpreadSettings& settings = {});

/// A contrast's own variance relative to its plan's, s_j^2 / s_p^2, with the degrees of freedom of s_j^2.
struct SpreadRatio {
  double ratio = 0.0;
  double df = 0.0;
};

/// How alike the variances of contrasts are: the degrees of freedom d0 of the prior whose draws they look like, by the
/// moments of their logarithms (Smyth 2004, "limma"). Infinite where they differ no more than chance. nullopt for fewer
/// than kMinSpreadRatios usable ratios.
std::optional<double> prior_df_of(std::span<const SpreadRatio> ratios);
inline constexpr std::size_t kMinSpreadRatios = 10;

}  // namespace nanobench::reports
