/// What a gate compares with and how it judges: the stored baseline that a request names, and the policy from a file
/// and the command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/arm.h"
#include "reports/gate/gate_policy.h"

namespace CLI {
class App;
}

namespace nanobench::tools {

struct GatePolicyOptions {
  std::string file;
  std::vector<std::string> margins;  ///< "loss=0.002"
  std::string only;                  ///< "loss,cost": the metrics that gate
  std::optional<double> alpha;
  std::optional<int> min_runs;
};

void add_gate_policy_options(CLI::App& command, GatePolicyOptions& options);

/// The policy of the file, or the default one, with the options of the command line on top. Throws
/// Error{kInvalidArgument}.
reports::GatePolicy policy_of(const GatePolicyOptions& options);

/// The baseline requested for a gate.
struct BaselineRequest {
  std::string name;    ///< a stored baseline, or a file (baseline or database); empty: see find_baseline
  std::string branch;  ///< for the merge base; empty: the names that merge_base() tries
  std::string suite;
  std::filesystem::path folder;  ///< a folder in the repository of the measured sources; empty: the working folder
};

/// A baseline, or one sentence with the reason why there is none.
struct FoundBaseline {
  std::optional<reports::Arm> arm;
  std::optional<std::int64_t> plan_id;  ///< id in the same store
  std::string how;                      ///< "baseline main (saved 2026-...)", or why there is none and what to do
};

/// By name or file; without one, the stored baseline whose revision is nearest to the merge base among its ancestors,
/// else the newest accepted one of the suite. Throws Error for a file that cannot be read.
FoundBaseline find_baseline(const results::Store& store, const BaselineRequest& request);

}  // namespace nanobench::tools
