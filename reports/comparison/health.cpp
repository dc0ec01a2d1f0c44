#include "reports/comparison/health.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "results/metric.h"

namespace nanobench::reports {
namespace {

/// Layers by number, what no layer has last.
std::tuple<std::string, bool, long, std::string> order_of(const std::string& group, const std::string& layer) {
  const bool is_number = !layer.empty() && layer.size() < 6 &&
                         std::all_of(layer.begin(), layer.end(), [](char c) { return c >= '0' && c <= '9'; });
  return {group, !layer.empty() && !is_number, is_number ? std::stol(layer) + 1 : 0, layer};
}

/// The ends of the names of a run's gradient norms: "", "/embeddings", "/embeddings/shared".
std::set<std::string> parts_in(const results::Store& store, std::int64_t run_id) {
  std::set<std::string> parts;
  const std::string prefix = results::kGradientNorm;
  for (const std::string& metric : store.metrics(run_id)) {
    if (metric.rfind(prefix, 0) == 0) parts.insert(metric.substr(prefix.size()));
  }
  return parts;
}

HealthPart part_of(const std::string& end) {
  HealthPart part;
  if (end.empty()) return part;
  const std::size_t slash = end.find('/', 1);
  part.group = end.substr(1, slash == std::string::npos ? slash : slash - 1);
  if (slash != std::string::npos) part.layer = end.substr(slash + 1);
  return part;
}

}  // namespace

std::optional<double> health_mean(const results::Store& store, std::int64_t run_id, const std::string& metric) {
  double sum = 0.0;
  int n = 0;
  for (const results::Sample& sample : store.samples(run_id, metric)) {
    if (!std::isfinite(sample.value) || !(sample.value > 0.0)) continue;
    sum += std::log(sample.value);
    ++n;
  }
  return n == 0 ? std::nullopt : std::optional(std::exp(sum / n));
}

std::vector<CellHealth> cell_health(const results::Store& store, const std::vector<CellMeasures>& cells) {
  const std::string updates = std::string(results::kUpdateRatio) + "/hidden_matrices";
  std::vector<CellHealth> all;
  for (const CellMeasures& cell : cells) {
    CellHealth health{.label = cell.cell.label};
    std::map<std::string, std::pair<BySeed, BySeed>> values;  // by the end of the name
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed()) continue;
      const auto put = [&](BySeed& by_seed, const std::string& metric) {
        if (const auto mean = health_mean(store, run.run.id, metric)) by_seed[run.run.seed] = *mean;
      };
      put(health.gradient_norm, results::kGradientNorm);
      if (!health.gradient_norm.contains(run.run.seed)) continue;  // not asked for
      put(health.gradient_flow, results::kGradientFlow);
      put(health.update_ratio, updates);
      for (const std::string& end : parts_in(store, run.run.id)) {
        auto& [gradients, ratios] = values[end];
        put(gradients, results::kGradientNorm + end);
        put(ratios, results::kUpdateRatio + end);
      }
    }
    if (values.empty()) continue;
    for (const auto& [end, both] : values) {
      health.parts.push_back(part_of(end));
      health.parts.back().gradient_norm = summarise(both.first);
      health.parts.back().update_ratio = summarise(both.second);
    }
    std::stable_sort(health.parts.begin(), health.parts.end(), [](const HealthPart& a, const HealthPart& b) {
      return order_of(a.group, a.layer) < order_of(b.group, b.layer);
    });
    all.push_back(std::move(health));
  }
  return all;
}

}  // namespace nanobench::reports
