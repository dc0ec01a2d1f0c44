/// Whether a difference of times is of what the cells differ in, or also of the code that computed them: the engine has
/// kernels for the settings that the records ended with, and computes some others by operations
/// (engine/train/engine_facts.h). Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"

namespace nanobench::reports {

/// A cell and what it counts for in a difference.
struct WeightedCell {
  const CellMeasures* cell = nullptr;
  double weight = 0.0;
};

/// The parts of a step for which the cells on one side of the difference lack a kernel more than
/// those on the other side; empty: there are none, or the engine did not tell of every cell.
core::StepParts parts_without_kernel(const std::vector<WeightedCell>& difference);

/// The same of two runs, by what their engines said (results::RunRecord::no_kernel_for).
core::StepParts parts_of_one_alone(const std::optional<core::StepParts>& a, const std::optional<core::StepParts>& b);

/// How to have such times compared.
inline constexpr const char* kSameCodeRemedy = "run with --kernels reference to compare operations with operations";

/// Why a difference of times decides nothing. REQUIRES parts.
std::string different_code(const core::StepParts& parts);

/// One warning for all rows that are set against a row of other code.
void add_code_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
