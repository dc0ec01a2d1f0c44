#include "ablations/design.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"

namespace nanobench::ablations {
namespace {

std::vector<Factor> toggles(std::size_t count) {
  std::vector<Factor> factors;
  for (std::size_t i = 0; i < count; ++i)
    factors.push_back({std::string(1, static_cast<char>('a' + i)), {"off", "on"}});
  return factors;
}

double estimate(const Contrast& contrast, const std::vector<double>& results) {
  double sum = 0.0;
  for (std::size_t i = 0; i < results.size(); ++i) sum += contrast.coefficients[i] * results[i];
  return sum;
}

const Contrast& contrast_of(const DesignTable& table, const std::string& effect) {
  for (const Contrast& contrast : table.contrasts) {
    if (contrast.effect == effect) return contrast;
  }
  throw core::Error(core::ErrorCode::kNotFound, "no contrast for " + effect);
}

bool has_contrast(const DesignTable& table, const std::string& effect) {
  return std::any_of(table.contrasts.begin(), table.contrasts.end(),
                     [&](const Contrast& contrast) { return contrast.effect == effect; });
}

/// Results in which each effect (a set of two-level factors) has this size.
std::vector<double> planted(const DesignTable& table, const std::map<FactorSet, double>& effects) {
  std::vector<double> results;
  for (const DesignCell& cell : table.cells) {
    double result = 3.0;
    for (const auto& [set, size] : effects) {
      double sign = 1.0;
      for (std::size_t i = 0; i < cell.size(); ++i) {
        if ((set >> i) & 1) sign *= cell[i] == 1 ? 1.0 : -1.0;
      }
      result += size / 2 * sign;
    }
    results.push_back(result);
  }
  return results;
}

std::vector<std::string> names_of(const std::vector<Alias>& aliases) {
  std::vector<std::string> names;
  for (const Alias& alias : aliases) names.push_back(alias.effect);
  return names;
}

TEST(FullFactorial, RecoversEveryPlantedEffect) {
  const DesignTable table = full_factorial(toggles(4));
  EXPECT_EQ(table.cells.size(), 16u);
  EXPECT_EQ(table.contrasts.size(), 15u);
  EXPECT_TRUE(table.is_orthogonal);
  std::map<FactorSet, double> effects;
  for (FactorSet set = 1; set < 16; ++set) effects[set] = 0.25 * static_cast<double>(set) - 1.5;
  const std::vector<double> results = planted(table, effects);
  for (const Contrast& contrast : table.contrasts) {
    FactorSet set = 0;
    for (const EffectTerm::Part& part : contrast.term.parts) set |= FactorSet{1} << part.factor;
    EXPECT_EQ(estimate(contrast, results), effects.at(set)) << contrast.effect;
    EXPECT_TRUE(contrast.aliases.empty());
    EXPECT_EQ(contrast.kind, contrast.term.parts.size() == 1 ? ContrastKind::kMain : ContrastKind::kInteraction);
  }
  EXPECT_EQ(contrast_of(table, "a x c").coefficients[0], 0.125);
}

TEST(FullFactorial, OfSeveralLevelsComparesEachWithTheFirst) {
  const DesignTable table = full_factorial({{"width", {"64", "128", "256"}}, {"a", {"off", "on"}}});
  EXPECT_EQ(table.cells.size(), 6u);
  std::vector<double> results;
  for (const DesignCell& cell : table.cells) {
    // 128: -0.3 without a, -0.5 with; 256: -0.7; a: 0.1 at 64 and 256.
    const double width = cell[0] == 1 ? -0.3 - 0.2 * static_cast<double>(cell[1]) : cell[0] == 2 ? -0.7 : 0.0;
    results.push_back(3.0 + width + 0.1 * static_cast<double>(cell[1]));
  }
  EXPECT_NEAR(estimate(contrast_of(table, "width=128"), results), -0.4, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "width=256"), results), -0.7, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "a"), results), 0.1 - 0.2 / 3, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "width=128 x a"), results), -0.1, 1e-12) << "half of what a changes";
  EXPECT_NEAR(estimate(contrast_of(table, "width=256 x a"), results), 0.0, 1e-12);
  EXPECT_EQ(table.contrasts.size(), 5u);
}

