#include "suites/design/plan.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/data/choice_task.h"
#include "core/data/data_cache.h"
#include "core/data/data_loader.h"
#include "core/data/token_shard.h"
#include "results/identity.h"
#include "results/metric.h"
#include "suites/design/data_source.h"
#include "suites/design/external_suite.h"
#include "suites/design/run_data.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

std::vector<std::size_t> shuffled(std::size_t count, core::SplitMix64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  return order;
}

TokenNeed need_of_all(const Matrix& matrix) {
  TokenNeed need;
  for (const Cell& cell : matrix.cells) {
    if (cell.operation) continue;
    const TokenNeed of_cell = need_of(cell.config);
    need.train_tokens = std::max(need.train_tokens, of_cell.train_tokens);
    need.val_tokens = std::max(need.val_tokens, of_cell.val_tokens);
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

/// Identity of an external trainer: its bytes count, not their location or commit.
std::string external_identity(const Plan& plan, const PlannedRun& run) {
  Json external = run.spec.external;
  for (const char* key : {"folder", "has_named_sources", "revision", "source", "suite_file"}) external.erase(key);
  Json parts = {{"external", std::move(external)}, {"seed", run.seed}, {"hardware", plan.hardware}};
  if (const std::int64_t arm = plan.cell_of(run).arm; arm > 0) parts["arm"] = arm;
  return core::digest_of(core::safe_dump(parts));
}

/// Text of the configuration that the cell trains with, or of the operation that it measures.
std::string config_text(const Cell& cell) {
  if (cell.operation) return Json({{"operation", core::to_json(*cell.operation)}}).dump();
  return cell.external.is_null() ? core::to_json(cell.config).dump() : core::safe_dump(cell.external);
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
  spec.kernels = cell.kernels.value_or(plan.suite.kernels);
  if (!cell.operation && plan.suite.mock.is_null()) {
    spec.metrics = cell.metrics;
    spec.metrics.insert(plan.suite.metrics.begin(), plan.suite.metrics.end());
    if (spec.metrics.contains(core::AskedMetric::kHealth)) spec.health_every = plan.suite.health_every;
  }
  use_data(spec, plan.data);
  if (!cell.operation) spec.evaluations = plan.matrix.evaluations;
  spec.mock = mock_settings(plan.suite, cell);
  if (!cell.external.is_null()) spec.external = external_settings(cell.external, seed);
  return spec;
}

/// The running row without its digest and configuration.
results::NewRun described(const Plan& plan, const PlannedRun& run, const std::string& config) {
  const Cell& cell = plan.cell_of(run);
  results::NewRun row;
  row.suite = plan.suite.name;
  row.cell = cell.label;
  row.record = record_of(cell);
  row.scale = plan.suite.scale;
  row.seed = run.seed;
  row.config_digest = config;
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
  if (!run.spec.mock.is_null()) row.mock = core::safe_dump(run.spec.mock);
  return row;
}

/// Fits the cells of a matrix to the data that they will read, as prepare_data promises.
class DataFit {
 public:
  DataFit(Matrix& matrix, const core::DataSet& data, bool is_foreign)
      : matrix_(matrix), data_(data), is_foreign_(is_foreign) {}

  void fit(Cell& cell) {
    core::TrainConfig& config = cell.config;
    config.attention.document_separator = data_.separator;
    fit_vocabulary(cell);
    fit_validation(config);
    require_enough(config);
    fit_length(config);
    require_prefixes(cell);
    core::check_train_config(config, cell.label + " on data " + data_.name);
  }

 private:
  void note(const std::string& text) {
    std::vector<core::Message>& messages = matrix_.messages;
    const core::Message message = data_note(data_.name, text);
    if (std::find(messages.begin(), messages.end(), message) == messages.end()) messages.push_back(message);
  }

  /// A vocabulary from the scale or the record is enlarged; a requested one must contain every token.
  void fit_vocabulary(Cell& cell) {
    std::int64_t& vocab_size = cell.config.model.vocab_size;
    const bool is_small = vocab_size < data_.vocab_size;
    if (is_small && cell.vocabulary_asked_by.empty()) {
      note("the vocabulary is enlarged from " + std::to_string(vocab_size) + " to " + std::to_string(data_.vocab_size) +
           " tokens");
      vocab_size = data_.vocab_size;
    }
    if ((is_small && !cell.vocabulary_asked_by.empty()) || is_foreign_) require_tokens_below(vocab_size, cell);
  }

  void require_tokens_below(std::int64_t vocab_size, const Cell& cell) {
    if (!checked_.insert(vocab_size).second) return;
    try {
      for (const auto* split : {&data_.train, &data_.val}) {
        for (const std::filesystem::path& file : *split) core::TokenShard(file).check_token_range(vocab_size);
      }
    } catch (const Error& error) {
      const std::string who =
          cell.vocabulary_asked_by.empty() ? "" : " (asked for by " + cell.vocabulary_asked_by + ")";
      throw_again(error, cell.label + ": the vocabulary of " + std::to_string(vocab_size) + " tokens" + who +
                             " is too small: " + error.what());
    }
  }

  /// The bytes of the tokens, where the loss looks at them.
  void require_prefixes(const Cell& cell) {
    if (cell.config.loss.prefix.empty()) return;
    if (!data_.vocabulary)
      throw core::Refusal(
          ErrorCode::kInvalidArgument, core::Reason::kMissingFile,
          cell.label + ": /loss/prefix needs the bytes of the tokens, but data " + data_.name + " has no file \"" +
              core::kVocabularyFile +
              "\" in its folder; GPT-2's tokens are in r50k_base.tiktoken, to be copied there by that name",
          core::kVocabularyFile);
    const std::vector<std::int32_t>& prefixes = prefixes_of(*data_.vocabulary);
    if (std::cmp_greater(prefixes.size(), cell.config.model.vocab_size))
      throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kOtherVocabulary,
                          cell.label + ": " + data_.vocabulary->string() + " has " + std::to_string(prefixes.size()) +
                              " tokens, but /model/vocab_size is " + std::to_string(cell.config.model.vocab_size),
                          data_.vocabulary->string());
    const auto has_prefix = [](std::int32_t prefix) { return prefix >= 0; };
    if (std::none_of(prefixes.begin(), prefixes.end(), has_prefix))
      note("no token of its vocabulary begins with another, so /loss/prefix has no effect");
  }

  const std::vector<std::int32_t>& prefixes_of(const std::filesystem::path& file) {
    if (!prefixes_) prefixes_ = core::longest_prefixes(core::read_vocabulary(file));
    return *prefixes_;
  }

  /// The loader reads a step's worth at a time and never the shard's last token (it is only a target).
  std::int64_t val_reads(const core::DataConfig& config) const {
    return (data_.val_tokens - 1 - config.loader.reserve_tokens) / config.val_length();
  }

  static std::int64_t val_sequences_at_once(const core::DataConfig& config) {
    return config.loader.position == core::LoaderPosition::kGlobal ? config.sequences_per_step
                                                                   : config.ranks * config.loader.sequences_per_read;
  }

  void fit_validation(core::TrainConfig& config) {
    core::DataConfig& to = config.data;
    const std::int64_t fitting = val_reads(to) / to.sequences_per_step * to.sequences_per_step;
    if (to.val_sequences <= fitting || fitting == 0 || data_.val.size() > 1) return;
    note("validation reads " + std::to_string(fitting) + " sequences of " + std::to_string(to.val_length()) +
         " tokens instead of " + std::to_string(to.val_sequences) + ", all that there are");
    to.val_sequences = fitting;
  }

  void require_enough(const core::TrainConfig& config) const {
    const std::int64_t least = config.data.tokens_per_step() + config.data.loader.reserve_tokens + 1;
    const std::int64_t least_val = val_sequences_at_once(config.data);
    if (data_.train_tokens >= least && val_reads(config.data) >= least_val) return;
    throw core::Refusal(
        ErrorCode::kInvalidArgument, core::Reason::kTooShort,
        "data " + data_.name + " is too short: it has " + std::to_string(data_.train_tokens) +
            " tokens to train on and " + std::to_string(data_.val_tokens) + " to validate, one step takes " +
            std::to_string(least) + " and one read of the validation " +
            std::to_string(least_val * config.data.val_length() + 1) + "; give more data or a smaller scale",
        data_.name);
  }

  /// Records from #19 on end with their data. Here, too little data is no reason to stop in the middle of a run.
  void fit_length(core::TrainConfig& config) {
    core::LoaderConfig& loader = config.data.loader;
    if (loader.wrap) return;
    std::int64_t steps = 0;
    for (const std::filesystem::path& file : data_.train)
      steps += core::steps_of_tokens(config.data, core::TokenShard(file).size());
    if (steps >= config.run.stop_after) return;
    note("it holds " + std::to_string(steps) + " of the " + std::to_string(config.run.stop_after) +
         " steps, so it is read again from its start");
    loader.wrap = true;
  }

  Matrix& matrix_;
  const core::DataSet& data_;
  const bool is_foreign_;
  std::optional<std::vector<std::int32_t>> prefixes_;
  std::set<std::int64_t> checked_;  ///< vocabularies that contain every token
};

std::string without_position(core::TrainConfig config) {
  config.data.loader.position = core::LoaderPosition::kPerRank;
  return config.digest();
}

/// Says why two cells that differ only in the position of the ranks give the same losses, where they do.
void note_same_positions(Matrix& matrix, const core::DataSet& data) {
  std::map<std::string, const Cell*> together;
  const auto is_together = [](const Cell& cell) {
    return cell.config.data.loader.position == core::LoaderPosition::kGlobal;
  };
  for (const Cell& cell : matrix.cells) {
    if (!cell.operation && is_together(cell)) together.emplace(without_position(cell.config), &cell);
  }
  if (together.empty()) return;
  core::ShardList shards;
  for (const Cell& cell : matrix.cells) {
    if (cell.operation || is_together(cell)) continue;
    const auto other = together.find(without_position(cell.config));
    if (other == together.end()) continue;
    if (!shards) shards = core::open_shards(data.train, core::ShardStorage::kMapped);
    const core::PositionComparison positions = core::compare_positions(cell.config, shards);
    if (!positions.is_same) continue;
    // First, because it explains an effect of exactly 0.
    matrix.messages.insert(
        matrix.messages.begin(),
        data_note(data.name, same_positions(cell.label, other->second->label, cell.config.run.stop_after,
                                            positions.leaves_first_shard)));
  }
}

/// `is_foreign`: shards that have never been read completely, so every token is checked.
void fit_to_data(Matrix& matrix, const core::DataSet& data, bool is_foreign) {
  DataFit fit(matrix, data, is_foreign);
  for (Cell& cell : matrix.cells) {
    if (!cell.operation) fit.fit(cell);
  }
  note_same_positions(matrix, data);
}

void prepare_evaluations(const Suite& suite, Matrix& matrix, const std::filesystem::path& cache_dir) {
  for (const EvaluationRequest& request : suite.evaluations) {
    const std::string what = suite.source + ": the evaluation " + request.name;
    if (request.file.empty() && suite.data.kind != DataRequest::Kind::kSynthetic)
      throw Error(ErrorCode::kInvalidArgument,
                  what + " is about the generated corpus, but the models are trained on other data; name a file");
    const core::ChoiceTask task = read_task(request);
    for (const Cell& cell : matrix.cells) {
      if (cell.operation) continue;
      check_tokens(task, cell.config.model.vocab_size, what + " of " + cell.label);
      check_endings(task, cell.config.data.val_length(), what + " of " + cell.label);
    }
    matrix.evaluations.push_back(cached_evaluation(request, task, cache_dir));
  }
}

}  // namespace

