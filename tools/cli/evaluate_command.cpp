// `nanobench evaluate CHECKPOINT|CELL... --task FILE`: multiple choice by models whose weights were kept.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/data/checkpoint_header.h"
#include "core/data/corpus_model.h"
#include "reports/evaluation/evaluation.h"
#include "reports/kinds/kinds.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/weights.h"
#include "suites/design/evaluations.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

struct EvaluateOptions {
  std::vector<std::string> models;
  std::string task;
  std::string name;
  std::string vocabulary;
  std::size_t limit = 0;
  bool stores = false;
  std::string suite;
  std::string database;
  EngineOptions engine;
  bool is_json = false;
  bool is_quiet = false;
};

constexpr const char* kEvaluateFooter =
    "Examples:\n"
    "  nanobench run speedrun_history --keep-weights last && nanobench evaluate record12 record18 --task generated\n"
    "  nanobench evaluate record18 --task hellaswag_val.bin --limit 1000      a file of llm.c\n"
    "  nanobench evaluate model.safetensors --task hellaswag_val.jsonl --vocabulary gpt2/\n"
    "\n"
    "A task is a file of items in llm.c's format, HellaSwag's JSON lines with the folder of vocab.bpe and "
    "encoder.json,\n"
    "or generated[:N]: items from the process behind the generated corpus, whose best possible accuracy is known. An\n"
    "answer is the ending with the smallest loss, as the sum over its tokens (accuracy) and as their mean. Several\n"
    "models are compared with the first, item by item (McNemar's test). A CELL is one of the newest stored suite; "
    "each\n"
    "of its runs answers. Nothing is downloaded. More in docs/evaluation.md.";

/// One set of weights.
struct EvaluatedWeights {
  fs::path file;
  std::uint64_t seed = 0;
  std::optional<results::RunRecord> run;  ///< that kept them
};

/// What one argument names.
struct Model {
  std::string label;
  std::vector<EvaluatedWeights> weights;
};

/// The newest weights that the run kept, if it kept any. Throws Error{kDataLoss} if they are no longer what was kept.
std::optional<fs::path> kept_weights(const results::Store& store, const results::RunRecord& run) {
  const std::vector<results::KeptFile> files = results::kept_files(store.run_facts(run.id));
  if (files.empty()) return std::nullopt;
  const fs::path folder = results::weights_folder(store.file(), run.id);
  if (const std::optional<std::string> problem = results::problem_of(folder, files.back()))
    throw Error(ErrorCode::kDataLoss, (folder / files.back().name).string() + ", the weights of " + run.cell +
                                          ", seed " + std::to_string(run.seed) + ", " + *problem);
  return folder / files.back().name;
}

Model model_of_cell(const results::Store& store, const results::PlanRecord& plan, const std::string& label) {
  Model model{.label = label};
  int completed = 0;
  for (const results::PlanLine& line : plan.lines) {
    if (line.cell != label || !line.run_id) continue;
    const results::RunRecord run = store.run(*line.run_id);
    if (!run.is_completed()) continue;
    ++completed;
    if (const std::optional<fs::path> file = kept_weights(store, run))
      model.weights.push_back({.file = *file, .seed = run.seed, .run = run});
  }
  std::sort(model.weights.begin(), model.weights.end(),
            [](const EvaluatedWeights& a, const EvaluatedWeights& b) { return a.seed < b.seed; });
  if (!model.weights.empty()) return model;
  throw Error(ErrorCode::kNotFound, label + (completed == 0 ? " has no completed run" : " kept no weights") + " in " +
                                        store.file().string() + "; `nanobench run " + plan.suite +
                                        " --keep-weights last` keeps those of new runs");
}

class Models {
 public:
  explicit Models(const EvaluateOptions& options) : options_(options) {}

  std::vector<Model> read() {
    std::vector<Model> models;
    for (const std::string& text : options_.models) {
      models.push_back(model_of(text));
      const auto is_same = [&](const Model& other) { return other.label == models.back().label; };
      if (std::count_if(models.begin(), models.end(), is_same) > 1)
        throw Error(ErrorCode::kInvalidArgument, text + " is named twice; name each model once");
    }
    return models;
  }

