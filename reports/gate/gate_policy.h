/// What a gate requires of a candidate, and which metrics of two arms may be compared at all. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"
#include "reports/gate/arm.h"

namespace nanobench::reports {

/// What a gate checks.
enum class GateMetric { kLoss, kTime, kMemory, kTrainingMemory, kCost };

NB_ENUM_NAMES(GateMetric, {GateMetric::kLoss, "loss"}, {GateMetric::kTime, "time"}, {GateMetric::kMemory, "memory"},
              {GateMetric::kTrainingMemory, "training_memory"}, {GateMetric::kCost, "cost"});
std::vector<GateMetric> all_gate_metrics();
/// Throws Error{kInvalidArgument} with the nearest known name; `source` is where the name was given, `others` are names
/// that are allowed there too.
GateMetric parse_gate_metric(const std::string& name, const std::string& source,
                             const std::vector<std::string>& others = {});

/// How one metric is judged.
struct MetricPolicy {
  double margin = 0.0;  ///< the largest harmless change: nats per token for the loss, else a fraction
  bool gates = true;    ///< false: measured and reported, but does not affect the exit code
};

struct GatePolicy {
  MetricPolicy loss{.margin = 0.001};
  MetricPolicy time{.margin = 0.002};
  MetricPolicy memory{.margin = 0.02};
  /// Without what was resident before there was a model, so that a change of the training is not hidden by the program.
  /// It does not gate unless asked: policies of earlier versions do not know it.
  MetricPolicy training_memory{.margin = 0.05, .gates = false};
  MetricPolicy cost{.margin = 0.0};
  double instructions_margin = 0.005;  ///< margin of instruction counts, which vary a little; they gate if cost does
  double alpha = 0.05;  ///< chance of at least one false "regressed" over all tests, and of each false "pass"
  int min_runs = 2;     ///< replicates of a cell on each side; fewer prove nothing

  const MetricPolicy& of(GateMetric metric) const { return this->*member(metric); }
  MetricPolicy& of(GateMetric metric) { return this->*member(metric); }

 private:
  static MetricPolicy GatePolicy::*member(GateMetric metric);
};

/// {"alpha", "least_runs", "loss": {"margin", "gates"}, ...}, and "instructions_margin" in "cost". Absent keys keep
/// their defaults. Throws Error{kInvalidArgument} with file and JSON pointer.
GatePolicy read_gate_policy(const core::Json& value, const std::string& source);
GatePolicy read_gate_policy_file(const std::filesystem::path& file);

/// How the arms were measured.
struct GateSetting {
  bool is_interleaved = false;        ///< they ran in turn on one machine, seed by seed; otherwise times need one host
  bool allows_other_configs = false;  ///< the configurations are what is compared
};

/// Why a metric of two arms cannot be compared.
enum class MismatchKind {
  kNoSuchCell,     ///< the baseline lacks the cell
  kConfiguration,  ///< of the cell
  kScale,
  kData,
  kMachine,  ///< class of hardware
  kGpu,
  kKernels,
  kThreads,
  kProcesses,
  kHost,
  kTornPair,      ///< the runs of a seed are from different hosts
  kSeveralHosts,  ///< the runs of a side are from several hosts
  kCode,          ///< the engine has a kernel for `parts` on one side only
};
struct Mismatch {
  MismatchKind kind = MismatchKind::kNoSuchCell;
  std::string baseline = {}, candidate = {};  ///< what differs, from kScale to kHost
  core::StepParts parts = {};

  bool operator==(const Mismatch&) const = default;
};

/// Losses and costs need the same scale, data and configuration; memory also needs the same machine, and times the same
/// host.
class Comparability {
 public:
  Comparability(const Arm& baseline, const Arm& candidate, const GateSetting& setting);

  /// Why this metric of the cell cannot be compared; nullopt if it can. `baseline` is null if the baseline lacks the
  /// cell.
  std::optional<Mismatch> mismatch_of(GateMetric metric, const ArmCell* baseline, const ArmCell& candidate) const;

 private:
  bool allows_other_configs_;
  std::optional<Mismatch> all_mismatch_;      ///< nothing can be compared
  std::optional<Mismatch> machine_mismatch_;  ///< time and memory cannot
  std::optional<Mismatch> host_mismatch_;     ///< time cannot
};

}  // namespace nanobench::reports
