#include "suites/design/grid_table.h"

#include <algorithm>

#include "ablations/screening.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::DesignCell;
using ablations::DesignTable;
using core::Error;
using core::ErrorCode;

constexpr std::size_t kMaxNamedFactors = 4;  ///< with more, labels use signs, because names would fill the row

bool are_toggles(const std::vector<GridAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const GridAxis& axis) { return axis.is_toggle; });
}

void require_at_most(std::size_t cells) {
  if (cells <= kMaxCells) return;
  throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kTooManyCells,
                      "all combinations are " + std::string(cells >= kMaxCells * 1000 ? "more than " : "") +
                          std::to_string(cells) + " cells, and a suite has at most " + std::to_string(kMaxCells) +
                          "; take fewer of them, or the design \"fractional_factorial\"",
                      std::to_string(cells));
}

std::string pair_label(const std::vector<GridAxis>& axes, const DesignCell& cell, const std::string& base) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != 0) words.push_back(axes[i].pair_word);
  }
  return words.empty() ? base : joined(words);
}

std::string signs_note(const std::vector<GridAxis>& axes) {
  std::vector<std::string> names;
  for (const GridAxis& axis : axes)
    names.push_back(axis.factor.name + " (- " + axis.factor.levels[0] + ", + " + axis.factor.levels[1] + ")");
  return "the signs in a row's name are, in order: " + joined(names);
}

const char* resolution_meaning(int resolution) {
  switch (resolution) {
    case 3: return " (effects of single features are aliased with interactions of two)";
    case 4: return " (effects of single features are clear of interactions of two, which are aliased with each other)";
    default: return " (effects of single features and interactions of two are clear of each other)";
  }
}

std::string fraction_note(const DesignTable& table) {
  const ablations::Fraction& fraction = *table.fraction;
  std::string text = "a fraction of " + std::to_string(fraction.runs()) + " of the 2^" +
                     std::to_string(fraction.factors) + " combinations, of resolution " +
                     ablations::roman(*fraction.resolution) + resolution_meaning(*fraction.resolution);
  for (const std::string& generator : ablations::generators_in_words(table)) text += "; " + generator;
  if (!fraction.is_proven_best) text += "; a better one may exist, not all were tried";
  return text;
}

/// Empty if there are too many words to read.
std::string relation_note(const DesignTable& table) {
  constexpr std::size_t kMaxWords = 31;
  const std::vector<std::string> words = ablations::defining_relation_in_words(table);
  if (words.empty() || words.size() > kMaxWords) return "";
  std::string relation = "I";
  for (const std::string& word : words) relation += " = " + word;
  return "its defining relation: " + relation;
}

}  // namespace

void require_factors(const Suite& suite, std::size_t count) {
  const std::size_t least = suite.design == Design::kPairs ? 2 : 1;
  if (count >= least) return;
  throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kTooFewFeatures,
                      "the design \"" + enum_name(suite.design) + "\" needs at least " + std::to_string(least) +
                          (least == 1 ? " feature" : " features") + " that can be changed in the base, and there are " +
                          std::to_string(count),
                      std::to_string(least));
}

std::size_t screening_cells_of(const Suite& suite, std::size_t features) {
  return suite.runs ? static_cast<std::size_t>(*suite.runs) : ablations::screening_size(features);
}

std::string screening_label(std::size_t number) {
  return "screen " + std::to_string(number);
}

DesignTable grid_table(const Suite& suite, const std::vector<GridAxis>& axes) {
  std::vector<ablations::Factor> factors;
  for (const GridAxis& axis : axes) factors.push_back(axis.factor);
  if (suite.design == Design::kFractionalFactorial) {
    return ablations::fractional_factorial(
        factors,
        suite.runs ? ablations::fraction_of_runs(factors.size(), static_cast<std::size_t>(*suite.runs))
                   : ablations::fraction_of_resolution(factors.size(), static_cast<int>(suite.resolution.value_or(4))));
  }
  if (suite.design == Design::kPairs) {
    require_at_most(1 + factors.size() * (factors.size() + 1) / 2);
    return ablations::all_pairs(factors);
  }
  std::size_t cells = 1;
  for (const ablations::Factor& factor : factors) cells = std::min(cells * factor.levels.size(), kMaxCells * 1000);
  require_at_most(cells);
  return factors.size() == 1 ? ablations::one_at_a_time(factors) : ablations::full_factorial(factors);
}

std::string assignment(const GridAxis& axis, std::size_t level) {
  return axis.factor.name + "=" + axis.factor.levels[level];
}

std::string grid_label(const Suite& suite, const std::vector<GridAxis>& axes, const DesignCell& cell,
                       const std::string& base) {
  if (suite.design == Design::kPairs) return pair_label(axes, cell, base);
  const bool has_signs = are_toggles(axes) && cell.size() > kMaxNamedFactors;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (!are_toggles(axes)) {
      words.push_back(assignment(axes[i], cell[i]));
    } else if (has_signs) {
      words.emplace_back(cell[i] == 1 ? "+" : "-");
    } else if (cell[i] == 1) {
      words.push_back(axes[i].factor.name);
    }
  }
  return words.empty() ? "none" : joined(words, has_signs ? "" : are_toggles(axes) ? " + " : ", ");
}

std::vector<core::Message> leave_out(DesignTable& table, const std::vector<bool>& is_lost, const LostCells& lost) {
  std::vector<core::Message> messages;
  if (lost.empty()) return messages;
  for (const auto& [reason, labels] : lost) messages.push_back(left_out_cells(labels, table.cells.size(), reason));
  table = ablations::without_cells(table, is_lost);
  if (table.cells.size() < 2) {
    throw core::Refusal(ErrorCode::kConflict, core::Reason::kExcluded,
                        "of the combinations " + std::string(table.cells.empty() ? "none" : "only one") +
                            " is possible: " + lost.begin()->first);
  }
  if (!table.not_estimable.empty()) messages.push_back(not_estimable(table.not_estimable));
  return messages;
}

std::vector<core::Message> grid_notes(const Suite& suite, const std::vector<GridAxis>& axes, const DesignTable& table) {
  std::vector<core::Message> notes;
  const auto add = [&](const std::string& text) { notes.push_back({core::MessageKind::kDesign, "", text}); };
  if (are_toggles(axes) && axes.size() > kMaxNamedFactors && suite.design != Design::kPairs) add(signs_note(axes));
  if (!table.fraction) return notes;
  if (table.fraction->is_whole()) {
    add("so many runs are the whole factorial: nothing is aliased");
    return notes;
  }
  add(fraction_note(table));
  if (const std::string relation = relation_note(table); !relation.empty()) add(relation);
  return notes;
}

}  // namespace nanobench::suites