 private:
  Model model_of(const std::string& text) {
    std::error_code ignored;
    if (fs::exists(text, ignored)) {
      if (options_.stores)
        throw Error(ErrorCode::kInvalidArgument, "--store needs cells of stored runs, and " + text + " is a file");
      return {.label = text, .weights = {{.file = full_path(text)}}};
    }
    if (text.ends_with(".safetensors")) throw Error(ErrorCode::kNotFound, text + " does not exist; check the path");
    const results::PlanRecord& plan = newest_plan(text);
    std::vector<std::string> labels;
    for (const results::PlanCell& cell : plan.cells) labels.push_back(cell.label);
    if (std::find(labels.begin(), labels.end(), text) == labels.end())
      throw Error(ErrorCode::kNotFound, "\"" + text + "\" is neither a file nor a cell of the suite " + plan.suite +
                                            core::suggestion(text, labels));
    return model_of_cell(*store_, plan, text);
  }

  const results::PlanRecord& newest_plan(const std::string& text) {
    if (plan_) return *plan_;
    const fs::path file = database_file(options_.database);
    std::error_code ignored;
    if (!fs::exists(file, ignored))
      throw Error(ErrorCode::kNotFound, "\"" + text + "\" is no file, and there are no stored runs in " +
                                            file.string() + " whose cell it could be");
    store_.emplace(file, results::OpenMode::kReadOnly);
    const auto plan =
        store_->newest_plan(options_.suite.empty() ? std::nullopt : std::optional<std::string>(options_.suite));
    if (!plan) {
      throw Error(ErrorCode::kNotFound, file.string() + " holds no results" +
                                            (options_.suite.empty() ? "" : " of the suite " + options_.suite));
    }
    plan_ = *plan;
    return *plan_;
  }

  const EvaluateOptions& options_;
  std::optional<results::Store> store_;
  std::optional<results::PlanRecord> plan_;
};

suites::EvaluationRequest request_of(const EvaluateOptions& options) {
  suites::EvaluationRequest request = suites::parse_evaluation(options.task, "--task");
  if (!options.name.empty()) {
    if (!core::is_evaluation_name(options.name))
      throw Error(ErrorCode::kInvalidArgument,
                  "--name: expected at most 40 letters a to z, digits and \"_\", the first a letter, got \"" +
                      options.name + "\"");
    request.name = options.name;
  }
  if (options.limit > 0) request.items = options.limit;
  request.vocabulary = options.vocabulary;
  return request;
}

/// Whether the shards are of the corpus whose process generated items are drawn from; true if they are gone.
bool is_of_generated_corpus(const core::RunSpec& spec) {
  if (spec.config.attention.document_separator != core::CorpusConfig{}.separator()) return false;
  if (spec.val_shards.empty()) return true;
  const std::optional<std::string> text =
      core::read_beginning(fs::path(spec.val_shards.front()).parent_path() / "meta.json");
  if (!text) return true;
  const core::Json meta = core::json_or_null(*text);
  if (!meta.is_object() || core::string_in(meta, "kind") != "synthetic") return false;
  const core::Json details = meta.value("details", core::Json::object());
  return details.is_object() && details.value("corpus", core::Json()) == to_json(core::CorpusConfig{});
}

core::RunSpec spec_of(const EvaluatedWeights& weights, const core::EvaluationSpec& evaluation, bool is_generated,
                      const EvaluateOptions& options) {
  const core::CheckpointHeader header = core::read_checkpoint_header(weights.file);
  const core::RunSpec written = core::read_run_spec(header.spec, weights.file.string() + "#run_spec");
  if (is_generated && !is_of_generated_corpus(written))
    throw Error(ErrorCode::kInvalidArgument,
                weights.file.string() + " was trained on other data than the generated corpus; name a file of items");
  core::RunSpec spec;
  spec.run_id = "evaluate";
  spec.config = written.config;
  spec.config.distributed.processes = 1;
  spec.seed = written.seed;
  spec.dtype = written.dtype;
  spec.kernels = written.kernels;
  spec.device = written.device;
  options.engine.apply(spec);
  spec.init_file = weights.file.string();
  spec.evaluations = {evaluation};
  spec.only_evaluates = true;
  return spec;
}

/// What one set of weights answered.
struct WeightsAnswers {
  reports::ModelAnswers answers;
  std::optional<core::EvaluationEvent> result;
  std::optional<core::FinishedEvent> finished;
};

class Evaluator {
 public:
  Evaluator(const core::EvaluationSpec& evaluation, const EvaluateOptions& options)
      : evaluation_(evaluation), options_(options), engine_(suites::native_engine(engine_program())) {}

