#include "reports/stats/plan_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reports/stats/distributions.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

constexpr double kNearTwin = 0.01;      // chance of a smaller ratio of variances, shared by the family
constexpr double kUnlikely = 0.1;       // chance of a larger one, below which the plan's weight falls with it
constexpr double kOutlyingCell = 0.01;  // chance that an ordinary plan has a cell that scatters so much
constexpr std::size_t kMinKept = 3;     // cells that a plan's spread comes from
constexpr int kMinForOwn = 3;           // blocks from which a spread may stand alone
constexpr double kRoundingUnits = 4.0;
constexpr double kCoefficientRounding = 1e-12;

std::size_t blocks_of(const ResponseTable& table) {
  return table.empty() ? 0 : table.front().size();
}

void require_shape(const ResponseTable& table) {
  for (const auto& row : table) {
    if (row.size() != blocks_of(table)) refuse("every cell of a table needs the same number of blocks");
    for (const std::optional<double>& value : row) {
      if (value) require_finite(*value, "a table's value");
    }
  }
}

/// Whether both have values in common, all of them equal.
bool are_equal(const std::vector<std::optional<double>>& a, const std::vector<std::optional<double>>& b) {
  bool has_common = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i] || !b[i]) continue;
    if (*a[i] != *b[i]) return false;
    has_common = true;
  }
  return has_common;
}

/// Disjoint sets of cells and blocks that runs connect.
class Components {
 public:
  explicit Components(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

  std::size_t root(std::size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void connect(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::size_t> parent_;
};

/// Least squares of the two-way layout. Cells are eliminated, and the blocks' effects solve a symmetric system in which
/// the first block of each component is 0.
class TwoWay {
 public:
  explicit TwoWay(const ResponseTable& table) : table_(table), cells_(table.size()), blocks_(blocks_of(table)) {
    count();
    solve();
  }

  /// Observations - parameters that can be told apart.
  double df() const { return static_cast<double>(observations_) - static_cast<double>(parameters_); }

  ResponseTable residuals() const {
    ResponseTable result = table_;
    for (auto& row : result) subtract_fit(row);
    return result;
  }

  /// Residuals of a row, which need not be of this table.
  void subtract_fit(std::vector<std::optional<double>>& row) const {
    std::vector<double> terms;
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (row[block]) terms.push_back(*row[block] - effects_[block]);
    }
    if (terms.empty()) return;
    const double mean = compensated_sum(terms) / static_cast<double>(terms.size());
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (row[block]) *row[block] -= mean + effects_[block];
    }
  }

 private:
  void count() {
    Components components(cells_ + blocks_);
    of_cell_.resize(cells_);
    of_block_.resize(blocks_);
    for (std::size_t cell = 0; cell < cells_; ++cell) {
      for (std::size_t block = 0; block < blocks_; ++block) {
        if (!table_[cell][block]) continue;
        ++of_cell_[cell];
        ++of_block_[block];
        ++observations_;
        components.connect(cell, cells_ + block);
      }
    }
    is_free_.resize(blocks_);
    std::vector<bool> has_ground(cells_ + blocks_);
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (of_block_[block] == 0) continue;
      const std::size_t root = components.root(cells_ + block);
      is_free_[block] = has_ground[root];
      has_ground[root] = true;
    }
    const auto used_cells = std::count_if(of_cell_.begin(), of_cell_.end(), [](int n) { return n > 0; });
    parameters_ = used_cells + std::count(is_free_.begin(), is_free_.end(), true);
  }

  /// Mean of the cell's values less the blocks' effects.
  double cell_mean(std::size_t cell) const {
    if (of_cell_[cell] == 0) return 0.0;
    std::vector<double> terms;
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (table_[cell][block]) terms.push_back(*table_[cell][block] - effects_[block]);
    }
    return compensated_sum(terms) / of_cell_[cell];
  }

  void solve() {
    effects_.assign(blocks_, 0.0);
    std::vector<std::size_t> free;
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (is_free_[block]) free.push_back(block);
    }
    if (free.empty()) return;
    std::vector<double> means(cells_);
    for (std::size_t cell = 0; cell < cells_; ++cell) means[cell] = cell_mean(cell);
    std::vector<std::vector<double>> matrix(free.size(), std::vector<double>(free.size() + 1));
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (std::size_t cell = 0; cell < cells_; ++cell) {
        if (!table_[cell][free[i]]) continue;
        matrix[i][i] += 1.0;
        matrix[i].back() += *table_[cell][free[i]] - means[cell];
        for (std::size_t j = 0; j < free.size(); ++j) {
          if (table_[cell][free[j]]) matrix[i][j] -= 1.0 / of_cell_[cell];
        }
      }
    }
    eliminate(matrix);
    for (std::size_t i = 0; i < free.size(); ++i) effects_[free[i]] = matrix[i].back();
  }

  /// Gauss and Jordan on a positive definite matrix, which needs no pivots; the last column becomes the solution.
  static void eliminate(std::vector<std::vector<double>>& matrix) {
    for (std::size_t pivot = 0; pivot < matrix.size(); ++pivot) {
      for (double& value : matrix[pivot]) {
        if (&value != &matrix[pivot][pivot]) value /= matrix[pivot][pivot];
      }
      matrix[pivot][pivot] = 1.0;
      for (std::size_t row = 0; row < matrix.size(); ++row) {
        const double factor = matrix[row][pivot];
        if (row == pivot || factor == 0.0) continue;
        for (std::size_t column = 0; column < matrix[row].size(); ++column)
          matrix[row][column] -= factor * matrix[pivot][column];
      }
    }
  }

  const ResponseTable& table_;
  std::size_t cells_, blocks_;
  std::int64_t observations_ = 0, parameters_ = 0;
  std::vector<int> of_cell_, of_block_;
  std::vector<bool> is_free_;  // blocks whose effect is estimated
  std::vector<double> effects_;
};

