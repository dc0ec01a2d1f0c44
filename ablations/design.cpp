#include "ablations/design.h"

#include <algorithm>

#include "ablations/design_effects.h"
#include "core/base/error.h"
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
    throw Error(ErrorCode::kInvalidArgument, std::string("the design \"") + design + "\" needs two values of each " +
                                                 "feature, and " + factor.name + " has " +
                                                 std::to_string(factor.levels.size()));
  }
}

/// Later less earlier, whichever of the two is the first level.
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

/// `first` and `second` are the cells of each alone, `both` that of the two.
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
      std::size_t minus = 0;  // of the product's factors: how many are at their first level
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
