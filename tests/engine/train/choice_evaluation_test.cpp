// Multiple choice: the losses of endings against a softmax written out here, over every golden model; the layout of
// sequences; the answers of a run, of several processes, and of a file of parameters.
#include "engine/train/choice_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ablations/resolve.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/config/schedule.h"
#include "core/data/corpus_model.h"
#include "core/data/generated_items.h"
#include "engine/train/checkpoint.h"
#include "engine/train/evaluation_run.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/golden_training.h"
#include "tests/engine/late_golden_config.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

using Tokens = std::vector<std::uint16_t>;

TEST(EndingSequence, HoldsSeparatorContextEndingAndWholeBlocks) {
  const EndingSequence sequence = ending_sequence(Tokens{1, 2, 3}, Tokens{4, 5}, 9, 4, 16);
  EXPECT_EQ(sequence.tokens, (Tokens{9, 1, 2, 3, 4, 5, 9, 9, 9})) << "T = 8";
  EXPECT_EQ(sequence.first, 3) << "the target of the context's last token";
  EXPECT_EQ(sequence.count, 2);
  const EndingSequence exact = ending_sequence(Tokens{1, 2, 3}, Tokens{4}, 9, 4, 16);
  EXPECT_EQ(exact.tokens, (Tokens{9, 1, 2, 3, 4})) << "T = 4 needs nothing more";
  const EndingSequence cut = ending_sequence(Tokens{1, 2, 3, 4, 5, 6}, Tokens{7, 8}, 9, 4, 4);
  EXPECT_EQ(cut.tokens, (Tokens{9, 5, 6, 7, 8})) << "the context loses its beginning";
  EXPECT_EQ(cut.first, 2);
  EXPECT_EQ(ending_sequence(Tokens{}, Tokens{7}, 9, 4, 4).first, 0);
}

TEST(ChoiceAnswer, IsTheFirstOfTheSmallest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ChoiceAnswer answer = answer_of({{.sum = 6, .tokens = 2}, {.sum = 4, .tokens = 1}, {.sum = 4, .tokens = 2}});
  EXPECT_EQ(answer.by_sum, 1U) << "two are equal";
  EXPECT_EQ(answer.by_mean, 2U) << "2 nats a token against 3 and 4";
  EXPECT_EQ(answer_of({{.sum = nan, .tokens = 1}, {.sum = 5, .tokens = 1}}).by_sum, 1U);
  EXPECT_FALSE(answer_of({{.sum = nan, .tokens = 1}}).by_sum) << "no answer is right";
  EXPECT_FALSE(answer_of({{.sum = nan, .tokens = 1}}).by_mean);
}

// --- every golden model ---

RunSpec golden_model_spec(const std::filesystem::path& folder) {
  if (folder.parent_path().filename() != "golden_42_89") return golden_spec(folder, "float64");
  const std::string source = (folder / "config.json").string();
  RunSpec spec{.run_id = folder.filename().string(), .config = late_golden_config(read_json_file(source), source)};
  spec.dtype = Dtype::kFloat64;
  spec.threads = 1;
  spec.init_file = (folder / "init.safetensors").string();
  return spec;
}

