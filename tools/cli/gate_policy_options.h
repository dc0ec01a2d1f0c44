/// A gate's policy from a file and from the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/gate/gate_policy.h"

namespace CLI {
class App;
}

namespace nanobench::tools {

struct GatePolicyOptions {
  std::string file;
  std::vector<std::string> margins;  ///< "loss=0.002"
  std::string only;                  ///< "loss,cost": what gates
  std::optional<double> alpha;
  std::optional<int> least_runs;
};

void add_gate_policy_options(CLI::App& command, GatePolicyOptions& options);

/// The file's policy, or the usual one, with what the command line says on top. Throws Error{kInvalidArgument}.
reports::GatePolicy policy_of(const GatePolicyOptions& options);

}  // namespace nanobench::tools
