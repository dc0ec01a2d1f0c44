#include "reports/stats/factorial_effects.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

/// Coefficients of the difference of two weighted means.
std::vector<double> normalised(const Contrast& contrast, std::size_t cells) {
  if (contrast.size() != cells) {
    refuse("a contrast needs one coefficient per cell, got " + std::to_string(contrast.size()) + " for " +
           std::to_string(cells) + " cells");
  }
  double on = 0.0;
  for (const double coefficient : contrast) {
    require_finite(coefficient, "a contrast's coefficient");
    on += std::max(0.0, coefficient);
  }
  if (on == 0.0) refuse("a contrast needs a coefficient above 0");
  if (std::abs(compensated_sum(contrast)) > 1e-12 * on) refuse("a contrast's coefficients must sum to 0");
  std::vector<double> scaled;
  for (const double coefficient : contrast) scaled.push_back(coefficient / on);
  return scaled;
}

/// Variance of one run over all cells that have two or more.
std::optional<Estimate> pooled_run(std::span<const std::vector<double>> cells) {
  double squares = 0.0;
  double df = 0.0;
  for (const std::vector<double>& cell : cells) {
    const std::optional<Moments> moments = moments_of(cell);
    if (!moments) continue;
    squares += moments->sd * moments->sd * (moments->n - 1.0);
    df += moments->n - 1.0;
  }
  if (df == 0.0) return std::nullopt;
  return Estimate{.se = std::sqrt(squares / df), .df = df};
}

std::optional<Estimate> pooled_estimate(std::span<const std::vector<double>> cells,
                                        const std::vector<double>& coefficients, double value) {
  const std::optional<Estimate> run = pooled_run(cells);
  if (!run) return std::nullopt;
  double factor = 0.0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (coefficients[i] != 0.0) factor += coefficients[i] * coefficients[i] / static_cast<double>(cells[i].size());
  }
  const Estimate estimate{.value = value, .se = run->se * std::sqrt(factor), .df = run->df};
  return estimate.is_usable() ? std::optional(estimate) : std::nullopt;
}

std::optional<Estimate> within_estimate(std::span<const std::vector<double>> cells,
                                        const std::vector<double>& coefficients) {
  std::vector<Term> terms;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (coefficients[i] == 0.0) continue;
    const std::optional<Moments> moments = moments_of(cells[i]);
    if (!moments) return std::nullopt;
    terms.push_back({.factor = coefficients[i], .estimate = estimate_of(*moments)});
  }
  return combine(terms);
}

}  // namespace

std::optional<ContrastEffect> contrast_effect(std::span<const std::vector<double>> cells, const Contrast& contrast,
                                              CellError error) {
  const std::vector<double> coefficients = normalised(contrast, cells.size());
  std::vector<double> parts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (coefficients[i] == 0.0) continue;
    const std::optional<double> mean = mean_of(cells[i]);
    if (!mean) return std::nullopt;
    parts.push_back(coefficients[i] * *mean);
  }
  ContrastEffect effect{.value = compensated_sum(parts)};
  if (!std::isfinite(effect.value)) return std::nullopt;
  effect.estimate = error == CellError::kPooled ? pooled_estimate(cells, coefficients, effect.value)
                                                : within_estimate(cells, coefficients);
  return effect;
}

std::optional<Lenth> lenth(std::span<const double> effects, double level) {
  require_fraction(level, "the confidence level");
  if (effects.size() < 3 || !mean_of(effects)) return std::nullopt;
  std::vector<double> sizes;
  for (const double effect : effects) sizes.push_back(std::abs(effect));
  const double first = 1.5 * *median(sizes);
  std::vector<double> inactive;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(inactive),
               [first](double size) { return size < 2.5 * first; });
  if (inactive.empty()) return std::nullopt;
  const double m = static_cast<double>(effects.size());
  Lenth result{.pse = 1.5 * *median(inactive), .df = m / 3.0};
  if (!(result.pse > 0.0)) return std::nullopt;
  result.margin = t_critical(level, result.df) * result.pse;
  // (1 + level^(1/m)) / 2, from its small complement.
  const double tail = -std::expm1(std::log(level) / m) / 2.0;
  result.simultaneous_margin = -t_quantile(tail, result.df) * result.pse;
  for (const double size : sizes) result.is_active.push_back(size > result.simultaneous_margin);
  return result;
}

}  // namespace nanobench::reports
