// The designs whose cells combine levels: factorial, fractional_factorial, sweep and pairs.
#include <algorithm>
#include <map>

#include "suites/grid_factors.h"
#include "suites/matrix_builder.h"

namespace nanobench::suites {
namespace {

using ablations::DesignCell;
using ablations::DesignTable;
using ablations::Resolved;
using core::Error;
using core::ErrorCode;

constexpr std::size_t kMostNamedFactors = 4;  ///< of more, a label of names would fill the row: signs then

class Grid {
 public:
  explicit Grid(MatrixBuilder& builder)
      : builder_(builder), suite_(builder.suite()), grid_(builder), factors_(grid_.factors()) {}

  void add() {
    require_factors();
    DesignTable table = make_table();
    add_cells(table);
    builder_.add_contrasts(table);
    describe(table);
  }

 private:
  void require_factors() {
    builder_.at(suite_.design == Design::kSweep ? "/axes" : "/features");
    const std::size_t least = suite_.design == Design::kPairs ? 2 : 1;
    if (factors_.size() >= least) return;
    throw Error(ErrorCode::kInvalidArgument, "the design \"" + to_string(suite_.design) + "\" needs at least " +
                                                 std::to_string(least) + (least == 1 ? " feature" : " features") +
                                                 " that can be changed in the base, and there are " +
                                                 std::to_string(factors_.size()));
  }

  std::vector<ablations::Factor> design_factors() const {
    std::vector<ablations::Factor> factors;
    for (const GridFactor& factor : factors_) factors.push_back(factor.factor);
    return factors;
  }

  DesignTable make_table() const {
    const std::vector<ablations::Factor> factors = design_factors();
    if (suite_.design == Design::kFractionalFactorial) {
      if (suite_.runs) builder_.at("/runs");
      if (suite_.resolution) builder_.at("/resolution");
      return ablations::fractional_factorial(
          factors, suite_.runs ? ablations::fraction_of_runs(factors.size(), static_cast<std::size_t>(*suite_.runs))
                               : ablations::fraction_of_resolution(factors.size(),
                                                                   static_cast<int>(suite_.resolution.value_or(4))));
    }
    if (suite_.design == Design::kPairs) {
      require_at_most(1 + factors.size() * (factors.size() + 1) / 2);
      return ablations::all_pairs(factors);
    }
    std::size_t cells = 1;
    for (const ablations::Factor& factor : factors) cells = std::min(cells * factor.levels.size(), kMostCells * 1000);
    require_at_most(cells);
    if (factors.size() == 1) return ablations::one_at_a_time(factors);
    return ablations::full_factorial(factors);
  }

  void require_at_most(std::size_t cells) const {
    if (cells <= kMostCells) return;
    throw Error(ErrorCode::kInvalidArgument,
                "all combinations are " + std::string(cells >= kMostCells * 1000 ? "more than " : "") +
                    std::to_string(cells) + " cells, and a suite has at most " + std::to_string(kMostCells) +
                    "; take fewer of them, or the design \"fractional_factorial\"");
  }

  /// Resolves every cell; those that exclude each other are lost, and the table is made anew without them.
  void add_cells(DesignTable& table) {
    std::vector<bool> is_lost;
    for (const DesignCell& cell : table.cells) is_lost.push_back(!add_cell(cell));
    if (lost_.empty()) return;
    say_lost(table.cells.size());
    table = ablations::without_cells(table, is_lost);
    if (table.cells.size() < 2) {
      throw Error(ErrorCode::kConflict, "of the combinations " +
                                            std::string(table.cells.empty() ? "none" : "only one") +
                                            " is possible: " + lost_.begin()->first);
    }
    if (table.not_estimable.empty()) return;
    std::string text;
    for (const std::string& effect : table.not_estimable) text += (text.empty() ? "" : ", ") + effect;
    builder_.note(
        "without the combinations left out these effects cannot be told from the others, which hold if they "
        "are zero: " +
        text);
  }

  /// False, with the reason kept, when the combination is not possible.
  bool add_cell(const DesignCell& cell) {
    CellSettings settings;
    for (std::size_t i = 0; i < factors_.size(); ++i) grid_.set_level(settings, factors_[i], cell[i]);
    const std::string label = label_of(cell);
    std::string reason;
    try {
      const Resolved resolved = grid_.resolve(settings);
      reason = grid_.displaced(cell, resolved);
      if (reason.empty()) {
        builder_.note_twin(label, resolved);
        builder_.add_cell(label, suite_.base_record, resolved, changed_in(cell));
        return true;
      }
    } catch (const Error& error) {
      const bool is_combination = error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kUnavailable ||
                                  error.code() == ErrorCode::kInvalidArgument;
      if (!is_combination) throw;
      reason = error.what();
    }
    lost_[reason].push_back(label);
    return false;
  }

