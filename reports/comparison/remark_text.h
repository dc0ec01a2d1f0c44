/// The wording of what is said beside a comparison. Pure, thread-safe. Texts hold stored names: escape them when
/// printing.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison/remark.h"

namespace nanobench::reports {

/// One or more whole sentences; of many rows or runs the first few are named.
std::string text_of(const Remark& remark);
std::vector<std::string> texts_of(const std::vector<Remark>& remarks);

/// "seeds 2, 3 crashed: signal 11"
std::string text_of(const FailedRuns& failed);

/// "the final loss of the first row, record12 (mean of 2)"; empty for kNone.
std::string text_of(const TargetSource& source);

/// The way to make times of different code comparable.
inline constexpr const char* kSameCodeRemedy = "run with --kernels reference to compare operations with operations";

/// Explains why a difference of times of different code decides nothing. REQUIRES parts.
std::string different_code(const core::StepParts& parts);

}  // namespace nanobench::reports
