#include "reports/gate/comparability.h"

namespace nanobench::reports {
namespace {

std::string differ(const std::string& what, const std::string& before, const std::string& now) {
  return what + " differs: the baseline has " + (before.empty() ? "none" : before) + ", the candidate " +
         (now.empty() ? "none" : now);
}

}  // namespace

Comparability::Comparability(const Arm& a, const Arm& b, const GateSetting& setting)
    : allows_other_configs_(setting.allows_other_configs) {
  if (a.scale != b.scale) all_mismatch_ = differ("the scale", a.scale, b.scale);
  if (a.data_digest != b.data_digest) all_mismatch_ = differ("the data", a.data_digest, b.data_digest);
  if (a.hardware != b.hardware) machine_mismatch_ = differ("the machine", a.hardware, b.hardware);
  if (a.threads != b.threads) {
    machine_mismatch_ = differ("the number of threads", std::to_string(a.threads), std::to_string(b.threads));
  }
  if (a.processes != b.processes) {
    machine_mismatch_ = differ("the number of processes", std::to_string(a.processes), std::to_string(b.processes));
  }
  if (a.host != b.host && !setting.is_interleaved) host_mismatch_ = differ("the host", a.host, b.host);
}

std::string Comparability::mismatch_of(GateMetric metric, const ArmCell* baseline, const ArmCell& candidate) const {
  if (baseline == nullptr) return "the baseline has no such cell";
  if (!all_mismatch_.empty()) return all_mismatch_;
  if (!allows_other_configs_ && baseline->config_digest != candidate.config_digest)
    return "the cell is another configuration than in the baseline";
  const bool needs_machine = metric == GateMetric::kTime || metric == GateMetric::kMemory;
  if (needs_machine && !machine_mismatch_.empty()) return machine_mismatch_;
  return metric == GateMetric::kTime ? host_mismatch_ : "";
}

}  // namespace nanobench::reports
