/// Which stored results a gate compares with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reports/gate/arm.h"

namespace nanobench::tools {

/// What a gate was asked to compare with.
struct BaselineRequest {
  std::string name;    ///< of a stored baseline, or a file (baseline or database); empty: see find_baseline
  std::string branch;  ///< for the merge base; empty: the usual names
  std::string suite;
  std::filesystem::path folder;  ///< in the repository of what is measured; empty: the working folder
};

/// A baseline, or one sentence that says why there is none.
struct FoundBaseline {
  std::optional<reports::Arm> arm;
  std::optional<std::int64_t> plan_id;  ///< of the same store
  std::string how;                      ///< "baseline main (saved 2026-...)", or why there is none and what to do
};

/// By name or file; without one, the stored baseline whose revision is nearest to the merge base among its ancestors,
/// else the newest accepted one of the suite. Throws Error for a file that cannot be read.
FoundBaseline find_baseline(const results::Store& store, const BaselineRequest& request);

}  // namespace nanobench::tools