double squares_of(const std::vector<std::optional<double>>& row) {
  std::vector<double> squares;
  for (const std::optional<double>& value : row) {
    if (value) squares.push_back(*value * *value);
  }
  return compensated_sum(squares);
}

double squares_of(const ResponseTable& table) {
  std::vector<double> squares;
  for (const auto& row : table) squares.push_back(squares_of(row));
  return compensated_sum(squares);
}

double count_of(const std::vector<std::optional<double>>& row) {
  return static_cast<double>(
      std::count_if(row.begin(), row.end(), [](const auto& value) { return value.has_value(); }));
}

/// Degrees of freedom of the moderated variance.
double moderated_df(double prior, double own, double plan) {
  const double sum = prior + own;
  return std::min(sum, sum * sum / ((prior * prior + 2.0 * prior * own) / plan + own));
}

/// A variance with its degrees of freedom.
struct Variance {
  double value = 0.0;
  double df = 0.0;
};

/// The spread that judges a contrast, and the weight that the plan's has in it.
struct SpreadUse {
  SpreadKind kind = SpreadKind::kOwn;
  double prior_df = 0.0;  ///< weight of the plan's variance; 0: its own alone
};

/// What the plan's variance says of one contrast's own.
SpreadUse use_of(const Variance& own, const Variance& plan, const SpreadSettings& settings) {
  if (plan.df <= 0.0 || plan.value == 0.0 || settings.prior_df == 0.0) return {.kind = SpreadKind::kOwn};
  const SpreadUse shared{.kind = SpreadKind::kShared, .prior_df = settings.prior_df};
  if (own.df + 1.0 < kMinForOwn) return shared;
  const double ratio = own.value / plan.value;
  if (f_cdf(ratio, own.df, plan.df) < kNearTwin / settings.family) return {.kind = SpreadKind::kSmaller};
  const double chance = f_upper(ratio, own.df, plan.df);
  if (chance >= kUnlikely) return shared;
  return {.kind = SpreadKind::kLarger, .prior_df = settings.prior_df * chance / kUnlikely};
}

/// The variance that judges: moderated by the plan's, or its own.
Variance moderated(const Variance& own, const Variance& plan, double prior) {
  if (prior <= 0.0) return own;
  return {.value = (prior * plan.value + own.df * own.value) / (prior + own.df),
          .df = moderated_df(prior, own.df, plan.df)};
}

void require_settings(const SpreadSettings& settings) {
  if (!(settings.prior_df >= 0.0) || !std::isfinite(settings.prior_df))
    refuse("the plan's weight must be 0 or above, and finite");
  if (!(settings.resolution >= 0.0) || !std::isfinite(settings.resolution))
    refuse("the resolution must be 0 or above, and finite");
  require_count(settings.family, 1, "the family's contrasts");
  if (!settings.earlier) return;
  require_positive(settings.earlier->sd, "the earlier spread");
  require_positive(settings.earlier->df, "the earlier spread's degrees of freedom");
}

}  // namespace

PlannedError ErrorForecast::at(int n) const {
  require_count(n, 2, "the blocks");
  const double own = n - 1.0;
  const double se = se_of_one / std::sqrt(static_cast<double>(n));
  if (prior_df <= 0.0 || cells < 3) return {.se = se, .df = own};
  return {.se = se, .df = moderated_df(prior_df, own, (cells - 1.0) * own)};
}

PlanModel::PlanModel(const ResponseTable& table, const SpreadSettings& settings) : settings_(settings) {
  require_settings(settings);
  require_shape(table);
  merge_cells(table);
  fit_residuals();
}

