#include "suites/design/plan.h"

#include <algorithm>
#include <numeric>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "core/data/synthetic_corpus.h"
#include "results/identity.h"
#include "suites/design/data_source.h"
#include "suites/design/external_suite.h"
#include "suites/design/fit_data.h"

namespace nanobench::suites {
namespace {

using core::Json;

std::vector<std::size_t> shuffled(std::size_t count, core::SplitMix64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  return order;
}

TokenNeed need_of(const Matrix& matrix) {
  TokenNeed need;
  for (const Cell& cell : matrix.cells) {
    if (cell.operation) continue;
    const core::DataConfig& data = cell.config.data;
    // One more of each: the loader moves on before a read that would end exactly with the shard.
    need.train_tokens = std::max(need.train_tokens, data.tokens_per_step() * (cell.config.run.stop_after + 1) + 1);
    need.val_tokens = std::max(need.val_tokens, data.val_length() * (data.val_sequences + 1) + 1);
  }
  return need;
}

std::int64_t val_targets(const core::TrainConfig& config) {
  return config.data.val_sequences * config.data.val_length();
}

Json mock_settings(const Suite& suite, const Cell& cell) {
  if (suite.mock.is_null()) return nullptr;
  Json settings = suite.mock;
  settings.erase("cells");
  if (suite.mock.contains("cells") && suite.mock.at("cells").contains(cell.label))
    settings.merge_patch(suite.mock.at("cells").at(cell.label));
  if (cell.arm > 0) settings["arm"] = cell.arm;  // draws its own noise
  return settings;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Of an external trainer: the bytes count, not where they lie or which commit has them.
std::string external_identity(const Plan& plan, const PlannedRun& run) {
  Json external = run.spec.external;
  for (const char* key : {"folder", "revision", "suite_file"}) external.erase(key);
  Json parts = {{"external", std::move(external)}, {"seed", run.seed}, {"hardware", plan.hardware}};
  if (const std::int64_t arm = plan.cell_of(run).arm; arm > 0) parts["arm"] = arm;
  return core::digest_of(text_of(parts));
}

/// Of what the cell trains with, or measures.
std::string config_text(const Cell& cell) {
  if (cell.operation) return Json({{"operation", core::to_json(*cell.operation)}}).dump();
  return cell.external.is_null() ? core::to_json(cell.config).dump() : text_of(cell.external);
}

std::optional<std::string> record_of(const Cell& cell) {
  return cell.record.empty() ? std::nullopt : std::optional(cell.record);
}

core::RunSpec spec_of(const Plan& plan, const Cell& cell, std::uint64_t seed) {
  core::RunSpec spec;
  spec.config = cell.operation ? cell.operation->arms.back().config : cell.config;
  spec.operation = cell.operation;
  spec.seed = seed;
  spec.dtype = plan.suite.dtype;
  spec.threads = plan.threads;
  spec.device = plan.suite.device;
  spec.kernels = plan.suite.kernels;
  for (const auto& file : plan.data.train) spec.train_shards.push_back(file.string());
  for (const auto& file : plan.data.val) spec.val_shards.push_back(file.string());
  spec.mock = mock_settings(plan.suite, cell);
  if (!cell.external.is_null()) spec.external = external_settings(cell.external, seed);
  return spec;
}

/// The running row without its digest and configuration.
results::NewRun described(const Plan& plan, const PlannedRun& run) {
  const Cell& cell = plan.cell_of(run);
  results::NewRun row;
  row.suite = plan.suite.name;
  row.cell = cell.label;
  row.record = record_of(cell);
  row.scale = plan.suite.scale;
  row.seed = run.seed;
  row.config_digest = config_digest(cell);
  row.data_name = plan.data.name;
  row.data_digest = plan.data.digest;
  row.data_floor_nats = cell.floor_nats;
  row.dtype = cell.external.is_null() ? enum_name(run.spec.dtype) : "external";
  row.threads = run.spec.threads;
  row.engine = plan.engine.name;
  row.engine_version = plan.engine.version;
  row.hardware = plan.hardware;
  row.position = static_cast<std::int64_t>(run.position);
  row.arm = cell.arm;
  if (!cell.external.is_null()) return row;
  row.device = run.spec.device;
  row.kernels = run.spec.kernels;
  if (!run.spec.mock.is_null()) row.mock = text_of(run.spec.mock);
  return row;
}

}  // namespace

std::string config_digest(const Cell& cell) {
  if (cell.operation) return core::digest_of(core::changed_settings(*cell.operation).dump());
  return cell.external.is_null() ? cell.config.digest()
                                 : core::digest_of(text_of(external_configuration(cell.external)));
}

core::DataSet prepare_data(const Suite& suite, Matrix& matrix, const std::filesystem::path& cache_dir) {
  if (suite.external) return {.name = "external", .digest = "external"};
  const bool trains =
      std::any_of(matrix.cells.begin(), matrix.cells.end(), [](const Cell& cell) { return !cell.operation; });
  if (!trains) return {.name = "none", .digest = "none"};
  const DataRequest request = parse_data_request(suite.data, core::json_location(suite.source, "/data"));
  core::DataSet data = open_data(request, need_of(matrix), cache_dir);
  fit_to_data(matrix, data, request.kind == DataRequest::Kind::kShards);
  std::map<std::int64_t, std::optional<double>> floors;  // the oracle takes a while
  for (Cell& cell : matrix.cells) {
    if (cell.operation) continue;
    const std::int64_t targets = val_targets(cell.config);
    if (!floors.contains(targets)) floors[targets] = core::validation_floor(data, targets);
    cell.floor_nats = floors[targets];
  }
  return data;
}

Plan make_plan(const Suite& suite, const Matrix& matrix, const core::DataSet& data, const Engine& engine,
               const results::MachineInfo& machine) {
  Plan plan;
  plan.suite = suite;
  plan.matrix = matrix;
  plan.data = data;
  plan.engine = engine;
  plan.hardware = results::hardware_class(machine);
  plan.threads = suite.threads > 0 ? suite.threads : machine.cores;
  core::SplitMix64 random(suite.order_seed);
  for (const std::uint64_t seed : suite.seeds) {
    for (const std::size_t cell : shuffled(matrix.cells.size(), random)) {
      if (matrix.cells[cell].is_exact && seed != suite.seeds.front()) continue;
      PlannedRun run{plan.runs.size(), cell, seed, "", spec_of(plan, matrix.cells[cell], seed)};
      run.digest =
          run.spec.external.is_null() ? results::run_digest(described(plan, run)) : external_identity(plan, run);
      plan.runs.push_back(std::move(run));
    }
  }
  plan.digest = results::plan_digest(stored_plan(plan, {}));
  return plan;
}

results::NewPlan stored_plan(const Plan& plan, const std::vector<std::string>& argv) {
  results::NewPlan stored;
  stored.digest = plan.digest;
  stored.suite = plan.suite.name;
  stored.title = plan.suite.title;
  stored.design = plan.suite.design;
  stored.scale = plan.suite.scale;
  stored.data_name = plan.data.name;
  stored.target = plan.suite.target;
  stored.order_seed = plan.suite.order_seed;
  for (const Cell& cell : plan.matrix.cells)
    stored.cells.push_back({cell.label, record_of(cell), cell.changed, cell.features, config_digest(cell)});
  for (const PlannedRun& run : plan.runs) {
    stored.lines.push_back(
        {static_cast<std::int64_t>(run.position), plan.cell_of(run).label, run.seed, run.digest, std::nullopt});
  }
  stored.contrasts = plan.matrix.contrasts;
  stored.sequential = plan.suite.sequential;
  stored.messages = plan.matrix.messages;
  stored.argv = argv;
  return stored;
}

results::NewRun stored_run(const Plan& plan, const PlannedRun& run) {
  results::NewRun row = described(plan, run);
  row.digest = run.digest;
  row.config = config_text(plan.cell_of(run));
  return row;
}

}  // namespace nanobench::suites
