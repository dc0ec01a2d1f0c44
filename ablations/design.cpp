#include "ablations/design.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::string_view kTimes = " x ";

std::string product_of(const std::vector<Factor>& factors, FactorSet set) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if ((set >> i) & 1) names.push_back(factors[i].name);
  }
  return joined(names, kTimes);
}

void require_two_levels(const std::vector<Factor>& factors, const char* design) {
  for (const Factor& factor : factors) {
    if (factor.levels.size() == 2) continue;
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kWrongLength,
                        std::string("the design \"") + design + "\" needs two values of each " + "feature, and " +
                            factor.name + " has " + std::to_string(factor.levels.size()),
                        factor.name);
  }
}

/// Later minus earlier, whichever of the two is the first level.
std::string simple_meaning(const DesignTable& table, const EffectTerm::Part& part) {
  const Factor& factor = table.factors[part.factor];
  const std::string& first = factor.levels[0];
  const std::string& other = factor.levels[part.level];
  return factor.name + ": " + (factor.is_reversed ? first + " against " + other : other + " against " + first) +
         (table.factors.size() > 1 ? ", the others as in the first cell" : "");
}

Contrast simple_effect(const DesignTable& table, const EffectTerm::Part& part, std::size_t cell) {
  const Factor& factor = table.factors[part.factor];
  Contrast contrast{.term = {{part}}, .effect = effect_name(table.factors, {{part}}), .kind = ContrastKind::kSimple};
  contrast.meaning = simple_meaning(table, part);
  contrast.coefficients.assign(table.cells.size(), 0.0);
  contrast.coefficients[0] = factor.is_reversed ? 1.0 : -1.0;
  contrast.coefficients[cell] = -contrast.coefficients[0];
  return contrast;
}

/// `first` and `second` are the cells of each change alone, `both` the cell with both.
Contrast pair_effect(const DesignTable& table, const EffectTerm& term, std::size_t both) {
  const std::size_t a = term.parts[0].factor;
  const std::size_t b = term.parts[1].factor;
  Contrast contrast{.term = term, .effect = effect_name(table.factors, term), .kind = ContrastKind::kInteraction};
  contrast.meaning = "what " + table.factors[a].name + " and " + table.factors[b].name +
                     " change together beyond the sum of each alone";
  const double sign = table.factors[a].is_reversed == table.factors[b].is_reversed ? 1.0 : -1.0;
  contrast.coefficients.assign(table.cells.size(), 0.0);
  contrast.coefficients[0] = contrast.coefficients[both] = sign;
  contrast.coefficients[a + 1] = contrast.coefficients[b + 1] = -sign;
  return contrast;
}

using Column = std::vector<double>;

constexpr double kDependent = 1e-9;       ///< share of a column's length: a smaller remainder is rounding
constexpr std::size_t kManyFactors = 12;  ///< beyond this, aliases of three factors are too many to read
constexpr std::size_t kManyCells = 256;   ///< beyond this, only main effects and two-factor interactions

// By pointers: this library is compiled with -Og, where each [] of a vector is a call.
double dot(const Column& a, const Column& b) {
  const double* const x = a.data();
  const double* const y = b.data();
  const std::size_t size = a.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) sum += x[i] * y[i];
  return sum;
}

void subtract(Column& from, double factor, const Column& column) {
  double* const x = from.data();
  const double* const y = column.data();
  const std::size_t size = from.size();
  for (std::size_t i = 0; i < size; ++i) x[i] -= factor * y[i];
}

