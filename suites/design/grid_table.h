/// What all designs that combine levels share, whoever runs the cells (internal to suites): the table of combinations,
/// the cells' labels, what is to be said of them. Pure.
#pragma once

#include <string>
#include <vector>

#include "ablations/design.h"
#include "core/base/message.h"
#include "suites/design/suite.h"

namespace nanobench::suites {

/// More would be a mistake: each cell is trained once per seed.
inline constexpr std::size_t kMaxCells = 512;

/// One factor of such a design.
struct GridAxis {
  ablations::Factor factor;
  bool is_toggle = false;  ///< its name alone says that it is at its second level
  std::string pair_word;   ///< in pairs, what a cell at its second level is called: "without rotary"
};

/// Throws Error{kInvalidArgument} when there are too few factors for the suite's design or too many combinations, with
/// what to do.
void require_factors(const Suite& suite, std::size_t count);
ablations::DesignTable grid_table(const Suite& suite, const std::vector<GridAxis>& axes);

/// "rotary + qk_norm", "lr=0.1, width=64", "+-+"; in pairs "without rotary", and `base` for the first.
std::string grid_label(const Suite& suite, const std::vector<GridAxis>& axes, const ablations::DesignCell& cell,
                       const std::string& base);
/// "lr=0.1"
std::string assignment(const GridAxis& axis, std::size_t level);

/// What the signs in the labels are, which fraction it is.
std::vector<core::Message> grid_notes(const Suite& suite, const std::vector<GridAxis>& axes,
                                      const ablations::DesignTable& table);

}  // namespace nanobench::suites
