#include "engine/train/choice_evaluation.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/config/schedule.h"
#include "engine/distributed/rank_share.h"

namespace nanobench::core {
namespace {

constexpr std::size_t kItemsAtOnce = 32;  // between two looks at the other processes

ChoiceTask checked_task(const EvaluationSpec& spec, const TrainConfig& config) {
  const ChoiceTask task = read_choice_task(spec.file);
  if (digest_of(task) != spec.digest)
    throw Error(ErrorCode::kDataLoss, "the items of " + spec.file + " are others than those that were planned");
  check_tokens(task, config.model.vocab_size, spec.file);
  check_endings(task, config.data.val_length(), spec.file);
  return task;
}

/// Items whose context does not fit with each of the endings.
std::int64_t shortened_items(const ChoiceTask& task, std::int64_t most) {
  return std::count_if(task.items.begin(), task.items.end(), [&](const ChoiceItem& item) {
    return std::any_of(item.endings.begin(), item.endings.end(),
                       [&](const auto& ending) { return std::cmp_greater(item.context.size() + ending.size(), most); });
  });
}

/// One evaluation in progress.
class Answers {
 public:
  Answers(const EvaluationSpec& spec, const ChoiceScorer& scorer, const TrainConfig& config, Communicator& communicator,
          MetricSink& sink)
      : spec_(spec), scorer_(scorer), communicator_(communicator), sink_(sink), task_(checked_task(spec, config)) {
    const std::int64_t shortened = shortened_items(task_, config.data.val_length());
    if (shortened == 0) return;
    sink_.report(WarningEvent{"evaluation " + spec_.name + ": " + counted(shortened, "context") +
                              " lost the beginning: the validation's sequences have " +
                              std::to_string(config.data.val_length()) + " tokens"});
  }

  bool run(const std::function<bool()>& stops) {
    for (std::size_t begin = 0; begin < task_.items.size(); begin += kItemsAtOnce) {
      if (any_process(communicator_, stops())) return false;
      report(begin, std::min(begin + kItemsAtOnce, task_.items.size()));
    }
    return true;
  }

  void report_result(std::int64_t step) const {
    const auto count = static_cast<double>(task_.items.size());
    sink_.report(EvaluationEvent{.evaluation = spec_.name,
                                 .step = step,
                                 .items = static_cast<std::int64_t>(task_.items.size()),
                                 .accuracy = static_cast<double>(correct_) / count,
                                 .accuracy_norm = static_cast<double>(correct_norm_) / count,
                                 .chance = chance_accuracy(task_),
                                 .best_accuracy = spec_.best_accuracy});
  }

 private:
  void report(std::size_t begin, std::size_t end) {
    std::vector<double> right(2 * (end - begin));  // by the sum and by the mean
    for (std::size_t i = begin; i < end; ++i) {
      if (i % static_cast<std::size_t>(communicator_.size()) != static_cast<std::size_t>(communicator_.rank()))
        continue;
      const ChoiceItem& item = task_.items[i];
      const ChoiceAnswer answer = answer_of(scorer_.losses(item));
      right[2 * (i - begin)] = answer.by_sum == item.right ? 1 : 0;
      right[2 * (i - begin) + 1] = answer.by_mean == item.right ? 1 : 0;
    }
    if (communicator_.size() > 1) complete(communicator_, right);
    for (std::size_t i = begin; i < end; ++i) {
      const ChoiceEvent event{.evaluation = spec_.name,
                              .item = static_cast<std::int64_t>(i),
                              .is_correct = right[2 * (i - begin)] != 0,
                              .is_correct_norm = right[2 * (i - begin) + 1] != 0};
      correct_ += event.is_correct ? 1 : 0;
      correct_norm_ += event.is_correct_norm ? 1 : 0;
      sink_.report(event);
    }
  }

  const EvaluationSpec& spec_;
  const ChoiceScorer& scorer_;
  Communicator& communicator_;
  MetricSink& sink_;
  ChoiceTask task_;
  std::int64_t correct_ = 0;
  std::int64_t correct_norm_ = 0;
};

}  // namespace

EndingSequence ending_sequence(std::span<const std::uint16_t> context, std::span<const std::uint16_t> ending,
                               std::uint16_t separator, std::int64_t block, std::int64_t most) {
  const std::size_t room = static_cast<std::size_t>(most) - ending.size();
  const std::span<const std::uint16_t> kept = context.size() <= room ? context : context.last(room);
  EndingSequence sequence{.tokens = {separator},
                          .first = static_cast<std::int64_t>(kept.size()),
                          .count = static_cast<std::int64_t>(ending.size())};
  sequence.tokens.insert(sequence.tokens.end(), kept.begin(), kept.end());
  sequence.tokens.insert(sequence.tokens.end(), ending.begin(), ending.end());
  const std::int64_t length = sequence.first + sequence.count;
  sequence.tokens.resize(static_cast<std::size_t>((length + block - 1) / block * block + 1), separator);
  return sequence;
}

ChoiceAnswer answer_of(const std::vector<EndingLoss>& losses) {
  ChoiceAnswer answer;
  double sum = std::numeric_limits<double>::infinity(), mean = sum;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].sum < sum) {
      sum = losses[i].sum;
      answer.by_sum = i;
    }
    if (losses[i].mean() < mean) {
      mean = losses[i].mean();
      answer.by_mean = i;
    }
  }
  return answer;
}

std::vector<EndingLoss> ChoiceScorer::losses(const ChoiceItem& item) const {
  const at::NoGradGuard no_grad;
  const auto separator = static_cast<std::uint16_t>(config_.attention.document_separator);
  std::vector<EndingLoss> result;
  for (const std::vector<std::uint16_t>& ending : item.endings) {
    const EndingSequence sequence =
        ending_sequence(item.context, ending, separator, config_.attention.block_size, config_.data.val_length());
    const SequenceInput input = inputs_.make(sequence.tokens, windows_);
    const at::Tensor losses = model_.losses(input, Pass::kValidation).tokens.to(at::kCPU, at::kDouble);
    result.push_back(
        {.sum = losses.narrow(0, sequence.first, sequence.count).sum().item<double>(), .tokens = sequence.count});
  }
  return result;
}

void check_evaluations(const std::vector<EvaluationSpec>& evaluations, const TrainConfig& config) {
  for (const EvaluationSpec& evaluation : evaluations) checked_task(evaluation, config);
}

bool answer_evaluations(const std::vector<EvaluationSpec>& evaluations, const GPT& model, const TrainConfig& config,
                        std::int64_t step, Communicator& communicator, MetricSink& sink,
                        const std::function<bool()>& stops) {
  const ChoiceScorer scorer(model, config, step_windows(config.attention, config.schedule, step));
  for (const EvaluationSpec& evaluation : evaluations) {
    Answers answers(evaluation, scorer, config, communicator, sink);
    if (!answers.run(stops)) return false;
    answers.report_result(step);
  }
  return true;
}

}  // namespace nanobench::core
