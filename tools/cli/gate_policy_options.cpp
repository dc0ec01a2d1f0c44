#include "tools/cli/gate_policy_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/base/error.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using reports::GateMetric;
using reports::GatePolicy;

constexpr double kLargestMargin = 100.0;

void set_margin(GatePolicy& policy, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  char* end = nullptr;
  const double margin = std::strtod(number.c_str(), &end);
  const bool is_number = !number.empty() && *end == '\0';
  if (!is_number || !(margin >= 0.0) || margin > kLargestMargin) {
    throw Error(ErrorCode::kInvalidArgument,
                "--margin " + text + ": expected METRIC=NUMBER, such as loss=0.002 (nats) or time=0.03 (3 %)");
  }
  const std::string name = text.substr(0, equals);
  if (name == "instructions") {
    policy.instructions_margin = margin;
  } else {
    policy.of(reports::parse_gate_metric(name, "--margin " + text)).margin = margin;
  }
}

void set_only(GatePolicy& policy, const std::string& list) {
  for (const GateMetric metric : reports::all_gate_metrics()) policy.of(metric).gates = false;
  std::istringstream in(list);
  for (std::string name; std::getline(in, name, ',');)
    policy.of(reports::parse_gate_metric(name, "--only " + list)).gates = true;
}

}  // namespace

void add_gate_policy_options(CLI::App& command, GatePolicyOptions& options) {
  command.add_option("--policy", options.file, "Margins and what gates, as JSON (docs/ci.md)")->type_name("FILE");
  command
      .add_option("--margin", options.margins,
                  "How much worse is no harm: loss in nats; time, memory, cost, instructions: a fraction")
      ->type_name("METRIC=NUMBER");
  command.add_option("--only", options.only, "What gates, of loss,time,memory,cost; the rest is only told")
      ->type_name("LIST");
  command.add_option("--alpha", options.alpha, "Chance of a false regression, and of each false pass (default: 0.05)")
      ->type_name("P");
  command.add_option("--least-runs", options.least_runs, "Runs of each side that prove something (default: 2)")
      ->type_name("N");
}

reports::GatePolicy policy_of(const GatePolicyOptions& options) {
  GatePolicy policy = options.file.empty() ? GatePolicy{} : reports::read_gate_policy_file(options.file);
  for (const std::string& margin : options.margins) set_margin(policy, margin);
  if (!options.only.empty()) set_only(policy, options.only);
  const std::vector<GateMetric> metrics = reports::all_gate_metrics();
  if (std::none_of(metrics.begin(), metrics.end(), [&](GateMetric metric) { return policy.of(metric).gates; }))
    throw Error(ErrorCode::kInvalidArgument, "the policy lets nothing gate; choose of loss, time, memory, cost");
  if (options.alpha) {
    if (!(*options.alpha >= 1e-6 && *options.alpha <= 0.49))
      throw Error(ErrorCode::kInvalidArgument, "--alpha: expected a number from 0.000001 to 0.49");
    policy.alpha = *options.alpha;
  }
  if (options.least_runs) {
    if (*options.least_runs < 2) throw Error(ErrorCode::kInvalidArgument, "--least-runs: expected 2 or more");
    policy.min_runs = *options.least_runs;
  }
  return policy;
}

}  // namespace nanobench::tools