/// X = Q R column by column: Q orthogonal and not normalised, so that two-level designs stay exact; R has ones on its
/// diagonal.
class Orthogonalisation {
 public:
  /// Returns the coordinates of `column` in Q and leaves the remainder in `column`.
  Column reduce(Column& column) const {
    Column coordinates(q_.size(), 0.0);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i < q_.size(); ++i) {
        const double r = dot(q_[i], column) / squares_[i];
        if (r == 0.0) continue;
        coordinates[i] += r;
        subtract(column, r, q_[i]);
      }
    }
    return coordinates;
  }

  void add(Column rest, Column coordinates) {
    squares_.push_back(dot(rest, rest));
    q_.push_back(std::move(rest));
    r_.push_back(std::move(coordinates));
  }

  std::size_t rank() const { return q_.size(); }

  /// Solves R x = y in place: from coordinates in Q to coefficients of the columns.
  void solve(std::vector<Column>& y) const {
    for (std::size_t j = r_.size(); j-- > 0;) {
      for (std::size_t i = 0; i < j; ++i) {
        const double r = r_[j][i];
        if (r == 0.0) continue;
        subtract(y[i], r, y[j]);
      }
    }
  }

  /// The pseudo-inverse of X: one row per column.
  std::vector<Column> pseudo_inverse() const {
    std::vector<Column> rows;
    for (std::size_t i = 0; i < q_.size(); ++i) {
      Column row = q_[i];
      for (double& value : row) value /= squares_[i];
      rows.push_back(std::move(row));
    }
    solve(rows);
    return rows;
  }

  bool is_orthogonal() const {
    for (const Column& coordinates : r_) {
      if (std::any_of(coordinates.begin(), coordinates.end(), [](double r) { return std::abs(r) > kDependent; }))
        return false;
    }
    return true;
  }

 private:
  std::vector<Column> q_;
  std::vector<double> squares_;
  std::vector<Column> r_;  ///< for each column, its coordinates in the earlier columns of Q
};

/// Centred indicators of the levels, multiplied, times 2^(factors - 1).
Column column_of(const DesignTable& table, const EffectTerm& term) {
  Column column(table.cells.size(), std::ldexp(1.0, static_cast<int>(term.parts.size()) - 1));
  for (const EffectTerm::Part& part : term.parts) {
    const double mean = 1.0 / static_cast<double>(table.factors[part.factor].levels.size());
    for (std::size_t cell = 0; cell < column.size(); ++cell)
      column[cell] *= (table.cells[cell][part.factor] == part.level ? 1.0 : 0.0) - mean;
  }
  return column;
}

/// All terms of `order` factors, first factors first.
void add_terms(const std::vector<Factor>& factors, std::size_t order, std::size_t first, EffectTerm& term,
               std::vector<EffectTerm>& terms) {
  if (term.parts.size() == order) return terms.push_back(term);
  for (std::size_t factor = first; factor < factors.size(); ++factor) {
    for (std::size_t level = 1; level < factors[factor].levels.size(); ++level) {
      term.parts.push_back({.factor = factor, .level = level});
      add_terms(factors, order, factor + 1, term, terms);
      term.parts.pop_back();
    }
  }
}

std::vector<EffectTerm> terms_of(const std::vector<Factor>& factors, std::size_t order) {
  std::vector<EffectTerm> terms;
  EffectTerm term;
  add_terms(factors, order, 0, term, terms);
  return terms;
}

std::string against(const Factor& factor, std::size_t level) {
  return factor.name + " " + factor.levels[level] + " against " + factor.levels[0];
}

std::string meaning_of(const DesignTable& table, const EffectTerm& term) {
  const Factor& first = table.factors[term.parts[0].factor];
  if (term.parts.size() == 1) {
    return against(first, term.parts[0].level) + (table.factors.size() > 1 ? ", averaged over the other factors" : "");
  }
  if (term.parts.size() == 2) {
    return "half of what " + against(table.factors[term.parts[1].factor], term.parts[1].level) +
           " changes in the effect of " + against(first, term.parts[0].level);
  }
  return "interaction of " + std::to_string(term.parts.size()) + " factors";
}

double tidy(double value) {
  return std::abs(value) < 1e-12 ? 0.0 : value;
}

class EffectEstimation {
 public:
  explicit EffectEstimation(DesignTable& table) : table_(table) {}

  void run() {
    table_.contrasts.clear();
    table_.not_estimable.clear();
    const bool is_large = table_.factors.size() > kManyFactors || table_.cells.size() > kManyCells;
    table_.alias_order = std::min<std::size_t>(table_.factors.size(), is_large ? 2 : 3);
    basis_.add(Column(table_.cells.size(), 1.0), {});  // the mean
    for (std::size_t order = 1; order <= table_.factors.size() && !is_done(order); ++order) {
      for (const EffectTerm& term : terms_of(table_.factors, order)) take(term);
    }
    fill_contrasts();
    fill_aliases();
    table_.is_orthogonal = basis_.is_orthogonal();
  }

 private:
  /// Whether nothing is left to separate or to list as an alias.
  bool is_done(std::size_t order) const {
    if (table_.cells.size() > kManyCells) return order > 2;
    return order > table_.alias_order && basis_.rank() == table_.cells.size();
  }

