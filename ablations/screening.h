/// Screening designs: many factors, few cells, each with some of the factors at their second level. No effect is
/// estimated without the others' company, so such a design finds suspects and proves nothing. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ablations/design.h"

namespace nanobench::ablations {

/// Share of the factors at their second level, on average over the cells after the first. Simulated with 40 factors
/// (tests/reports/stats/screening_test.cpp): shares from 0.15 to 0.5 find equally many; a quarter stays closer to the
/// base.
inline constexpr double kScreeningShare = 0.25;
/// Cells for each factor, unless a number is asked for.
inline constexpr double kScreeningCellsPerFactor = 1.5;

/// `cell` with `factor` at its second level too, and whatever that takes along; nullopt if there is no such cell.
using TurnFactor = std::function<std::optional<DesignCell>(const DesignCell& cell, std::size_t factor)>;

/// The number of cells for so many factors, the first included.
std::size_t screening_size(std::size_t factors);

/// The first levels, then distinct random cells in which every factor is at its second level about equally often, as
/// far as `turn` allows; always the same ones for the same arguments. Fewer than `cells` if there are not so many.
std::vector<DesignCell> screening_cells(std::size_t factors, std::size_t cells, const TurnFactor& turn);

}  // namespace nanobench::ablations
