#include "reports/stats/screening.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace nanobench::reports {
namespace {

using Column = std::vector<double>;

constexpr std::size_t kMinRuns = 4;
constexpr double kMaxModelShare = 1.0 / 3.0;  ///< of the runs
constexpr double kSmallest = 1e-9;            ///< what is left of a column, relative, when others explain it

double dot(const Column& a, const Column& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// `column` without what the orthonormal `basis` explains. Twice, because once is not exact.
Column residual(Column column, const std::vector<Column>& basis) {
  for (int pass = 0; pass < 2; ++pass) {
    for (const Column& axis : basis) {
      const double along = dot(axis, column);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * axis[i];
    }
  }
  return column;
}

class Selection {
 public:
  Selection(const std::vector<std::vector<bool>>& factors, std::span<const double> responses)
      : responses_(responses.begin(), responses.end()) {
    for (const std::vector<bool>& factor : factors) {
      NB_CHECK(factor.size() == responses.size(), "a factor has a value for each run");
      columns_.emplace_back(factor.begin(), factor.end());
    }
  }

  std::vector<ScreenedFactor> select() {
    const auto most = static_cast<std::size_t>(kMaxModelShare * static_cast<double>(responses_.size()));
    while (model_.size() < most) {
      const std::vector<Column> basis = basis_without(columns_.size());
      double best_t = 0.0;
      std::optional<std::size_t> best;
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        if (is_in_model(j)) continue;
        const double t = ScreenedFactor{.effect = effect_of(j, basis)}.t();
        if (t < kSuspectT || t <= best_t) continue;
        best_t = t;
        best = j;
      }
      if (!best) break;
      model_.push_back(*best);
    }
    std::vector<ScreenedFactor> result;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      ScreenedFactor& factor = result.emplace_back();
      factor.effect = effect_of(j, basis_without(j));
      factor.is_suspect = is_in_model(j) && factor.t() >= kSuspectT;
    }
    return result;
  }

 private:
  bool is_in_model(std::size_t j) const { return std::find(model_.begin(), model_.end(), j) != model_.end(); }

  /// An orthonormal basis of the mean and the model, factor j left out.
  std::vector<Column> basis_without(std::size_t j) const {
    const auto count = static_cast<double>(responses_.size());
    std::vector<Column> basis = {Column(responses_.size(), 1.0 / std::sqrt(count))};
    for (const std::size_t member : model_) {
      if (member == j) continue;
      Column left = residual(columns_[member], basis);
      const double length = std::sqrt(dot(left, left));
      for (double& value : left) value /= length;
      basis.push_back(std::move(left));
    }
    return basis;
  }

  std::optional<Estimate> effect_of(std::size_t j, const std::vector<Column>& basis) const {
    const Column left = residual(columns_[j], basis);
    const double square = dot(left, left);
    const double df = static_cast<double>(responses_.size()) - static_cast<double>(basis.size()) - 1.0;
    if (square <= kSmallest * dot(columns_[j], columns_[j]) || df < 1.0) return std::nullopt;
    const Column rest = residual(responses_, basis);
    const double value = dot(left, rest) / square;
    const double error = std::max(0.0, dot(rest, rest) - value * value * square);
    return Estimate{.value = value, .se = std::sqrt(error / df / square), .df = df};
  }

  std::vector<Column> columns_;
  Column responses_;
  std::vector<std::size_t> model_;
};

}  // namespace

double ScreenedFactor::t() const {
  if (!effect) return 0.0;
  return effect->se > 0.0 ? std::abs(effect->value) / effect->se : INFINITY;
}

std::optional<std::vector<ScreenedFactor>> screen_factors(const std::vector<std::vector<bool>>& factors,
                                                          std::span<const double> responses) {
  if (responses.size() < kMinRuns) return std::nullopt;
  const auto [least, most] = std::minmax_element(responses.begin(), responses.end());
  if (!(*most > *least)) return std::nullopt;
  return Selection(factors, responses).select();
}

}  // namespace nanobench::reports