TEST(FractionalFactorial, HasThePublishedAliases) {
  const DesignTable half = fractional_factorial(toggles(3), fraction_of_runs(3, 4));
  EXPECT_EQ(names_of(contrast_of(half, "a").aliases), (std::vector<std::string>{"b x c"}));
  EXPECT_EQ(names_of(contrast_of(half, "c").aliases), (std::vector<std::string>{"a x b"}));
  EXPECT_EQ(generators_in_words(half), (std::vector<std::string>{"c = a x b"}));
  EXPECT_EQ(defining_relation_in_words(half), (std::vector<std::string>{"a x b x c"}));
  const DesignTable iv = fractional_factorial(toggles(4), fraction_of_runs(4, 8));
  EXPECT_EQ(names_of(contrast_of(iv, "a").aliases), (std::vector<std::string>{"b x c x d"}));
  EXPECT_EQ(names_of(contrast_of(iv, "a x b").aliases), (std::vector<std::string>{"c x d"}));
  EXPECT_EQ(names_of(contrast_of(iv, "a x d").aliases), (std::vector<std::string>{"b x c"}));
  // 2^(5-2), d = ab, e = ac: Box, Hunter and Hunter's table, aliases of up to three factors.
  const DesignTable iii = fractional_factorial(toggles(5), fraction_of_runs(5, 8));
  EXPECT_EQ(names_of(contrast_of(iii, "a").aliases), (std::vector<std::string>{"b x d", "c x e"}));
  EXPECT_EQ(names_of(contrast_of(iii, "b").aliases), (std::vector<std::string>{"a x d", "c x d x e"}));
  EXPECT_EQ(names_of(contrast_of(iii, "b x c").aliases), (std::vector<std::string>{"d x e", "a x b x e", "a x c x d"}));
  EXPECT_EQ(names_of(contrast_of(iii, "b x e").aliases), (std::vector<std::string>{"c x d", "a x b x c", "a x d x e"}));
}

/// Every effect is in exactly one alias set, that of the contrast with which it is confounded, by multiplying signs.
TEST(FractionalFactorial, AliasSetsPartitionAllEffects) {
  for (const auto& [factors, runs] : std::vector<std::pair<std::size_t, std::size_t>>{
           {3, 4}, {4, 8}, {5, 8}, {5, 16}, {6, 8}, {6, 16}, {7, 8}, {7, 16}, {7, 32}, {8, 16}, {8, 32}, {9, 16}}) {
    SCOPED_TRACE(std::to_string(factors) + " in " + std::to_string(runs));
    const DesignTable table = fractional_factorial(toggles(factors), fraction_of_runs(factors, runs));
    EXPECT_EQ(table.cells.size(), runs);
    EXPECT_EQ(table.contrasts.size(), runs - 1);
    EXPECT_TRUE(table.is_orthogonal);
    EXPECT_EQ(std::set<DesignCell>(table.cells.begin(), table.cells.end()).size(), runs);
    std::map<std::string, int> seen;
    for (const Contrast& contrast : table.contrasts) {
      std::vector<std::string> set = names_of(contrast.aliases);
      set.push_back(contrast.effect);
      for (const std::string& effect : set) ++seen[effect];
      for (const Alias& alias : contrast.aliases) EXPECT_DOUBLE_EQ(alias.coefficient, 1.0);
    }
    std::size_t expected = 0;
    for (FactorSet set = 1; set < (FactorSet{1} << factors); ++set) {
      const std::vector<double> results = planted(table, {{set, 1.0}});
      const bool is_constant = std::all_of(results.begin(), results.end(), [&](double y) { return y == results[0]; });
      int answering = 0;
      for (const Contrast& contrast : table.contrasts) {
        const double effect = estimate(contrast, results);
        EXPECT_TRUE(effect == 0.0 || effect == 1.0) << contrast.effect;
        if (effect == 1.0) ++answering;
      }
      EXPECT_EQ(answering, is_constant ? 0 : 1);
      if (std::popcount(set) <= 3 && !is_constant) ++expected;
    }
    std::size_t listed = 0;
    for (const auto& [effect, times] : seen) {
      EXPECT_EQ(times, 1) << effect;
      if (std::count(effect.begin(), effect.end(), 'x') <= 2) ++listed;
    }
    EXPECT_EQ(listed, expected);
  }
}

