#include "reports/gate/gate_policy.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/comparison/conditions.h"

namespace nanobench::reports {

namespace {

using core::Error;
using core::ErrorCode;
using core::JsonObject;

constexpr double kLargestMargin = 100.0;

MetricPolicy read_metric(JsonObject object, const MetricPolicy& usual) {
  MetricPolicy policy = usual;
  if (object.has("margin")) policy.margin = object.number("margin", 0.0, kLargestMargin);
  policy.gates = object.boolean_or("gates", usual.gates);
  object.finish();
  return policy;
}

}  // namespace

std::vector<GateMetric> all_gate_metrics() {
  return {GateMetric::kLoss, GateMetric::kTime, GateMetric::kMemory, GateMetric::kTrainingMemory, GateMetric::kCost};
}

GateMetric parse_gate_metric(const std::string& name, const std::string& source,
                             const std::vector<std::string>& others) {
  if (const std::optional<GateMetric> metric = enum_value<GateMetric>(name)) return *metric;
  std::vector<std::string> names = enum_names<GateMetric>();
  names.insert(names.end(), others.begin(), others.end());
  throw Error(ErrorCode::kInvalidArgument, source + ": unknown metric \"" + name + "\"" +
                                               core::suggestion(name, names) + "; expected " + listed(names, "or"));
}

MetricPolicy GatePolicy::*GatePolicy::member(GateMetric metric) {
  switch (metric) {
    case GateMetric::kLoss: return &GatePolicy::loss;
    case GateMetric::kTime: return &GatePolicy::time;
    case GateMetric::kMemory: return &GatePolicy::memory;
    case GateMetric::kTrainingMemory: return &GatePolicy::training_memory;
    case GateMetric::kCost: break;
  }
  return &GatePolicy::cost;
}

GatePolicy read_gate_policy(const core::Json& value, const std::string& source) {
  JsonObject object(value, source);
  GatePolicy policy;
  if (object.has("alpha")) policy.alpha = object.number("alpha", 1e-6, 0.49);
  policy.min_runs = static_cast<int>(object.integer_or("least_runs", policy.min_runs, 2, 1 << 20));
  for (const GateMetric metric : all_gate_metrics()) {
    const std::string name = enum_name(metric);
    if (!object.has(name)) continue;
    JsonObject member = object.object(name);
    if (metric == GateMetric::kCost && member.has("instructions_margin"))
      policy.instructions_margin = member.number("instructions_margin", 0.0, kLargestMargin);
    policy.of(metric) = read_metric(std::move(member), policy.of(metric));
  }
  object.finish();
  return policy;
}

GatePolicy read_gate_policy_file(const std::filesystem::path& file) {
  return read_gate_policy(core::read_json_file(file), file.string());
}

namespace {

/// Arms that ran in turn are paired by seed. Both runs of a seed must be on one host, or their times prove nothing.
bool has_torn_pair(const Arm& a, const Arm& b) {
  for (const ArmCell& cell : a.cells) {
    for (const ArmCell& other : b.cells) {
      if (cell.label != other.label) continue;
      for (const ArmRun& run : cell.runs) {
        const auto pair = std::find_if(other.runs.begin(), other.runs.end(),
                                       [&](const ArmRun& candidate) { return candidate.seed == run.seed; });
        if (pair != other.runs.end() && run.is_completed() && pair->is_completed() && run.host != pair->host)
          return true;
      }
    }
  }
  return false;
}

std::optional<Mismatch> host_mismatch(const Arm& a, const Arm& b, const GateSetting& setting) {
  if (setting.is_interleaved)
    return has_torn_pair(a, b) ? std::optional(Mismatch{.kind = MismatchKind::kTornPair}) : std::nullopt;
  if (a.hosts != b.hosts) return Mismatch{MismatchKind::kHost, joined(a.hosts), joined(b.hosts)};
  return a.hosts.size() > 1 ? std::optional(Mismatch{.kind = MismatchKind::kSeveralHosts}) : std::nullopt;
}

/// A baseline from an older file has the former digest.
bool is_same_configuration(const ArmCell& baseline, const ArmCell& candidate) {
  return baseline.config_digest == candidate.config_digest ||
         (!candidate.former_config_digest.empty() && baseline.config_digest == candidate.former_config_digest);
}

/// From the first completed run; nullopt if its engine did not report them.
std::optional<core::StepParts> no_kernel_for(const ArmCell& cell) {
  const auto first =
      std::find_if(cell.runs.begin(), cell.runs.end(), [](const ArmRun& run) { return run.is_completed(); });
  return first == cell.runs.end() ? std::nullopt : first->no_kernel_for;
}

/// Only between two configurations: a kernel that one revision has and another lacks is what a gate must see.
std::optional<Mismatch> code_mismatch(const ArmCell& a, const ArmCell& b) {
  if (is_same_configuration(a, b)) return std::nullopt;
  const core::StepParts parts = parts_of_one_alone(no_kernel_for(a), no_kernel_for(b));
  if (parts.empty()) return std::nullopt;
  return Mismatch{.kind = MismatchKind::kCode, .parts = parts};
}

}  // namespace

Comparability::Comparability(const Arm& a, const Arm& b, const GateSetting& setting)
    : allows_other_configs_(setting.allows_other_configs) {
  using enum MismatchKind;
  if (a.scale != b.scale) all_mismatch_ = Mismatch{kScale, a.scale, b.scale};
  if (a.data_digest != b.data_digest) all_mismatch_ = Mismatch{kData, a.data_digest, b.data_digest};
  if (a.hardware != b.hardware) machine_mismatch_ = Mismatch{kMachine, a.hardware, b.hardware};
  if (a.gpu != b.gpu) machine_mismatch_ = Mismatch{kGpu, a.gpu, b.gpu};
  if (a.kernels != b.kernels) machine_mismatch_ = Mismatch{kKernels, enum_name(a.kernels), enum_name(b.kernels)};
  if (a.threads != b.threads)
    machine_mismatch_ = Mismatch{kThreads, std::to_string(a.threads), std::to_string(b.threads)};
  if (a.processes != b.processes)
    machine_mismatch_ = Mismatch{kProcesses, std::to_string(a.processes), std::to_string(b.processes)};
  host_mismatch_ = host_mismatch(a, b, setting);
}

std::optional<Mismatch> Comparability::mismatch_of(GateMetric metric, const ArmCell* baseline,
                                                   const ArmCell& candidate) const {
  if (baseline == nullptr) return Mismatch{.kind = MismatchKind::kNoSuchCell};
  if (all_mismatch_) return all_mismatch_;
  if (!allows_other_configs_ && !is_same_configuration(*baseline, candidate))
    return Mismatch{.kind = MismatchKind::kConfiguration};
  const bool needs_machine =
      metric == GateMetric::kTime || metric == GateMetric::kMemory || metric == GateMetric::kTrainingMemory;
  if (needs_machine && machine_mismatch_) return machine_mismatch_;
  if (metric != GateMetric::kTime) return std::nullopt;
  return host_mismatch_ ? host_mismatch_ : code_mismatch(*baseline, candidate);
}

}  // namespace nanobench::reports