void PlanModel::merge_cells(const ResponseTable& table) {
  for (const auto& row : table) {
    for (const std::optional<double>& value : row) magnitude_ = std::max(magnitude_, std::abs(value.value_or(0.0)));
    std::size_t group = 0;
    while (group < merged_.size() && (settings_.resolution > 0.0 || !are_equal(merged_[group], row))) ++group;
    group_of_.push_back(group);
    if (group == merged_.size()) {
      merged_.push_back(row);
      continue;
    }
    for (std::size_t block = 0; block < row.size(); ++block) {
      if (!merged_[group][block]) merged_[group][block] = row[block];
    }
  }
}

void PlanModel::fit_residuals() {
  is_left_out_.assign(merged_.size(), false);
  ResponseTable kept = merged_;
  std::optional<TwoWay> layout;
  do {
    layout.emplace(kept);
    residuals_ = layout->residuals();
    df_ = layout->df();
  } while (leave_out_one(kept));
  if (df_ <= 0.0) return;
  variance_ = squares_of(residuals_) / df_;
  for (std::size_t cell = 0; cell < merged_.size(); ++cell) {
    if (!is_left_out_[cell]) continue;
    residuals_[cell] = merged_[cell];
    layout->subtract_fit(residuals_[cell]);
  }
  const double rounding = kRoundingUnits * std::numeric_limits<double>::epsilon() * magnitude_;
  if (variance_ <= rounding * rounding) variance_ = 0.0;
  variance_ = std::max(variance_, rounding_variance(settings_.resolution));
  if (!settings_.earlier) return;
  const double earlier = settings_.earlier->sd * settings_.earlier->sd, df = df_ + settings_.earlier->df;
  variance_ = (df_ * variance_ + settings_.earlier->df * earlier) / df;
  df_ = df;
}

/// Takes the cell that scatters most out of `kept`, if it scatters far more than the others.
bool PlanModel::leave_out_one(ResponseTable& kept) {
  std::size_t most = 0, cells = 0;
  double largest = 0.0;  // mean square
  for (std::size_t cell = 0; cell < kept.size(); ++cell) {
    const double runs = count_of(kept[cell]);
    if (runs == 0.0) continue;
    ++cells;
    if (runs < kMinForOwn) continue;
    const double mean_square = squares_of(residuals_[cell]) / (runs - 1.0);
    if (mean_square > largest) {
      largest = mean_square;
      most = cell;
    }
  }
  if (largest == 0.0 || cells <= kMinKept) return false;
  const double own_df = count_of(kept[most]) - 1.0, rest_df = df_ - own_df;
  const double rest = squares_of(residuals_) - squares_of(residuals_[most]);
  if (rest_df <= 0.0 || rest <= 0.0) return false;
  const double chance = f_upper(largest / (rest / rest_df), own_df, rest_df);
  if (chance >= kOutlyingCell / static_cast<double>(cells)) return false;
  is_left_out_[most] = true;
  kept[most].assign(kept[most].size(), std::nullopt);
  return true;
}

bool PlanModel::is_outlying(const std::vector<double>& coefficients) const {
  for (std::size_t cell = 0; cell < coefficients.size(); ++cell) {
    if (coefficients[cell] != 0.0 && is_left_out_[cell]) return true;
  }
  return false;
}

std::optional<double> PlanModel::plan_sd() const {
  return df_ > 0.0 ? std::optional(std::sqrt(variance_)) : std::nullopt;
}

ResponseTable PlanModel::residuals() const {
  ResponseTable result;
  for (const std::size_t group : group_of_) result.push_back(residuals_[group]);
  return result;
}

std::vector<double> PlanModel::merged_coefficients(const Contrast& contrast) const {
  if (contrast.size() != group_of_.size()) refuse("a contrast needs one coefficient per cell");
  std::vector<double> coefficients(merged_.size());
  double largest = 0.0;
  for (std::size_t cell = 0; cell < contrast.size(); ++cell) {
    require_finite(contrast[cell], "a contrast's coefficient");
    coefficients[group_of_[cell]] += contrast[cell];
    largest = std::max(largest, std::abs(contrast[cell]));
  }
  if (std::abs(compensated_sum(contrast)) > kCoefficientRounding * largest)
    refuse("a contrast's coefficients must sum to 0");
  for (double& coefficient : coefficients) {
    if (std::abs(coefficient) <= kCoefficientRounding * largest) coefficient = 0.0;
  }
  return coefficients;
}