TEST(FractionalFactorial, ColumnsAreOrthogonalAndTheLastLevelsAreACell) {
  const DesignTable table = fractional_factorial(toggles(11), fraction_of_runs(11, 32));
  for (const Contrast& a : table.contrasts) {
    double sum = 0.0;
    for (const double value : a.coefficients) {
      EXPECT_EQ(std::abs(value), 2.0 / 32);
      sum += value;
    }
    EXPECT_EQ(sum, 0.0);
    for (const Contrast& b : table.contrasts) {
      double product = 0.0;
      for (std::size_t i = 0; i < table.cells.size(); ++i) product += a.coefficients[i] * b.coefficients[i];
      EXPECT_EQ(product, &a == &b ? 4.0 / 32 : 0.0) << a.effect << " and " << b.effect;
    }
  }
  EXPECT_EQ(std::count(table.cells.begin(), table.cells.end(), DesignCell(11, 1)), 1);
}

TEST(FractionalFactorial, ManyFactorsFitIntoFewRuns) {
  const DesignTable table = fractional_factorial(toggles(20), fraction_of_resolution(20, 4));
  EXPECT_EQ(table.cells.size(), 64u);
  EXPECT_EQ(table.contrasts.size(), 63u);
  const std::vector<double> results = planted(table, {{1u << 19, 0.5}, {1u << 3, -0.25}});
  EXPECT_EQ(estimate(contrast_of(table, "t"), results), 0.5);
  EXPECT_EQ(estimate(contrast_of(table, "d"), results), -0.25);
  EXPECT_EQ(estimate(contrast_of(table, "a"), results), 0.0);
  for (const Alias& alias : contrast_of(table, "a").aliases) EXPECT_GT(alias.term.parts.size(), 2u);
}

TEST(OneAtATime, ComparesEachCellWithTheFirst) {
  std::vector<Factor> factors = {{"a", {"off", "on"}}, {"b", {"new", "old"}, true}, {"c", {"1", "2", "3"}}};
  const DesignTable table = one_at_a_time(factors);
  EXPECT_EQ(table.cells, (std::vector<DesignCell>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 2}}));
  EXPECT_EQ(contrast_of(table, "a").coefficients, (std::vector<double>{-1, 1, 0, 0, 0}));
  EXPECT_EQ(contrast_of(table, "b").coefficients, (std::vector<double>{1, 0, -1, 0, 0})) << "new against old";
  EXPECT_EQ(contrast_of(table, "c=3").coefficients, (std::vector<double>{-1, 0, 0, 0, 1}));
  EXPECT_EQ(contrast_of(table, "b").kind, ContrastKind::kSimple);
  EXPECT_NE(contrast_of(table, "b").meaning.find("b: new against old"), std::string::npos);
}

TEST(AllPairs, SeparatesTheInteractionFromTheTwo) {
  std::vector<Factor> factors = toggles(3);
  factors[2].is_reversed = true;
  const DesignTable table = all_pairs(factors);
  ASSERT_EQ(table.cells.size(), 7u);
  std::vector<double> results;
  for (const DesignCell& cell : table.cells) {
    const double a = cell[0] == 1 ? 1 : 0;
    const double b = cell[1] == 1 ? 1 : 0;
    const double c = cell[2] == 0 ? 1 : 0;  // reversed: on at the first level
    results.push_back(3 - 0.1 * a - 0.2 * b + 0.4 * c + 0.01 * a * b + 0.02 * b * c);
  }
  EXPECT_NEAR(estimate(contrast_of(table, "a"), results), -0.1, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "b"), results), -0.18, 1e-12) << "in the company of c";
  EXPECT_NEAR(estimate(contrast_of(table, "c"), results), 0.4, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "a x b"), results), 0.01, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "a x c"), results), 0.0, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(table, "b x c"), results), 0.02, 1e-12);
  EXPECT_THROW(all_pairs({{"w", {"1", "2", "3"}}}), core::Error);
}

