// The designs whose cells combine levels: factorial, fractional_factorial, sweep and pairs.
#include <algorithm>
#include <map>

#include "suites/design/grid_factors.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::DesignCell;
using ablations::DesignTable;
using ablations::Resolved;
using core::Error;
using core::ErrorCode;

class Grid {
 public:
  explicit Grid(MatrixBuilder& builder)
      : builder_(builder),
        suite_(builder.suite()),
        grid_(builder),
        factors_(grid_.factors()),
        axes_(factors_.begin(), factors_.end()) {}

  void add() {
    builder_.at(suite_.design == Design::kSweep ? "/axes" : "/features");
    require_factors(suite_, factors_.size());
    DesignTable table = make_table();
    add_cells(table);
    builder_.add_contrasts(table);
    for (const core::Message& note : grid_notes(suite_, axes_, table)) builder_.note(note);
  }

 private:
  DesignTable make_table() const {
    if (suite_.runs) builder_.at("/runs");
    if (suite_.resolution) builder_.at("/resolution");
    return grid_table(suite_, axes_);
  }

  /// Resolves every cell; those that exclude each other are lost, and the table is made anew without them.
  void add_cells(DesignTable& table) {
    std::vector<bool> is_lost;
    for (const DesignCell& cell : table.cells) is_lost.push_back(!add_cell(cell));
    if (lost_.empty()) return;
    for (const auto& [reason, labels] : lost_) builder_.note(left_out_cells(labels, table.cells.size(), reason));
    table = ablations::without_cells(table, is_lost);
    if (table.cells.size() < 2) {
      throw Error(ErrorCode::kConflict, "of the combinations " +
                                            std::string(table.cells.empty() ? "none" : "only one") +
                                            " is possible: " + lost_.begin()->first);
    }
    if (!table.not_estimable.empty()) builder_.note(not_estimable(table.not_estimable));
  }

  /// False, with the reason kept, when the combination is not possible.
  bool add_cell(const DesignCell& cell) {
    CellSettings settings;
    for (std::size_t i = 0; i < factors_.size(); ++i) grid_.set_level(settings, factors_[i], cell[i]);
    const std::string label = grid_label(suite_, axes_, cell, suite_.base_record);
    std::string reason;
    try {
      const Resolved resolved = grid_.resolve(settings);
      const std::optional<Displacement> displaced = grid_.displaced(cell, resolved);
      if (!displaced) {
        builder_.note_twin(label, resolved);
        builder_.add_cell(label, suite_.base_record, resolved, changed_in(cell));
        return true;
      }
      reason = reason_of(*displaced);
    } catch (const Error& error) {
      const bool is_combination = error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kUnavailable ||
                                  error.code() == ErrorCode::kInvalidArgument;
      if (!is_combination) throw;
      reason = error.what();
    }
    lost_[reason].push_back(label);
    return false;
  }

  /// Against the base.
  std::string changed_in(const DesignCell& cell) const {
    std::string text;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const auto now = grid_.base().effective.find(factors_[i].feature);
      if (now != grid_.base().effective.end() && now->second == factors_[i].factor.levels[cell[i]]) continue;
      text += (text.empty() ? "" : ", ") + assignment(axes_[i], cell[i]);
    }
    return text.empty() ? "the base" : text;
  }

  MatrixBuilder& builder_;
  const Suite& suite_;
  const GridFactors grid_;
  const std::vector<GridFactor>& factors_;
  const std::vector<GridAxis> axes_;                      ///< the same
  std::map<std::string, std::vector<std::string>> lost_;  ///< labels by reason
};

}  // namespace

void add_grid(MatrixBuilder& builder) {
  Grid(builder).add();
}

}  // namespace nanobench::suites