std::map<std::string, std::string> evaluation_facts(const core::RunSpec& spec) {
  std::map<std::string, std::string> facts;
  for (const core::EvaluationSpec& evaluation : spec.evaluations)
    facts[results::evaluation_metric(evaluation.name, results::kEvaluationItems)] = evaluation.digest;
  return facts;
}

namespace {

/// What every completed run stores that measured this.
std::string tag_of(core::AskedMetric metric) {
  if (metric == core::AskedMetric::kHealth) return results::kGradientNorm;
  return results::kValPrefix + enum_name(metric);
}

}  // namespace

results::EvidenceNeed needed_evidence(const PlannedRun& run, bool needs_times) {
  results::EvidenceNeed need{.times = needs_times};
  for (const core::AskedMetric metric : run.spec.metrics) need.metrics.push_back(tag_of(metric));
  need.facts = evaluation_facts(run.spec);
  if (!run.spec.external.is_null()) need.trainer_folder = run.spec.external.value("folder", "");
  return need;
}

std::string config_digest(const Cell& cell) {
  if (cell.operation) return core::digest_of(core::changed_settings(*cell.operation).dump());
  return cell.external.is_null() ? cell.config.digest()
                                 : core::digest_of(core::safe_dump(external_configuration(cell.external)));
}

core::DataSet prepare_data(const Suite& suite, Matrix& matrix, const std::filesystem::path& cache_dir) {
  if (suite.external) return {.name = "external", .digest = "external"};
  const bool trains =
      std::any_of(matrix.cells.begin(), matrix.cells.end(), [](const Cell& cell) { return !cell.operation; });
  if (!trains) return {.name = "none", .digest = "none"};
  core::DataSet data = open_data(suite.data, need_of_all(matrix), cache_dir);
  fit_to_data(matrix, data, suite.data.kind == DataRequest::Kind::kShards);
  std::map<std::int64_t, std::optional<double>> floors;  // cached, because the oracle is slow
  for (Cell& cell : matrix.cells) {
    if (cell.operation) continue;
    const std::int64_t targets = val_targets(cell.config);
    if (!floors.contains(targets)) floors[targets] = core::validation_floor(data, targets);
    cell.floor_nats = floors[targets];
  }
  prepare_evaluations(suite, matrix, cache_dir);
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
  std::vector<std::string> configs;  // a suite may have many more seeds than cells
  for (const Cell& cell : matrix.cells) configs.push_back(config_digest(cell));
  core::SplitMix64 random(suite.order_seed);
  for (std::size_t index = 0; index < suite.seeds.size(); ++index) {
    const std::uint64_t seed = suite.seeds[index];
    for (const std::size_t cell : shuffled(matrix.cells.size(), random)) {
      const std::size_t limit = matrix.cells[cell].is_exact ? 1 : matrix.cells[cell].seed_limit.value_or(index + 1);
      if (index >= limit) continue;
      PlannedRun run{plan.runs.size(), cell, seed, "", spec_of(plan, matrix.cells[cell], seed)};
      run.digest = run.spec.external.is_null() ? results::run_digest(described(plan, run, configs[cell]))
                                               : external_identity(plan, run);
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
    stored.cells.push_back({cell.label, record_of(cell), cell.changes, cell.features, config_digest(cell)});
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
  results::NewRun row = described(plan, run, config_digest(plan.cell_of(run)));
  row.digest = run.digest;
  row.config = config_text(plan.cell_of(run));
  return row;
}

}  // namespace nanobench::suites
