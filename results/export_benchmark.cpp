// Exports runs as Google Benchmark's JSON.
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/base/json.h"
#include "results/export.h"
#include "results/provenance.h"

namespace nanobench::results {
namespace {

using core::OrderedJson;

/// A run with everything that a benchmark needs.
struct Repetition {
  RunRecord run;
  double mean_step_ms = 0;  ///< as real times of benchmarks are: all time over all iterations
  std::optional<double> median_step_ms;
  std::int64_t iterations = 0;
  double cpu_ms = 0;  ///< per step
};

std::optional<double> number_of(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (end == found->second.c_str() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Repetition> repetition_of(const Store& store, std::int64_t id) {
  Repetition repetition{.run = store.run(id)};
  if (!repetition.run.is_completed()) return std::nullopt;
  const std::optional<double> mean_step_ms = repetition.run.result->mean_step_ms();
  if (!mean_step_ms) return std::nullopt;
  repetition.mean_step_ms = *mean_step_ms;
  repetition.median_step_ms = store.summary(id).median_step_ms;
  repetition.iterations = *repetition.run.result->timed_steps;
  repetition.cpu_ms = repetition.mean_step_ms;
  const std::map<std::string, std::string> facts = store.run_facts(id);
  const std::optional<double> user = number_of(facts, "used/user_ms");
  const std::optional<double> system = number_of(facts, "used/system_ms");
  if (user && system && repetition.run.result->steps.value_or(0) > 0)
    repetition.cpu_ms = (*user + *system) / static_cast<double>(*repetition.run.result->steps);
  return repetition;
}

OrderedJson context_of(const Store& store, const std::map<std::string, std::vector<Repetition>>& families) {
  OrderedJson context = {{"date", utc_now()}, {"executable", "nanobench"}};
  if (!families.empty()) {
    const RunRecord& first = families.begin()->second.front().run;
    context["host_name"] = first.owner.host;
    context["hardware"] = first.hardware;
    const auto environment = first.environment_id ? store.environment(*first.environment_id) : std::nullopt;
    const std::map<std::string, std::string> facts =
        environment ? environment->facts : std::map<std::string, std::string>();
    if (const auto cores = number_of(facts, "cores")) context["num_cpus"] = std::lround(*cores);
    if (const auto mhz = number_of(store.run_facts(first.id), "start/cpu_mhz"))
      context["mhz_per_cpu"] = std::lround(*mhz);
  }
  context["caches"] = OrderedJson::array();
  context["library_build_type"] = "release";
  return context;
}

OrderedJson json_of(const std::string& name, std::size_t family, const std::vector<Repetition>& runs,
                    std::size_t index) {
  const Repetition& item = runs[index];
  const RunResult& result = *item.run.result;
  OrderedJson json = {{"name", name},
                      {"family_index", family},
                      {"per_family_instance_index", 0},
                      {"run_name", name},
                      {"run_type", "iteration"},
                      {"repetitions", runs.size()},
                      {"repetition_index", index},
                      {"threads", item.run.threads},
                      {"iterations", item.iterations},
                      {"real_time", item.mean_step_ms},
                      {"cpu_time", item.cpu_ms},
                      {"time_unit", "ms"}};
  if (item.median_step_ms) json["median_step_ms"] = *item.median_step_ms;
  if (result.final_val_loss) json["loss"] = *result.final_val_loss;
  if (result.peak_bytes) json["peak_bytes"] = *result.peak_bytes;
  if (result.train_ms) json["train_ms"] = *result.train_ms;
  json["seed"] = item.run.seed;
  json["run"] = item.run.id;
  return json;
}

}  // namespace

std::int64_t export_google_benchmark(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out) {
  std::map<std::string, std::vector<Repetition>> families;
  std::vector<std::string> order;
  std::int64_t left_out = 0;
  for (const std::int64_t id : runs) {
    const std::optional<Repetition> repetition = repetition_of(store, id);
    if (!repetition) {
      ++left_out;
      continue;
    }
    const std::string name = repetition->run.suite + "/" + repetition->run.cell;
    if (!families.contains(name)) order.push_back(name);
    families[name].push_back(*repetition);
  }
  OrderedJson benchmarks = OrderedJson::array();
  for (std::size_t family = 0; family < order.size(); ++family) {
    const std::vector<Repetition>& members = families.at(order[family]);
    for (std::size_t index = 0; index < members.size(); ++index)
      benchmarks.push_back(json_of(order[family], family, members, index));
  }
  const OrderedJson json = {{"context", context_of(store, families)}, {"benchmarks", std::move(benchmarks)}};
  out << core::safe_dump(json, 2) << "\n";
  return left_out;
}

}  // namespace nanobench::results