/// Only blocks in which every cell of the contrast has a value.
std::vector<double> PlanModel::by_block(const Contrast& contrast, const std::vector<double>& coefficients) const {
  std::vector<double> values;
  for (std::size_t block = 0; block < blocks_of(merged_); ++block) {
    std::vector<double> terms;
    bool is_complete = true;
    for (std::size_t cell = 0; cell < contrast.size() && is_complete; ++cell)
      is_complete = contrast[cell] == 0.0 || merged_[group_of_[cell]][block].has_value();
    for (std::size_t group = 0; group < merged_.size() && is_complete; ++group) {
      if (coefficients[group] != 0.0) terms.push_back(coefficients[group] * *merged_[group][block]);
    }
    if (is_complete) values.push_back(compensated_sum(terms));
  }
  return values;
}

std::optional<ContrastFit> PlanModel::fit(const Contrast& contrast) const {
  const std::vector<double> coefficients = merged_coefficients(contrast);
  const std::vector<double> values = by_block(contrast, coefficients);
  if (values.empty()) return std::nullopt;
  ContrastFit fit;
  fit.value = *mean_of(values);
  fit.n = static_cast<int>(values.size());
  fit.own_df = fit.n - 1.0;
  double unit = 0.0;  // sum c^2
  for (const double coefficient : coefficients) unit += coefficient * coefficient;
  double own = 0.0;  // s_j^2
  if (const std::optional<Moments> moments = moments_of(values, magnitude_)) {
    own = unit > 0.0 ? std::max(moments->sd * moments->sd / unit, rounding_variance(settings_.resolution)) : 0.0;
    fit.own_sd = std::sqrt(own);
    fit.is_exact = own == 0.0;
  }
  fit.is_outlying = is_outlying(coefficients);
  if (unit > 0.0 && !fit.is_exact) add_estimate(fit, own, unit);
  return fit;
}

void PlanModel::add_estimate(ContrastFit& fit, double own, double unit) const {
  const Variance own_variance{.value = own, .df = fit.own_df}, plan{.value = variance_, .df = df_};
  const auto [kind, prior] = fit.is_outlying ? SpreadUse{.kind = SpreadKind::kLarger}
                             : cells() < 3   ? SpreadUse{.kind = SpreadKind::kOwn}
                                             : use_of(own_variance, plan, settings_);
  if (prior + fit.own_df <= 0.0) return;
  const Variance variance = moderated(own_variance, plan, prior);
  const double se_of_one = std::sqrt(variance.value * unit);
  fit.spread = kind;
  fit.estimate =
      Estimate{.value = fit.value, .se = se_of_one / std::sqrt(static_cast<double>(fit.n)), .df = variance.df};
  fit.forecast = {.se_of_one = se_of_one, .prior_df = prior, .cells = cells()};
}

std::vector<std::optional<ModeratedMean>> moderated_means(std::span<const std::vector<double>> groups,
                                                          const SpreadSettings& settings) {
  require_settings(settings);
  Variance plan;
  std::vector<std::optional<Moments>> all;
  for (const std::vector<double>& group : groups) {
    const std::optional<Moments>& moments = all.emplace_back(moments_of(group));
    if (!moments || !moments->has_spread()) continue;
    plan.value += moments->sd * moments->sd * (moments->n - 1.0);
    plan.df += moments->n - 1.0;
  }
  if (plan.df > 0.0) plan.value /= plan.df;
  std::vector<std::optional<ModeratedMean>> means;
  for (const std::optional<Moments>& moments : all) {
    std::optional<ModeratedMean>& mean = means.emplace_back();
    if (!moments || !moments->has_spread()) continue;
    const Variance own{.value = moments->sd * moments->sd, .df = moments->n - 1.0};
    const bool is_alone = plan.df <= own.df;
    const auto [kind, prior] = is_alone ? SpreadUse{.kind = SpreadKind::kOwn} : use_of(own, plan, settings);
    const Variance used = moderated(own, plan, prior);
    mean = ModeratedMean{.estimate = {.value = moments->mean, .se = std::sqrt(used.value / moments->n), .df = used.df},
                         .spread = kind};
  }
  return means;
}

std::optional<double> prior_df_of(std::span<const SpreadRatio> ratios) {
  std::vector<double> logs;  // of the ratios, less their expectation if all true variances are equal
  double chance = 0.0;       // the variance of the logarithms by chance
  for (const SpreadRatio& item : ratios) {
    if (!(item.ratio > 0.0) || !std::isfinite(item.ratio) || !(item.df > 0.0)) continue;
    logs.push_back(std::log(item.ratio) - digamma(item.df / 2.0) + std::log(item.df / 2.0));
    chance += trigamma(item.df / 2.0);
  }
  if (logs.size() < kMinSpreadRatios) return std::nullopt;
  const Moments moments = *moments_of(logs);
  const double excess = moments.sd * moments.sd - chance / static_cast<double>(logs.size());
  return excess > 0.0 ? 2.0 * inverse_trigamma(excess) : kInfinity;
}

}  // namespace nanobench::reports