std::vector<std::filesystem::path> golden_model_folders() {
  std::vector<std::filesystem::path> folders;
  for (const char* name : {"golden", "golden_22_41", "golden_42_89"}) {
    for (const auto& entry : std::filesystem::directory_iterator(golden_data(name))) {
      if (std::filesystem::exists(entry.path() / "expected.json") &&
          std::filesystem::exists(entry.path() / "init.safetensors"))
        folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

ChoiceItem some_item(const TrainConfig& config) {
  SplitMix64 random(7);
  const auto word = [&] {
    const auto token = static_cast<std::uint16_t>(random.below(static_cast<std::uint64_t>(config.model.vocab_size)));
    return token == config.attention.document_separator ? static_cast<std::uint16_t>(token == 0 ? 1 : token - 1)
                                                        : token;
  };
  ChoiceItem item{.number = 0, .right = 0, .context = {}, .endings = {{}, {}, {}}};
  for (int i = 0; i < 11; ++i) item.context.push_back(word());
  for (std::size_t ending = 0; ending < 3; ++ending)
    for (std::size_t i = 0; i <= 2 * ending; ++i) item.endings[ending].push_back(word());
  return item;
}

struct EvaluatedModel {
  explicit EvaluatedModel(const RunSpec& spec) : config(spec.config), gpt(config, at::kDouble) {
    gpt.parameters().assign(read_parameters(*spec.init_file), *spec.init_file);
    const std::int64_t step = config.run.stop_after;
    windows = step_windows(config.attention, config.schedule, step);
    if (window_changes_attention(config.model))
      gpt.follow_windows(window_history(config.attention, config.schedule, step));
  }
  TrainConfig config;
  GPT gpt;
  StepWindows windows;
};

/// The sequence by hand: separator, context, ending, and other tokens than separators for blocks beyond the scorer's.
Tokens sequence_by_hand(const ChoiceItem& item, std::size_t ending, const TrainConfig& config) {
  Tokens tokens{static_cast<std::uint16_t>(config.attention.document_separator)};
  tokens.insert(tokens.end(), item.context.begin(), item.context.end());
  tokens.insert(tokens.end(), item.endings[ending].begin(), item.endings[ending].end());
  const std::int64_t blocks = static_cast<std::int64_t>(tokens.size()) / config.attention.block_size + 3;
  while (tokens.size() < static_cast<std::size_t>(blocks * config.attention.block_size) + 1) tokens.push_back(1);
  return tokens;
}

/// -ln softmax(cap(logits))[target], with the loops written out.
double loss_by_hand(const double* logits, std::int64_t count, std::uint16_t target, const ModelConfig& model) {
  const auto capped = [&](double x) {
    if (!model.logit_softcap) return x;
    const double cap = *model.logit_softcap;
    return model.logit_softcap_form == SoftcapForm::kTanh ? cap * std::tanh(x / cap)
                                                          : 2 * cap / (1 + std::exp(-2 * x / cap));
  };
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(capped(logits[i]) - capped(logits[target]));
  return std::log(sum);
}

TEST(ChoiceScorer, FindsTheLossesOfASoftmaxByHand) {
  int compared = 0;
  for (const std::filesystem::path& folder : golden_model_folders()) {
    SCOPED_TRACE(folder.filename().string());
    RunSpec spec = golden_model_spec(folder);
    spec.config.precision.validation = ValidationPrecision::kFloat32;  // no rounding between logits and loss
    spec.config.precision.cross_entropy = LossPrecision::kFloat32;
    if (spec.config.model.logit_cap.scale) continue;  // another cap; below
    const EvaluatedModel model(spec);
    const ChoiceItem item = some_item(model.config);
    const std::vector<EndingLoss> losses = ChoiceScorer(model.gpt, model.config, model.windows).losses(item);
    for (std::size_t ending = 0; ending < item.endings.size(); ++ending) {
      at::Tensor logits;
      const SequenceInputs inputs(model.config, at::kDouble, at::kCPU);
      const at::NoGradGuard no_grad;
      model.gpt.loss(inputs.make(sequence_by_hand(item, ending, model.config), model.windows), Pass::kValidation,
                     [&](const std::string& name, const at::Tensor& x) {
                       if (name == "logits_before_softcap") logits = x.to(at::kDouble).contiguous();
                     });
      double expected = 0;
      for (std::size_t i = 0; i < item.endings[ending].size(); ++i) {
        const auto row = static_cast<std::int64_t>(item.context.size() + i);  // the token before it
        expected += loss_by_hand(logits.const_data_ptr<double>() + row * logits.size(1), logits.size(1),
                                 item.endings[ending][i], model.config.model);
      }
      EXPECT_EQ(losses[ending].tokens, static_cast<std::int64_t>(item.endings[ending].size()));
      EXPECT_NEAR(losses[ending].sum, expected, 1e-9 * expected);
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

/// Whatever follows an ending, and however much of it, changes nothing: of every model, with its own rounding.
TEST(ChoiceScorer, DoesNotDependOnPadding) {
  for (const std::filesystem::path& folder : golden_model_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const EvaluatedModel model(golden_model_spec(folder));
    const ChoiceItem item = some_item(model.config);
    const std::vector<EndingLoss> losses = ChoiceScorer(model.gpt, model.config, model.windows).losses(item);
    const SequenceInputs inputs(model.config, at::kDouble, at::kCPU);
    for (std::size_t ending = 0; ending < item.endings.size(); ++ending) {
      const at::NoGradGuard no_grad;
      const at::Tensor tokens =
          model.gpt.losses(inputs.make(sequence_by_hand(item, ending, model.config), model.windows)).tokens;
      const double padded = tokens.to(at::kDouble)
                                .narrow(0, static_cast<std::int64_t>(item.context.size()), losses[ending].tokens)
                                .sum()
                                .item<double>();
      EXPECT_NEAR(losses[ending].sum, padded, 1e-9 * std::abs(padded));
    }
  }
}

// --- runs ---

/// Items for the tiny run, as a file that is removed with the object.
class ItemsFile {
 public:
  explicit ItemsFile(std::size_t count, const char* name = "items") : folder_("evaluation") {
    SplitMix64 random(3);
    for (std::size_t i = 0; i < count; ++i) {
      ChoiceItem item{.number = static_cast<std::uint16_t>(i), .right = random.below(4), .context = {}, .endings = {}};
      for (int word = 0; word < 9; ++word) item.context.push_back(static_cast<std::uint16_t>(random.below(60)));
      for (int ending = 0; ending < 4; ++ending)
        item.endings.push_back(
            {static_cast<std::uint16_t>(random.below(60)), static_cast<std::uint16_t>(random.below(60))});
      task.items.push_back(std::move(item));
    }
    spec = {.name = name, .file = (folder_.path() / "items.bin").string(), .digest = digest_of(task)};
    write();
  }
  void write() const { write_file_atomically(spec.file, std::string_view(choice_task_bytes(task))); }

  ChoiceTask task;
  EvaluationSpec spec;

 private:
  TemporaryFolder folder_;
};

struct Told {
  std::vector<ChoiceEvent> items;
  std::vector<EvaluationEvent> results;
  std::vector<double> losses;
};

Told told_by(const EventLog& log) {
  Told told;
  for (const RunEvent& event : log.events) {
    if (const auto* item = std::get_if<ChoiceEvent>(&event)) told.items.push_back(*item);
    if (const auto* result = std::get_if<EvaluationEvent>(&event)) told.results.push_back(*result);
    if (const auto* step = std::get_if<StepEvent>(&event)) told.losses.push_back(step->loss);
  }
  return told;
}

void expect_same_answers(const Told& a, const Told& b) {
  ASSERT_EQ(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    EXPECT_EQ(a.items[i].is_correct, b.items[i].is_correct) << i;
    EXPECT_EQ(a.items[i].is_correct_norm, b.items[i].is_correct_norm) << i;
  }
}

TEST(Evaluations, FollowATrainingThatTheyDoNotChange) {
  const TinyRun run;
  ItemsFile items(70);
  RunSpec spec = run.spec(1);
  const Told plain = told_by(train_to_the_end(spec));
  items.spec.best_accuracy = 0.75;
  spec.evaluations = {items.spec};
  const EventLog log = train_to_the_end(spec);
  const Told told = told_by(log);
  EXPECT_EQ(told.losses, plain.losses) << "bit for bit";
  ASSERT_EQ(told.items.size(), 70U);
  ASSERT_EQ(told.results.size(), 1U);
  double right = 0, right_norm = 0;
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(told.items[i].item, static_cast<std::int64_t>(i));
    right += told.items[i].is_correct ? 1 : 0;
    right_norm += told.items[i].is_correct_norm ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(told.results[0].accuracy, right / 70);
  EXPECT_DOUBLE_EQ(told.results[0].accuracy_norm, right_norm / 70);
  EXPECT_EQ(told.results[0].items, 70);
  EXPECT_EQ(told.results[0].step, 4);
  EXPECT_DOUBLE_EQ(told.results[0].chance, 0.25);
  EXPECT_EQ(told.results[0].best_accuracy, 0.75);
  EXPECT_TRUE(std::holds_alternative<FinishedEvent>(log.events.back())) << "after all answers";
  EXPECT_TRUE(plain.items.empty());
}

TEST(Evaluations, AreSharedBySeveralProcesses) {
  const TinyRun run;
  const ItemsFile items(70);
  RunSpec one = run.spec(1), two = run.spec(2);
  one.evaluations = two.evaluations = {items.spec};
  expect_same_answers(told_by(train_to_the_end(one)), told_by(train_to_the_end(two)));
}

TEST(Evaluations, OfAFileOfParametersAreThoseOfItsRun) {
  const ItemsFile items(40);
  const TinyRun run;
  RunSpec spec = run.spec(1);
  spec.config.run.stop_after = 0;  // the final model is the one of the file
  GPT model(spec.config, at::kFloat);
  model.parameters().initialize(spec.config, 5);
  NamedTensors tensors;
  for (const Parameter& parameter : model.parameters().all()) tensors[parameter.name] = parameter.tensor;
  const TemporaryFolder folder("evaluation");
  const std::string file = (folder.path() / "model.safetensors").string();
  write_checkpoint(file, {.step = 0, .engine_version = "test", .spec = spec, .parameters = tensors, .state = {}});
  spec.init_file = file;
  spec.evaluations = {items.spec};
  const Told trained = told_by(train_to_the_end(spec));
  ASSERT_EQ(trained.items.size(), 40U);
  spec.only_evaluates = true;
  spec.train_shards = spec.val_shards = {"/nowhere/data.bin"};  // no shard is read
  EventLog log;
  const RunDevice processor;
  EXPECT_EQ(run_evaluations(spec, log, kNeverStop, processor), RunOutcome::kCompleted);
  expect_same_answers(told_by(log), trained);
  EXPECT_TRUE(std::holds_alternative<HelloEvent>(log.events.front()));
  EXPECT_TRUE(std::holds_alternative<FinishedEvent>(log.events.back()));
}

TEST(Evaluations, RefuseItemsThatDoNotFitBeforeTraining) {
  const TinyRun run;
  ItemsFile items(3);
  RunSpec spec = run.spec(1);
  spec.evaluations = {items.spec};
  const auto refused = [&] {
    EventLog log;
    EXPECT_THROW(CpuTrainer(spec, log, kNeverStop).run(), Error);
    EXPECT_TRUE(told_by(log).losses.empty());
  };
  items.task.items[1].context[0] = 61;  // beyond the vocabulary
  items.write();
  refused();  // other items than planned
  spec.evaluations[0].digest = digest_of(items.task);
  refused();
  items.task.items[1].context[0] = 1;
  items.task.items[2].endings[3].assign(65, 1);  // the validation's sequences have 64 tokens
  items.write();
  spec.evaluations[0].digest = digest_of(items.task);
  refused();
  items.task.items[2].endings[3].assign(64, 1);  // just fits, without the context
  items.write();
  spec.evaluations[0].digest = digest_of(items.task);
  const EventLog log = train_to_the_end(spec);
  EXPECT_EQ(told_by(log).items.size(), 3U);
  EXPECT_EQ(std::count_if(log.events.begin(), log.events.end(),
                          [](const RunEvent& event) { return std::holds_alternative<WarningEvent>(event); }),
            1)
      << "a context lost its beginning";
}

TEST(Evaluations, StopBetweenItems) {
  const TinyRun run;
  const ItemsFile items(200);
  RunSpec spec = run.spec(1);
  spec.evaluations = {items.spec};
  std::atomic<bool> stop{false};
  class StopAtFirstItem final : public MetricSink {
   public:
    explicit StopAtFirstItem(std::atomic<bool>& stop) : stop_(stop) {}
    void report(const RunEvent& event) override {
      if (std::holds_alternative<ChoiceEvent>(event)) stop_ = true;
      count += std::holds_alternative<ChoiceEvent>(event) ? 1 : 0;
    }
    int count = 0;

   private:
    std::atomic<bool>& stop_;
  } sink(stop);
  EXPECT_EQ(CpuTrainer(spec, sink, stop).run(), RunOutcome::kInterrupted);
  EXPECT_LT(sink.count, 200);
}

/// Inputs of bigrams and prefixes, several targets, paired heads, lanes: all of it answers, at the smallest scale.
TEST(Evaluations, EveryRecordCanAnswer) {
  const CorpusModel corpus{CorpusConfig{}};
  const ChoiceItem item = generated_items(corpus, 1).items.front();
  int records = 0;
  for (const ablations::Record* record : ablations::embedded_catalogue().records()) {
    SCOPED_TRACE(record->id);
    ablations::ResolveRequest request{.record = record->id, .scale = "smoke"};
    TrainConfig config = ablations::resolve(ablations::embedded_catalogue(), request).config;
    config.attention.document_separator = 256;
    config.model.vocab_size = std::max<std::int64_t>(config.model.vocab_size, 257);
    config.init.zero_init_std = 0.1;
    GPT model(config, at::kFloat);
    model.parameters().initialize(config, 1);
    const std::int64_t step = config.run.stop_after;
    if (window_changes_attention(config.model))
      model.follow_windows(window_history(config.attention, config.schedule, step));
    const ChoiceScorer scorer(model, config, step_windows(config.attention, config.schedule, step));
    for (const EndingLoss& loss : scorer.losses(item)) {
      EXPECT_TRUE(std::isfinite(loss.sum));
      EXPECT_GT(loss.mean(), 0.5) << "an untrained model";
    }
    ++records;
  }
  EXPECT_GE(records, 80);
}

}  // namespace
}  // namespace nanobench::core::testing