  void take(const EffectTerm& term) {
    Column column = column_of(table_, term);
    const double length = std::sqrt(dot(column, column));
    Column coordinates = basis_.reduce(column);
    if (std::sqrt(dot(column, column)) > kDependent * length) {
      basis_.add(std::move(column), std::move(coordinates));
      Contrast contrast{.term = term, .effect = effect_name(table_.factors, term)};
      contrast.kind = term.parts.size() == 1 ? ContrastKind::kMain : ContrastKind::kInteraction;
      contrast.meaning = meaning_of(table_, term);
      table_.contrasts.push_back(std::move(contrast));
      return;
    }
    if (term.parts.size() <= 2) table_.not_estimable.push_back(effect_name(table_.factors, term));
    if (term.parts.size() > table_.alias_order) return;
    dependent_.push_back(term);
    dependent_coordinates_.push_back(std::move(coordinates));
  }

  void fill_contrasts() {
    const std::vector<Column> rows = basis_.pseudo_inverse();
    for (std::size_t i = 0; i < table_.contrasts.size(); ++i) {
      table_.contrasts[i].coefficients = rows[i + 1];
      for (double& value : table_.contrasts[i].coefficients) value = tidy(value);
    }
  }

  /// Computes how much of each effect without a contrast every contrast includes.
  void fill_aliases() {
    std::vector<Column> parts(basis_.rank(), Column(dependent_.size(), 0.0));
    for (std::size_t d = 0; d < dependent_.size(); ++d) {
      for (std::size_t i = 0; i < dependent_coordinates_[d].size(); ++i) parts[i][d] = dependent_coordinates_[d][i];
    }
    basis_.solve(parts);
    for (std::size_t d = 0; d < dependent_.size(); ++d) {
      for (std::size_t i = 0; i < table_.contrasts.size(); ++i) {
        const double part = parts[i + 1][d];
        if (std::abs(part) < kDependent) continue;
        table_.contrasts[i].aliases.push_back({dependent_[d], effect_name(table_.factors, dependent_[d]), part});
      }
    }
  }

  DesignTable& table_;
  Orthogonalisation basis_;
  std::vector<EffectTerm> dependent_;
  std::vector<Column> dependent_coordinates_;
};

/// Contrasts, aliases and what cannot be estimated, from the table's cells.
void estimate_effects(DesignTable& table) {
  EffectEstimation(table).run();
}

}  // namespace

std::string part_name(const std::vector<Factor>& factors, const EffectTerm::Part& part) {
  const Factor& factor = factors[part.factor];
  return factor.levels.size() == 2 ? factor.name : factor.name + "=" + factor.levels[part.level];
}

std::string effect_name(const std::vector<Factor>& factors, const EffectTerm& term) {
  std::vector<std::string> names;
  for (const EffectTerm::Part& part : term.parts) names.push_back(part_name(factors, part));
  return joined(names, kTimes);
}

DesignTable ladder(const Factor& steps) {
  DesignTable table;
  table.factors = {steps};
  for (std::size_t i = 0; i < steps.levels.size(); ++i) table.cells.push_back({i});
  for (std::size_t i = 1; i < steps.levels.size(); ++i) {
    Contrast contrast{.term = {{{0, i, i - 1}}}, .effect = steps.levels[i], .kind = ContrastKind::kSimple};
    contrast.meaning = steps.levels[i] + " against " + steps.levels[i - 1];
    contrast.coefficients.assign(steps.levels.size(), 0.0);
    contrast.coefficients[i - 1] = -1.0;
    contrast.coefficients[i] = 1.0;
    table.contrasts.push_back(std::move(contrast));
  }
  return table;
}

DesignTable one_at_a_time(const std::vector<Factor>& factors) {
  DesignTable table;
  table.factors = factors;
  table.cells.emplace_back(factors.size(), 0);
  for (std::size_t factor = 0; factor < factors.size(); ++factor) {
    for (std::size_t level = 1; level < factors[factor].levels.size(); ++level) {
      table.cells.emplace_back(factors.size(), 0);
      table.cells.back()[factor] = level;
    }
  }
  std::size_t cell = 0;
  for (std::size_t factor = 0; factor < factors.size(); ++factor) {
    for (std::size_t level = 1; level < factors[factor].levels.size(); ++level)
      table.contrasts.push_back(simple_effect(table, {factor, level}, ++cell));
  }
  return table;
}