  /// nullopt if the engine did not finish; `code` is then the exit code.
  std::optional<WeightsAnswers> answer(const core::RunSpec& spec, const Model& model, std::uint64_t seed, int& code) {
    WeightsAnswers answers{.answers = {.seed = seed,
                                       .items = evaluation_.digest,
                                       .correct = {},
                                       .correct_norm = {},
                                       .chance = std::nullopt,
                                       .best_accuracy = std::nullopt}};
    StatusLines lines(write_to_stderr, stderr_display().is_live && !options_.is_quiet);
    const auto on_event = [&](const core::RunEvent& event) { take(event, answers, lines); };
    const auto on_tick = [&] {
      lines.show({model.label + ": " + format_count(static_cast<std::int64_t>(answers.answers.correct.size())) +
                  " items answered"},
                 stderr_display().width());
    };
    const ForegroundResult result = run_in_foreground(
        engine_.command, spec,
        {.on_event = on_event, .on_tick = on_tick, .on_output = [&](const std::string& line) { lines.print(line); }});
    lines.clear();
    code = report_end(result);
    answers.finished = result.end.finished;
    return code == 0 && answers.result ? std::optional(std::move(answers)) : std::nullopt;
  }

  const suites::Engine& engine() const { return engine_; }

 private:
  void take(const core::RunEvent& event, WeightsAnswers& answers, StatusLines& lines) const {
    if (const auto* choice = std::get_if<core::ChoiceEvent>(&event)) {
      answers.answers.correct[choice->item] = choice->is_correct;
      answers.answers.correct_norm[choice->item] = choice->is_correct_norm;
    } else if (const auto* result = std::get_if<core::EvaluationEvent>(&event)) {
      answers.result = *result;
      answers.answers.chance = result->chance;
      answers.answers.best_accuracy = result->best_accuracy;
    } else if (const auto* warning = std::get_if<core::WarningEvent>(&event);
               warning != nullptr && !options_.is_quiet) {
      lines.print(warning->message);
    }
  }

  const core::EvaluationSpec& evaluation_;
  const EvaluateOptions& options_;
  suites::Engine engine_;
};

/// The run that answered, as a row of its own beside the run whose weights it read.
results::FinishedRun stored(const results::RunRecord& run, const WeightsAnswers& answers,
                            const core::EvaluationSpec& evaluation, const suites::Engine& engine) {
  results::FinishedRun finished{.run = run, .result = {.outcome = core::RunOutcome::kCompleted}, .batch = {}};
  finished.run.suite = results::kEvaluationSuite;
  finished.run.engine = results::kEvaluationSuite;  // its digest is not one of a training
  finished.run.plan_id.reset();
  finished.run.position.reset();
  finished.run.engine_version = engine.version;
  finished.run.digest = core::digest_of(core::Json({{"evaluation", evaluation.name},
                                                    {"items", evaluation.digest},
                                                    {"of", run.digest},
                                                    {"engine_version", engine.version}})
                                            .dump());
  finished.result.steps = 0;
  finished.result.timed_steps = 0;
  finished.result.exit_code = 0;
  if (answers.finished) finished.result.peak_bytes = answers.finished->peak_bytes;
  const auto tag = [&](const char* what) { return results::evaluation_metric(evaluation.name, what); };
  finished.batch.facts = {{tag(results::kEvaluationItems), evaluation.digest}, {results::kEvaluationOf, run.digest}};
  const auto add = [&](const char* what, std::int64_t step, double value) {
    finished.batch.samples[tag(what)].push_back({step, value});
  };
  for (const auto& [item, is_right] : answers.answers.correct) add(results::kCorrect, item, is_right ? 1 : 0);
  for (const auto& [item, is_right] : answers.answers.correct_norm) add(results::kCorrectNorm, item, is_right ? 1 : 0);
  const core::EvaluationEvent& result = *answers.result;
  add(results::kAccuracy, result.step, result.accuracy);
  add(results::kAccuracyNorm, result.step, result.accuracy_norm);
  add(results::kChance, result.step, result.chance);
  if (result.best_accuracy) add(results::kBestAccuracy, result.step, *result.best_accuracy);
  return finished;
}