  void say_lost(std::size_t cells) {
    constexpr std::size_t kMostNamed = 8;
    for (const auto& [reason, labels] : lost_) {
      std::string text;
      for (std::size_t i = 0; i < std::min(labels.size(), kMostNamed); ++i) text += (i == 0 ? "" : "; ") + labels[i];
      if (labels.size() > kMostNamed) text += "; and " + std::to_string(labels.size() - kMostNamed) + " more";
      builder_.note(std::to_string(labels.size()) + " of " + std::to_string(cells) + " cells left out, " + reason +
                    ": " + text);
    }
  }

  std::string assignment(std::size_t factor, std::size_t level) const {
    return factors_[factor].factor.name + "=" + factors_[factor].factor.levels[level];
  }

  std::string label_of(const DesignCell& cell) const {
    if (suite_.design == Design::kPairs) return pair_label(cell);
    std::string text;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      if (!are_toggles()) {
        text += (text.empty() ? "" : ", ") + assignment(i, cell[i]);
      } else if (cell.size() > kMostNamedFactors) {
        text += cell[i] == 1 ? "+" : "-";
      } else if (cell[i] == 1) {
        text += (text.empty() ? "" : " + ") + factors_[i].factor.name;
      }
    }
    return text.empty() ? "none" : text;
  }

  std::string pair_label(const DesignCell& cell) const {
    std::string text;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      if (cell[i] == 0) continue;
      const GridFactor& factor = factors_[i];
      const ablations::Feature& feature = builder_.catalogue().feature(factor.feature);
      const std::string& value = factor.factor.levels[1];
      text += text.empty() ? "" : ", ";
      text += value == feature.before  ? "without " + factor.factor.name
              : value == feature.after ? "with " + factor.factor.name
                                       : assignment(i, 1);
    }
    return text.empty() ? suite_.base_record : text;
  }

  /// Against the base.
  std::string changed_in(const DesignCell& cell) const {
    std::string text;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const auto now = grid_.base().effective.find(factors_[i].feature);
      if (now != grid_.base().effective.end() && now->second == factors_[i].factor.levels[cell[i]]) continue;
      text += (text.empty() ? "" : ", ") + assignment(i, cell[i]);
    }
    return text.empty() ? "the base" : text;
  }

  bool are_toggles() const {
    return std::all_of(factors_.begin(), factors_.end(), [](const GridFactor& factor) { return factor.is_toggle; });
  }

  /// What the signs in the labels are, which fraction it is.
  void describe(const DesignTable& table) {
    if (are_toggles() && factors_.size() > kMostNamedFactors && suite_.design != Design::kPairs) describe_signs();
    if (!table.fraction) return;
    const ablations::Fraction& fraction = *table.fraction;
    if (fraction.is_whole()) return builder_.note("so many runs are the whole factorial: nothing is aliased");
    std::string text = "a fraction of " + std::to_string(fraction.runs()) + " of the 2^" +
                       std::to_string(fraction.factors) + " combinations, of resolution " +
                       ablations::roman(*fraction.resolution) + resolution_meaning(*fraction.resolution);
    for (const std::string& generator : ablations::generators_in_words(table)) text += "; " + generator;
    if (!fraction.is_proven_best) text += "; a better one may exist, not all were tried";
    builder_.note(text);
    describe_relation(table);
  }

  void describe_signs() {
    std::string names;
    for (const GridFactor& factor : factors_) {
      names += (names.empty() ? "" : ", ") + factor.factor.name + " (- " + factor.factor.levels[0] + ", + " +
               factor.factor.levels[1] + ")";
    }
    builder_.note("the signs in a row's name are, in order: " + names);
  }

  void describe_relation(const DesignTable& table) {
    constexpr std::size_t kMostWords = 31;
    const std::vector<std::string> words = ablations::defining_relation_in_words(table);
    if (words.empty() || words.size() > kMostWords) return;
    std::string relation = "I";
    for (const std::string& word : words) relation += " = " + word;
    builder_.note("its defining relation: " + relation);
  }

  static const char* resolution_meaning(int resolution) {
    switch (resolution) {
      case 3: return " (effects of single features are aliased with interactions of two)";
      case 4:
        return " (effects of single features are clear of interactions of two, which are aliased with each other)";
      default: return " (effects of single features and interactions of two are clear of each other)";
    }
  }

  MatrixBuilder& builder_;
  const Suite& suite_;
  const GridFactors grid_;
  const std::vector<GridFactor>& factors_;
  std::map<std::string, std::vector<std::string>> lost_;  ///< labels by reason
};

}  // namespace

void add_grid(MatrixBuilder& builder) {
  Grid(builder).add();
}

}  // namespace nanobench::suites