TEST(Ladder, ComparesEachStepWithTheOneBefore) {
  const DesignTable table = ladder({"record", {"record12", "record13", "record14"}});
  ASSERT_EQ(table.contrasts.size(), 2u);
  EXPECT_EQ(table.contrasts[1].coefficients, (std::vector<double>{0, -1, 1}));
  EXPECT_EQ(table.contrasts[1].effect, "record14");
}

TEST(Replicas, AreNoise) {
  const DesignTable table = replicas({"arm", {"A", "B", "C"}});
  ASSERT_EQ(table.contrasts.size(), 2u);
  EXPECT_EQ(table.contrasts[1].kind, ContrastKind::kNoise);
  EXPECT_EQ(table.contrasts[1].effect, "C against A");
  EXPECT_EQ(table.contrasts[1].coefficients, (std::vector<double>{-1, 0, 1}));
}

TEST(WithoutCells, KeepsWhatTheRestTellsApart) {
  // a and b exclude each other: no cell has both, so their interaction and all above it cannot be seen.
  const DesignTable whole = full_factorial(toggles(3));
  std::vector<bool> is_lost;
  for (const DesignCell& cell : whole.cells) is_lost.push_back(cell[0] == 1 && cell[1] == 1);
  const DesignTable rest = without_cells(whole, is_lost);
  EXPECT_EQ(rest.cells.size(), 6u);
  EXPECT_FALSE(rest.is_orthogonal);
  EXPECT_EQ(rest.not_estimable, (std::vector<std::string>{"a x b"}));
  for (const char* effect : {"a", "b", "c", "a x c", "b x c"}) EXPECT_TRUE(has_contrast(rest, effect)) << effect;
  EXPECT_FALSE(has_contrast(rest, "a x b x c"));
  const std::vector<double> results = planted(rest, {{1, -0.5}, {2, 0.25}, {4, 0.125}, {5, 0.0625}, {6, -2.0}});
  EXPECT_NEAR(estimate(contrast_of(rest, "a"), results), -0.5, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(rest, "b"), results), 0.25, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(rest, "c"), results), 0.125, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(rest, "a x c"), results), 0.0625, 1e-12);
  EXPECT_NEAR(estimate(contrast_of(rest, "b x c"), results), -2.0, 1e-12);
}

/// What an interaction that cannot be seen does to the others is what their aliases say.
TEST(WithoutCells, AliasesSayWhatTheUnseenDoes) {
  const DesignTable whole = fractional_factorial(toggles(5), fraction_of_runs(5, 16));
  std::vector<bool> is_lost(whole.cells.size(), false);
  is_lost[3] = is_lost[9] = is_lost[10] = true;
  const DesignTable rest = without_cells(whole, is_lost);
  EXPECT_EQ(rest.contrasts.size(), 12u);
  for (FactorSet set = 1; set < 32; ++set) {
    if (std::popcount(set) > 3) continue;
    const std::vector<double> results = planted(rest, {{set, 1.0}});
    for (const Contrast& contrast : rest.contrasts) {
      double expected = 0.0;
      const auto is_set = [&](const EffectTerm& term) {
        FactorSet own = 0;
        for (const EffectTerm::Part& part : term.parts) own |= FactorSet{1} << part.factor;
        return own == set;
      };
      if (is_set(contrast.term)) expected = 1.0;
      for (const Alias& alias : contrast.aliases) {
        if (is_set(alias.term)) expected = alias.coefficient;
      }
      EXPECT_NEAR(estimate(contrast, results), expected, 1e-9) << contrast.effect << " and set " << set;
    }
  }
}

TEST(WithoutCells, ASimpleEffectThatNeedsALostCellIsGone) {
  const DesignTable whole = all_pairs(toggles(3));
  std::vector<bool> is_lost(whole.cells.size(), false);
  is_lost[4] = true;  // a and b together
  const DesignTable rest = without_cells(whole, is_lost);
  EXPECT_EQ(rest.not_estimable, (std::vector<std::string>{"a x b"}));
  EXPECT_EQ(rest.contrasts.size(), 5u);
  EXPECT_EQ(contrast_of(rest, "b x c").coefficients.size(), 6u);
}

}  // namespace
}  // namespace nanobench::ablations
