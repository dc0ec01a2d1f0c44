#include "reports/gate/gate_policy.h"

#include <limits>
#include <utility>

#include "core/base/error.h"

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

const char* to_string(GateMetric metric) {
  switch (metric) {
    case GateMetric::kLoss: return "loss";
    case GateMetric::kTime: return "time";
    case GateMetric::kMemory: return "memory";
    case GateMetric::kCost: return "cost";
  }
  return "?";
}

std::vector<GateMetric> all_gate_metrics() {
  return {GateMetric::kLoss, GateMetric::kTime, GateMetric::kMemory, GateMetric::kCost};
}

GateMetric parse_gate_metric(const std::string& name, const std::string& source) {
  std::vector<std::string> known;
  for (const GateMetric metric : all_gate_metrics()) {
    known.emplace_back(to_string(metric));
    if (known.back() == name) return metric;
  }
  throw Error(ErrorCode::kInvalidArgument, source + ": unknown metric \"" + name + "\"" +
                                               core::suggestion(name, known) + "; expected loss, time, memory or cost");
}

MetricPolicy GatePolicy::*GatePolicy::member(GateMetric metric) {
  switch (metric) {
    case GateMetric::kLoss: return &GatePolicy::loss;
    case GateMetric::kTime: return &GatePolicy::time;
    case GateMetric::kMemory: return &GatePolicy::memory;
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
    const char* name = to_string(metric);
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

}  // namespace nanobench::reports
