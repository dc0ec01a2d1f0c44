#include "reports/gate/arm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/comparison/settled_clocks.h"
#include "results/identity.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::JsonObject;
using core::OrderedJson;

constexpr int kFirstForm = 1;
constexpr const char* kHostSeparator = ", ";
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::int64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();
/// Each is a mean per step; the shares of the parts show where a change comes from.
constexpr const char* kCosts[] = {"flops_per_step", "bytes_per_step", "visited_blocks_per_step",
                                  "visible_pairs_per_step"};

/// Digest of every training and validation loss with its step.
std::string loss_digest(const results::Store& store, std::int64_t run_id) {
  core::Digest digest;
  bool is_empty = true;
  for (const char* metric : {results::kTrainLoss, results::kValLoss}) {
    for (const results::Sample& sample : store.samples(run_id, metric)) {
      const auto bits = std::bit_cast<std::uint64_t>(sample.value);
      digest.update(&sample.step, sizeof sample.step);
      digest.update(&bits, sizeof bits);
      is_empty = false;
    }
  }
  return is_empty ? "" : digest.hex();
}

std::map<std::string, double> costs_of(const results::Store& store, std::int64_t run_id) {
  std::map<std::string, double> costs;
  for (const char* name : kCosts) {
    const auto samples = store.samples(run_id, std::string(results::kCounterPrefix) + "cost/" + name);
    if (!samples.empty() && std::isfinite(samples.front().value)) costs[name] = samples.front().value;
  }
  return costs;
}

ArmRun arm_run(const results::Store& store, const RunMeasure& measure) {
  ArmRun run{.seed = measure.run.seed};
  if (!measure.run.result) {
    run.message = "it is still running";
    return run;
  }
  run.outcome = measure.run.result->outcome;
  run.message = measure.run.result->message;
  if (!run.is_completed()) return run;
  run.host = measure.run.owner.host;
  run.no_kernel_for = measure.run.no_kernel_for;
  run.val_loss = measure.val_loss;
  run.step_ms = measure.median_step_ms;
  run.clock_ms = measure.clock_ms;
  run.peak_bytes = measure.peak_bytes;
  run.training_bytes = measure.training_bytes;
  run.costs = costs_of(store, measure.run.id);
  run.loss_digest = loss_digest(store, measure.run.id);
  run.disturbance = measure.disturbance;
  return run;
}

/// A replicate without a run is missing evidence, not less evidence.
void add_missing(ArmCell& cell, const results::PlanRecord& plan, const std::string& label) {
  for (const results::PlanLine& line : plan.lines) {
    if (line.cell != label) continue;
    const auto has_seed = [&](const ArmRun& run) { return run.seed == line.seed; };
    if (std::any_of(cell.runs.begin(), cell.runs.end(), has_seed)) continue;
    cell.runs.push_back({.seed = line.seed, .message = "it was not run"});
  }
  std::sort(cell.runs.begin(), cell.runs.end(), [](const ArmRun& a, const ArmRun& b) { return a.seed < b.seed; });
}

/// Takes what all runs share from the first one.
void describe(Arm& arm, const results::Store& store, const results::RunRecord& run) {
  arm.data_digest = run.data_digest;
  arm.engine = run.engine_text() + " " + run.engine_version;
  arm.kernels = run.kernels;
  arm.hardware = run.hardware;
  arm.hosts = {run.owner.host};
  arm.gpu = run.gpu;
  arm.threads = run.threads;
  arm.measured_at = run.started_at;
  if (run.environment_id) {
    if (const auto environment = store.environment(*run.environment_id)) {
      const auto fact = [&](const char* name) {
        const auto found = environment->facts.find(name);
        return found == environment->facts.end() ? std::string() : found->second;
      };
      // A trainer has a revision of its own; of commands that `bench` measured, none is known.
      const bool is_ours = run.engine != results::kExternalEngine && run.engine != results::kCommandEngine;
      arm.revision = fact(is_ours ? "git_revision" : "engine/revision");
      if (is_ours && !arm.revision.empty() && fact("git_dirty") == "true") arm.revision += " (changed)";
    }
  }
  const Json config = core::json_or_null(run.config);
  static const Json::json_pointer kProcesses("/distributed/processes");
  if (config.is_object() && config.contains(kProcesses))
    arm.processes = core::integer_of<std::int64_t>(config.at(kProcesses)).value_or(arm.processes);
}

/// If no run completed, the first run's host stays.
void name_hosts(Arm& arm) {
  std::set<std::string> hosts;
  for (const ArmCell& cell : arm.cells) {
    for (const ArmRun& run : cell.runs) {
      if (run.is_completed()) hosts.insert(run.host);
    }
  }
  if (!hosts.empty()) arm.hosts.assign(hosts.begin(), hosts.end());
}

