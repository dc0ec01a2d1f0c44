/// Determines whether a difference of times comes from the cells' settings alone, or also from the code that ran them.
/// The engine has kernels for the settings of the latest records, and computes some others by single operations
/// (engine/train/engine_facts.h). Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"

namespace nanobench::reports {

/// A cell and its weight in a difference.
struct WeightedCell {
  const CellMeasures* cell = nullptr;
  double weight = 0.0;
};

/// The parts of a step for which the cells on one side of the difference lack a kernel while those on the other side
/// have one. Empty if there are none, or if the engine did not report them for every cell.
core::StepParts parts_without_kernel(const std::vector<WeightedCell>& difference);

/// The same for two runs, from their engines' reports (results::RunRecord::no_kernel_for).
core::StepParts parts_of_one_alone(const std::optional<core::StepParts>& a, const std::optional<core::StepParts>& b);

/// The way to make such times comparable.
inline constexpr const char* kSameCodeRemedy = "run with --kernels reference to compare operations with operations";

/// Explains why a difference of times decides nothing. REQUIRES parts.
std::string different_code(const core::StepParts& parts);

/// Adds one warning for all rows that are compared with a row that ran different code.
void add_code_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
