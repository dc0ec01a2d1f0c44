#include "results/renew_identities.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/protocol/operation_spec.h"
#include "results/identity.h"
#include "results/plan_rows.h"
#include "results/run_columns.h"

namespace nanobench::results {
namespace {

using core::Json;

constexpr std::int64_t kMaxArms = 64;  // in an a_a
constexpr int kMaxGpus = 16;           // in a machine, each with its own number

/// The current digest of a stored configuration; nullopt if it is not ours, or if its stored digest does not match the
/// text.
std::optional<std::string> renewed_config(const std::string& text, const std::string& digest) {
  const Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return std::nullopt;
  try {
    if (config.contains("operation")) {
      const core::OperationSpec operation = core::read_operation_spec(config.at("operation"), "stored run");
      if (core::digest_of(config.at("operation").dump()) != digest) return std::nullopt;
      return core::digest_of(core::changed_settings(operation).dump());
    }
    if (former::config_digest(config) != digest) return std::nullopt;
    return core::read_train_config(config, "stored run").digest();
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInternal) throw;
    return std::nullopt;
  } catch (const Json::exception&) {  // not a configuration
    return std::nullopt;
  }
}

/// The devices that a run on this class of machines may have requested.
std::vector<core::DeviceChoice> possible_devices(const std::string& hardware) {
  const bool has_gpu = std::count(hardware.begin(), hardware.end(), '|') > 2;  // hardware_class
  std::vector<core::DeviceChoice> devices = {core::kCpuDevice, core::kGpuDevice};
  if (has_gpu) std::swap(devices[0], devices[1]);
  for (int index = 0; index < kMaxGpus; ++index) devices.push_back({.is_gpu = true, .index = index});
  return devices;
}

/// The run with the device and arm that only its digest reveals; nullopt if none explain the digest.
std::optional<NewRun> with_hidden_parts(NewRun run) {
  if (run.engine != "nanobench-train") return std::nullopt;
  for (const core::DeviceChoice& device : possible_devices(run.hardware)) {
    run.device = device;
    for (run.arm = 0; run.arm <= kMaxArms; ++run.arm) {
      if (former::run_digest(run) == run.digest) return run;
    }
  }
  return std::nullopt;
}

class Renewal {
 public:
  explicit Renewal(Database& database) : database_(database) {}

  void run() {
    database_.execute(
        "UPDATE runs SET kernels = 'reference', engine = replace(engine, ', reference kernels', '') "
        "WHERE engine LIKE '%, reference kernels'");
    read_configs();
    read_runs();
    write_runs();
    renew_plans();
  }

 private:
  void read_configs() {
    Statement statement(database_, "SELECT DISTINCT config_digest, config FROM runs");
    while (statement.step()) {
      if (const auto digest = renewed_config(statement.text(1), statement.text(0)))
        configs_.emplace(statement.text(0), *digest);
    }
  }

  void read_runs() {
    Statement statement(database_, "SELECT " + run_columns() + " FROM runs WHERE engine = 'nanobench-train'");
    while (statement.step()) {
      const RunRecord row = read_run_row(statement);
      if (!configs_.contains(row.config_digest)) continue;
      if (std::optional<NewRun> run = with_hidden_parts(row)) {
        run->config.clear();
        runs_.emplace(row.id, std::move(*run));
      }
    }
  }

  /// The current identity of a run whose former parts are all known; nullopt if its configuration is not.
  std::optional<std::string> renewed(NewRun run) const {
    const auto config = configs_.find(run.config_digest);
    if (config == configs_.end()) return std::nullopt;
    run.config_digest = config->second;
    return run_digest(run);
  }

  void write_runs() {
    Statement run(database_, "UPDATE runs SET digest = ?, device = ?, arm = ? WHERE id = ?");
    for (const auto& [id, former_run] : runs_) {
      run.bind(*renewed(former_run), to_string(*former_run.device), former_run.arm, id);
      run.execute();
    }
    Statement config(database_, "UPDATE runs SET config_digest = ?2 WHERE config_digest = ?1");
    for (const auto& [before, now] : configs_) {
      config.rebind(1, before, now);
      config.execute();
    }
  }

  void renew_plans() {
    std::vector<PlanRecord> plans;
    {
      Statement statement(database_, "SELECT " + plan_columns() + " FROM plans");
      while (statement.step()) plans.push_back(read_plan_row(database_, statement));
    }
    for (PlanRecord& plan : plans) {
      bool is_whole = former::plan_digest(plan) == plan.digest;
      const std::map<std::string, std::string> lines = renewed_lines(plan);
      for (PlanLine& line : plan.lines) {
        const auto found = lines.find(line.digest);
        if (found == lines.end())
          is_whole = false;
        else
          line.digest = found->second;
      }
      for (PlanCell& cell : plan.cells) {
        const auto found = configs_.find(cell.config_digest);
        if (found == configs_.end())
          is_whole = false;
        else
          cell.config_digest = found->second;
      }
      if (is_whole) plan.digest = plan_digest(plan);
      update_identities(database_, plan);
    }
  }

  /// Former -> current digests of the plan's lines. The engine, data and machine of one of a plan's runs also apply to
  /// its other lines, including those that were never run; their former digest proves it.
  std::map<std::string, std::string> renewed_lines(const PlanRecord& plan) const {
    std::map<std::string, std::string> config_of;  // by cell
    for (const PlanCell& cell : plan.cells) config_of[cell.label] = cell.config_digest;
    std::map<std::string, const NewRun*> examples;  // by cell
    for (const PlanLine& line : plan.lines) {
      const auto run = line.run_id ? runs_.find(*line.run_id) : runs_.end();
      if (run != runs_.end()) examples.emplace(line.cell, &run->second);
    }
    std::map<std::string, std::string> renewed_digests;
    for (const PlanLine& line : plan.lines) {
      if (examples.empty()) break;
      const auto same_cell = examples.find(line.cell);
      NewRun run = same_cell == examples.end() ? *examples.begin()->second : *same_cell->second;
      run.seed = line.seed;
      run.config_digest = config_of[line.cell];
      if (former::run_digest(run) != line.digest) continue;
      if (const auto digest = renewed(run)) renewed_digests.emplace(line.digest, *digest);
    }
    return renewed_digests;
  }

  Database& database_;
  std::map<std::string, std::string> configs_;  ///< former digest -> current digest
  std::map<std::int64_t, NewRun> runs_;         ///< with their former digests, and without configurations
};

}  // namespace

void renew_identities(Database& database) {
  Renewal(database).run();
}

}  // namespace nanobench::results