/// Reads "a, b", the form used in files.
std::vector<std::string> read_hosts(const std::string& text) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(kHostSeparator, begin), text.size());
    hosts.push_back(text.substr(begin, end - begin));
    begin = end + std::string_view(kHostSeparator).size();
  }
  return hosts;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::optional<double> number_of(JsonObject& object, const char* key) {
  if (!object.has(key)) return std::nullopt;
  return object.number(key, -kLargest, kLargest);
}

ArmRun read_run(const Json& value, const std::string& source, const std::string& pointer) {
  JsonObject object(value, source, pointer);
  ArmRun run;
  run.seed = static_cast<std::uint64_t>(object.integer("seed", 0, kLargestInteger));
  if (object.string("outcome") != run.outcome_text()) run.outcome = object.enumeration<core::RunOutcome>("outcome");
  run.message = object.string_or("message", "");
  run.val_loss = number_of(object, "val_loss");
  run.step_ms = number_of(object, "step_ms");
  run.clock_ms = number_of(object, "clock_ms");
  run.peak_bytes = number_of(object, "peak_bytes");
  run.training_bytes = number_of(object, "training_bytes");
  if (object.has("costs")) {
    JsonObject costs = object.object("costs");
    for (const auto& [name, cost] : object.at("costs").items()) run.costs[name] = costs.number(name, 0, kLargest);
  }
  run.loss_digest = object.string_or("loss_digest", "");
  if (object.has("disturbance")) run.disturbance = object.string("disturbance");
  object.finish();
  return run;
}

ArmCell read_cell(const Json& value, const std::string& source, const std::string& pointer) {
  JsonObject object(value, source, pointer);
  ArmCell cell{.label = object.string("label"), .config_digest = object.string("config_digest"), .runs = {}};
  const Json& runs = object.at("runs");
  if (!runs.is_array()) object.fail("runs", "expected a list of runs");
  for (std::size_t i = 0; i < runs.size(); ++i)
    cell.runs.push_back(read_run(runs[i], source, pointer + "/runs/" + std::to_string(i)));
  object.finish();
  return cell;
}

OrderedJson to_json(const ArmRun& run) {
  OrderedJson json = {{"seed", run.seed}, {"outcome", run.outcome_text()}};
  if (!run.message.empty()) json["message"] = run.message;
  if (run.val_loss) json["val_loss"] = *run.val_loss;
  if (run.step_ms) json["step_ms"] = *run.step_ms;
  if (run.clock_ms) json["clock_ms"] = *run.clock_ms;
  if (run.peak_bytes) json["peak_bytes"] = *run.peak_bytes;
  if (run.training_bytes) json["training_bytes"] = *run.training_bytes;
  if (!run.costs.empty()) json["costs"] = run.costs;
  if (!run.loss_digest.empty()) json["loss_digest"] = run.loss_digest;
  if (run.disturbance) json["disturbance"] = *run.disturbance;
  return json;
}

/// Files of version 1 name the kernels only in the engine's name.
core::KernelChoice former_kernels(const std::string& engine) {
  const bool is_reference = engine.find(", reference kernels ") != std::string::npos;
  return is_reference ? core::KernelChoice::kReference : core::KernelChoice::kFused;
}

/// The digest of a stored run; empty if it cannot be determined.
std::string former_config_digest(const results::RunRecord& run) {
  const Json config = core::json_or_null(run.config);
  if (!config.is_object() || config.contains("operation") || config.contains("command")) return "";
  try {
    return results::former::config_digest(core::read_train_config(config, "stored run")).value_or("");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
    return "";
  }
}

}  // namespace

namespace {

Arm arm_of(const results::Store& store, const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
           const std::string& name, const std::string& cell_suffix = "") {
  Arm arm{.name = name, .suite = plan.suite, .scale = plan.scale};
  bool is_described = false;
  for (const CellMeasures& measures : cells) {
    const std::string& label = measures.cell.label;
    if (!ends_with(label, cell_suffix)) continue;
    ArmCell& cell = arm.cells.emplace_back();
    cell.label = label.substr(0, label.size() - cell_suffix.size());
    cell.config_digest = measures.cell.config_digest;
    for (const RunMeasure& measure : measures.runs) {
      if (!is_described) describe(arm, store, measure.run);
      if (cell.former_config_digest.empty()) cell.former_config_digest = former_config_digest(measure.run);
      is_described = true;
      cell.runs.push_back(arm_run(store, measure));
    }
    add_missing(cell, plan, label);
  }
  name_hosts(arm);
  return arm;
}

}  // namespace