void add_next_steps(reports::Document& document, const EvaluateOptions& options, const std::vector<Model>& models) {
  const std::vector<std::string> words = {"evaluate", models.front().label, "OTHER", "--task", options.task};
  if (models.size() == 1)
    document.next.push_back({.command = shell_words(words), .gain = "compares two models, item by item"});
  if (options.stores) {
    document.next.push_back({.command = "report", .gain = "shows the accuracies beside losses and times"});
  } else if (models.front().weights.front().run) {
    std::vector<std::string> again = {"evaluate"};
    for (const Model& model : models) again.push_back(model.label);
    for (const char* word : {"--task", options.task.c_str(), "--store"}) again.emplace_back(word);
    document.next.push_back({.command = shell_words(again), .gain = "keeps the answers, for `nanobench report`"});
  } else {
    document.next.push_back(
        {.command = "help evaluation", .gain = "what the numbers mean, and how suites answer tasks"});
  }
}

/// One name has the same items in all of a store. Throws Error{kConflict} where it has others.
void check_name(const EvaluateOptions& options, const core::EvaluationSpec& evaluation) {
  if (!options.stores) return;
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  const std::string fact = results::evaluation_metric(evaluation.name, results::kEvaluationItems);
  for (const results::RunRecord& run : store.runs({.outcome = core::RunOutcome::kCompleted})) {
    const auto facts = store.run_facts(run.id);
    const auto known = facts.find(fact);
    if (known == facts.end() || known->second == evaluation.digest) continue;
    throw Error(ErrorCode::kConflict, "--name " + evaluation.name + ": run " + std::to_string(run.id) +
                                          " has answers to other items under this name; choose another name");
  }
}

int evaluate(const EvaluateOptions& options) {
  const suites::EvaluationRequest request = request_of(options);
  const std::vector<Model> models = Models(options).read();
  const core::ChoiceTask task = suites::read_task(request);
  const core::EvaluationSpec evaluation = suites::cached_evaluation(request, task, cache_folder());
  check_name(options, evaluation);
  std::vector<core::RunSpec> specs;  // all are checked before the first answers
  for (const Model& model : models) {
    for (const EvaluatedWeights& weights : model.weights) {
      specs.push_back(spec_of(weights, evaluation, request.file.empty(), options));
      check_tokens(task, specs.back().config.model.vocab_size, options.task);
      check_endings(task, specs.back().config.data.val_length(), options.task);
    }
  }
  Evaluator evaluator(evaluation, options);
  reports::Evaluation result{.name = request.name, .cells = {}};
  std::vector<results::FinishedRun> finished;
  auto spec = specs.begin();
  for (const Model& model : models) {
    reports::CellAnswers& cell = result.cells.emplace_back(reports::CellAnswers{.label = model.label, .models = {}});
    if (&model != &models.front()) cell.reference = models.front().label;
    for (const EvaluatedWeights& weights : model.weights) {
      int code = 0;
      std::optional<WeightsAnswers> answers = evaluator.answer(*spec++, model, weights.seed, code);
      if (!answers) return code == 0 ? core::kExitIncomplete : code;
      if (options.stores) finished.push_back(stored(*weights.run, *answers, evaluation, evaluator.engine()));
      cell.models.push_back(std::move(answers->answers));
    }
  }
  if (options.stores) {
    results::Store store(database_file(options.database));
    store.add_finished_runs(finished, results::this_process());
  }
  reports::Document document = reports::evaluation_report({result}, "Evaluation: " + request.name);
  add_next_steps(document, options, models);
  print(document, options.is_json);
  return core::kExitSuccess;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("evaluate", "Multiple choice by models whose weights were kept");
  const auto options = std::make_shared<EvaluateOptions>();
  command->add_option("MODEL", options->models, "A checkpoint (safetensors), or a cell whose runs kept weights")
      ->required();
  command->add_option("--task", options->task, "File of items, or generated[:N]")->type_name("TASK")->required();
  command->add_option("--name", options->name, "Name of the task in metrics (default: from the file)")
      ->type_name("NAME");
  command->add_option("--vocabulary", options->vocabulary, "Folder of vocab.bpe and encoder.json (default: the file's)")
      ->type_name("DIR");
  command->add_option("--limit", options->limit, "Answer only the first N items")
      ->type_name("N")
      ->check(CLI::Range(1, 65535).description(""));
  command->add_flag("--store", options->stores, "Keep the answers in the database, for reports");
  command->add_option("--suite", options->suite, "Cells of this stored suite (default: the newest)")->type_name("NAME");
  add_database_option(*command, options->database);
  add_engine_options(*command, options->engine);
  add_json_option(*command, options->is_json);
  command->add_flag("--quiet", options->is_quiet, "Print no progress on standard error");
  command->footer(kEvaluateFooter);
  command->callback([options, &session] { session.exit_code = evaluate(*options); });
}

}  // namespace nanobench::tools
