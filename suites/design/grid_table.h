/// Shared by all designs that combine levels, whichever engine runs the cells (internal to suites): the table of
/// combinations, the cells' labels and the notes about them. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ablations/design.h"
#include "core/base/message.h"
#include "suites/design/suite.h"

namespace nanobench::suites {

/// Asking for more is surely a mistake: each cell is trained once per seed.
inline constexpr std::size_t kMaxCells = 512;

/// Fewer cells of a screening show nothing.
inline constexpr std::int64_t kMinScreeningCells = 4;

/// One factor of such a design.
struct GridAxis {
  ablations::Factor factor;
  bool is_toggle = false;  ///< its bare name means its second level
  std::string pair_word;   ///< in pairs, the name of a cell at its second level: "without rotary"
};

/// Throws Error{kInvalidArgument} if there are too few factors for the suite's design or too many combinations; the
/// message suggests a remedy.
void require_factors(const Suite& suite, std::size_t count);
ablations::DesignTable grid_table(const Suite& suite, const std::vector<GridAxis>& axes);

/// Cells of a screening of so many features: the suite's number, or as many as are advised.
std::size_t screening_cells_of(const Suite& suite, std::size_t features);
/// "screen 3"
std::string screening_label(std::size_t number);

/// "rotary + qk_norm", "lr=0.1, width=64", "+-+"; in pairs "without rotary"; `base` for the first cell.
std::string grid_label(const Suite& suite, const std::vector<GridAxis>& axes, const ablations::DesignCell& cell,
                       const std::string& base);
/// "lr=0.1"
std::string assignment(const GridAxis& axis, std::size_t level);

/// Cells that are not possible: labels by reason.
using LostCells = std::map<std::string, std::vector<std::string>>;
/// Takes them out of the table, and says so. Throws Error{kConflict} if less than two cells remain.
std::vector<core::Message> leave_out(ablations::DesignTable& table, const std::vector<bool>& is_lost,
                                     const LostCells& lost);

/// Explains the signs in the labels and which fraction is used.
std::vector<core::Message> grid_notes(const Suite& suite, const std::vector<GridAxis>& axes,
                                      const ablations::DesignTable& table);

}  // namespace nanobench::suites