DesignTable all_pairs(const std::vector<Factor>& factors) {
  require_two_levels(factors, "pairs");
  DesignTable table;
  table.factors = factors;
  table.cells = one_at_a_time(factors).cells;
  for (std::size_t a = 0; a < factors.size(); ++a) {
    for (std::size_t b = a + 1; b < factors.size(); ++b) {
      table.cells.emplace_back(factors.size(), 0);
      table.cells.back()[a] = table.cells.back()[b] = 1;
    }
  }
  for (std::size_t a = 0; a < factors.size(); ++a) table.contrasts.push_back(simple_effect(table, {a, 1}, a + 1));
  std::size_t both = factors.size() + 1;
  for (std::size_t a = 0; a < factors.size(); ++a) {
    for (std::size_t b = a + 1; b < factors.size(); ++b)
      table.contrasts.push_back(pair_effect(table, {{{a, 1}, {b, 1}}}, both++));
  }
  return table;
}

DesignTable full_factorial(const std::vector<Factor>& factors) {
  DesignTable table;
  table.factors = factors;
  table.cells = {DesignCell{}};
  for (const Factor& factor : factors) {
    std::vector<DesignCell> longer;
    for (const DesignCell& cell : table.cells) {
      for (std::size_t level = 0; level < factor.levels.size(); ++level) {
        longer.push_back(cell);
        longer.back().push_back(level);
      }
    }
    table.cells = std::move(longer);
  }
  estimate_effects(table);
  return table;
}

DesignTable fractional_factorial(const std::vector<Factor>& factors, const Fraction& fraction) {
  require_two_levels(factors, "fractional_factorial");
  DesignTable table;
  table.factors = factors;
  table.fraction = fraction;
  for (std::size_t run = 0; run < fraction.runs(); ++run) {
    DesignCell cell;
    for (const FactorSet column : fraction.columns) {
      std::size_t minus = 0;  // number of the product's factors at their first level
      for (std::size_t i = 0; i < fraction.free_factors; ++i) {
        const bool is_second = (run >> (fraction.free_factors - 1 - i)) & 1;
        if (((column >> i) & 1) && !is_second) ++minus;
      }
      cell.push_back(minus % 2 == 0 ? 1 : 0);
    }
    table.cells.push_back(std::move(cell));
  }
  estimate_effects(table);
  return table;
}

DesignTable replicas(const Factor& arms) {
  DesignTable table = one_at_a_time({arms});
  for (Contrast& contrast : table.contrasts) {
    contrast.effect = arms.levels[contrast.term.parts[0].level] + " against " + arms.levels[0];
    contrast.kind = ContrastKind::kNoise;
    contrast.meaning = "the same configuration twice: what differs is noise";
  }
  return table;
}

DesignTable without_cells(const DesignTable& table, const std::vector<bool>& is_lost) {
  DesignTable rest = table;
  rest.cells.clear();
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    if (!is_lost[i]) rest.cells.push_back(table.cells[i]);
  }
  const bool is_factorial = std::any_of(table.contrasts.begin(), table.contrasts.end(),
                                        [](const Contrast& contrast) { return contrast.kind == ContrastKind::kMain; });
  if (is_factorial) {
    estimate_effects(rest);
    return rest;
  }
  rest.contrasts.clear();
  for (const Contrast& contrast : table.contrasts) {
    Contrast shorter = contrast;
    shorter.coefficients.clear();
    bool is_whole = true;
    for (std::size_t i = 0; i < is_lost.size(); ++i) {
      if (!is_lost[i]) shorter.coefficients.push_back(contrast.coefficients[i]);
      is_whole = is_whole && (!is_lost[i] || contrast.coefficients[i] == 0.0);
    }
    if (is_whole) {
      rest.contrasts.push_back(std::move(shorter));
    } else {
      rest.not_estimable.push_back(contrast.effect);
    }
  }
  return rest;
}

std::vector<std::string> generators_in_words(const DesignTable& table) {
  std::vector<std::string> texts;
  if (!table.fraction) return texts;
  for (std::size_t i = table.fraction->free_factors; i < table.fraction->factors; ++i)
    texts.push_back(table.factors[i].name + " = " + product_of(table.factors, table.fraction->columns[i]));
  return texts;
}

std::vector<std::string> defining_relation_in_words(const DesignTable& table) {
  std::vector<std::string> texts;
  if (!table.fraction) return texts;
  for (const FactorSet word : defining_words(*table.fraction).value_or(std::vector<FactorSet>{}))
    texts.push_back(product_of(table.factors, word));
  return texts;
}

}  // namespace nanobench::ablations
