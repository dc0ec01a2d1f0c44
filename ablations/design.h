/// Designs: which combinations of levels to measure, and which combination of their results estimates which effect.
/// Pure combinatorics over names; thread-safe.
///
/// One scale throughout. A main effect is the mean at a level minus the mean at the first level, over all levels of the
/// other factors. An interaction of m factors is the product of their contrasts over 2^(m-1), as in textbooks. For two
/// factors, it is half of the change in one effect when the other factor is switched. With this scale aliases add up
/// with coefficient 1. A simple effect instead compares single cells, with the other factors fixed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ablations/fraction.h"
#include "core/base/enum_names.h"

namespace nanobench::ablations {

/// The kinds of comparison that a design makes. Reports use the kind to choose how to judge.
enum class ContrastKind {
  kMain,         ///< in a factorial: averaged over the other factors
  kInteraction,  ///< what factors change together beyond their separate effects
  kSimple,       ///< one cell against another
  kNoise,        ///< a configuration against itself
};

NB_ENUM_NAMES(ContrastKind, {ContrastKind::kMain, "main"}, {ContrastKind::kInteraction, "interaction"},
              {ContrastKind::kSimple, "simple"}, {ContrastKind::kNoise, "noise"});

struct Factor {
  std::string name;                 ///< used in the names of effects
  std::vector<std::string> levels;  ///< at least two, or one in a design that never changes it
  bool is_reversed = false;         ///< the first level is the later one: simple effects are first minus other
  std::string setting = {};         ///< feature or JSON pointer that it changes; empty: `name`
};

/// The level index of each factor.
using DesignCell = std::vector<std::size_t>;

/// Some factors at levels other than their first: the subject of a main effect or interaction.
struct EffectTerm {
  struct Part {
    std::size_t factor = 0;
    std::size_t level = 1;
    std::size_t from = 0;  ///< the level that it is compared with
  };
  std::vector<Part> parts;  ///< ascending factors
};

/// An effect that a contrast estimates in addition to the one it is named after.
struct Alias {
  EffectTerm term;
  std::string effect;
  double coefficient = 1.0;
};

/// The sum of coefficient * result over the cells estimates the effect.
struct Contrast {
  EffectTerm term;
  std::string effect;  ///< "a", "a x b", "width=64"
  ContrastKind kind = ContrastKind::kMain;
  std::string meaning;               ///< what the number is, in words
  std::vector<double> coefficients;  ///< one for each cell
  std::vector<Alias> aliases;        ///< by order, up to `DesignTable::alias_order`
};

struct DesignTable {
  std::vector<Factor> factors;
  std::vector<DesignCell> cells;
  std::vector<Contrast> contrasts;
  std::optional<Fraction> fraction;  ///< set for a two-level factorial
  std::size_t alias_order = 0;       ///< aliases of at most this many factors are listed
  bool is_orthogonal = true;         ///< for two-level factorials: no estimate depends on another
  /// Effects of one or two factors that these cells cannot separate from earlier ones; in a fraction these are the
  /// aliases. The contrasts are valid if these effects are zero.
  std::vector<std::string> not_estimable;
};

/// The part's name within the effect's name: "a" for a factor of two levels, else "a=level".
std::string part_name(const std::vector<Factor>& factors, const EffectTerm::Part& part);
/// The names of the parts, "a x b=level".
std::string effect_name(const std::vector<Factor>& factors, const EffectTerm& term);

/// Each cell against the one before it; one factor whose levels are the steps.
DesignTable ladder(const Factor& steps);
/// The first levels, then each other level of each factor alone: simple effects.
DesignTable one_at_a_time(const std::vector<Factor>& factors);
/// The first levels, each factor's second level alone, and each pair of second levels together. Estimates simple
/// effects and, for each pair, what the two change together beyond the sum of their separate effects. Throws
/// Error{kInvalidArgument} unless every factor has two levels.
DesignTable all_pairs(const std::vector<Factor>& factors);
/// All combinations, the last factor changing fastest.
DesignTable full_factorial(const std::vector<Factor>& factors);
/// Factors of two levels. The cell with every factor at its second level is always included.
DesignTable fractional_factorial(const std::vector<Factor>& factors, const Fraction& fraction);
/// One configuration under several names: any difference between them is noise.
DesignTable replicas(const Factor& arms);

/// The design without the cells that cannot be measured. Factorial effects are re-estimated by least squares, lower
/// orders first, as far as the remaining cells separate them. A simple effect that needs a lost cell is removed and
/// listed in not_estimable.
DesignTable without_cells(const DesignTable& table, const std::vector<bool>& is_lost);

/// "a = b x c" for each factor that the fraction sets.
std::vector<std::string> generators_in_words(const DesignTable& table);
/// "a x b x c" and so on: the products that are +1 in every run. Empty without a fraction, or if there are too many to
/// list.
std::vector<std::string> defining_relation_in_words(const DesignTable& table);

}  // namespace nanobench::ablations