Arm read_arm(const results::Store& store, const results::PlanRecord& plan, const std::string& name,
             const std::string& cell_suffix) {
  return arm_of(store, plan, read_cells(store, plan, {}), name, cell_suffix);
}

std::pair<Arm, Arm> read_arms(const results::Store& store, const results::PlanRecord& baseline,
                              const results::PlanRecord& candidate) {
  const std::vector<std::vector<CellMeasures>> cells = read_cells_together(store, {baseline, candidate});
  return {arm_of(store, baseline, cells[0], "baseline"), arm_of(store, candidate, cells[1], "candidate")};
}

Arm read_arm(const results::Store& store, const std::vector<results::RunRecord>& runs, const std::string& name) {
  std::map<std::pair<std::string, std::uint64_t>, results::RunRecord> chosen;
  for (const results::RunRecord& run : runs) {
    const auto [place, is_new] = chosen.try_emplace({run.cell, run.seed}, run);
    results::RunRecord& kept = place->second;
    const auto rank = [](const results::RunRecord& r) { return std::pair(r.is_completed(), r.started_at); };
    if (!is_new && rank(kept) < rank(run)) kept = run;
  }
  Arm arm{.name = name};
  std::vector<RunMeasure> measures;  // of one cell
  const auto finish_cell = [&] {
    settle_clocks(store, {&measures});
    for (const RunMeasure& measure : measures) arm.cells.back().runs.push_back(arm_run(store, measure));
    measures.clear();
  };
  for (const auto& [key, run] : chosen) {
    if (arm.cells.empty()) {
      describe(arm, store, run);
      arm.suite = run.suite;
      arm.scale = run.scale;
    }
    if (arm.cells.empty() || arm.cells.back().label != run.cell) {
      finish_cell();
      arm.cells.push_back({.label = run.cell,
                           .config_digest = run.config_digest,
                           .former_config_digest = former_config_digest(run),
                           .runs = {}});
    }
    measures.push_back(measure_run(store, run));
  }
  finish_cell();
  name_hosts(arm);
  return arm;
}

OrderedJson to_json(const Arm& arm) {
  OrderedJson json = {{"schema_version", kArmSchemaVersion},
                      {"name", arm.name},
                      {"suite", arm.suite},
                      {"scale", arm.scale},
                      {"data_digest", arm.data_digest},
                      {"engine", arm.engine},
                      {"revision", arm.revision},
                      {"hardware", arm.hardware},
                      {"host", joined(arm.hosts, kHostSeparator)},
                      {"threads", arm.threads},
                      {"processes", arm.processes},
                      {"measured_at", arm.measured_at}};
  if (!arm.gpu.empty()) json["gpu"] = arm.gpu;
  if (arm.kernels != core::KernelChoice::kFused) json["kernels"] = enum_name(arm.kernels);
  json["cells"] = OrderedJson::array();
  for (const ArmCell& cell : arm.cells) {
    OrderedJson runs = OrderedJson::array();
    for (const ArmRun& run : cell.runs) runs.push_back(to_json(run));
    json["cells"].push_back({{"label", cell.label}, {"config_digest", cell.config_digest}, {"runs", runs}});
  }
  return json;
}

Arm read_arm(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  const std::int64_t version = object.integer("schema_version", 1, kLargestInteger);
  if (version > kArmSchemaVersion) {
    throw Error(ErrorCode::kUnavailable, source + " is a baseline of form " + std::to_string(version) +
                                             ", and this nanobench knows " + std::to_string(kArmSchemaVersion) +
                                             "; update nanobench, or save the baseline again");
  }
  Arm arm{.name = object.string("name"), .suite = object.string("suite"), .scale = object.string("scale")};
  arm.data_digest = object.string("data_digest");
  arm.engine = object.string("engine");
  arm.revision = object.string_or("revision", "");
  arm.hardware = object.string("hardware");
  arm.hosts = read_hosts(object.string("host"));
  arm.gpu = object.string_or("gpu", "");
  arm.kernels = object.enumeration_or("kernels", version == kFirstForm ? former_kernels(arm.engine) : arm.kernels);
  arm.threads = static_cast<int>(object.integer("threads", 0, 1 << 20));
  arm.processes = object.integer_or("processes", 1, 1, 1 << 20);
  arm.measured_at = object.string_or("measured_at", "");
  const Json& cells = object.at("cells");
  if (!cells.is_array()) object.fail("cells", "expected a list of cells");
  for (std::size_t i = 0; i < cells.size(); ++i)
    arm.cells.push_back(read_cell(cells[i], source, "/cells/" + std::to_string(i)));
  object.finish();
  return arm;
}

}  // namespace nanobench::reports
