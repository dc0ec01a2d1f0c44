/// Multiple choice by a language model: the ending whose tokens have the smallest loss is its answer.
///
/// Each ending is one sequence: the separator that opens a document, context, ending, and separators up to a whole
/// number of blocks, which no token before them sees. The windows and the rounding are those of the last validation. A
/// context that is too long for the validation's sequences loses its beginning. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/data/choice_task.h"
#include "core/protocol/run_spec.h"
#include "engine/distributed/communicator.h"
#include "engine/nn/gpt.h"
#include "engine/train/run_counters.h"
#include "engine/train/sequence_inputs.h"

namespace nanobench::core {

/// Where an ending lies in its sequence.
struct EndingSequence {
  std::vector<std::uint16_t> tokens;  ///< T + 1 of them, T a multiple of the block size
  std::int64_t first = 0;             ///< place of the ending's first token among the targets
  std::int64_t count = 0;             ///< its tokens
};

/// `most`: of T, a multiple of `block`. REQUIRES an ending of at most `most` tokens.
EndingSequence ending_sequence(std::span<const std::uint16_t> context, std::span<const std::uint16_t> ending,
                               std::uint16_t separator, std::int64_t block, std::int64_t most);

/// Losses of an ending's tokens, given context and separator.
struct EndingLoss {
  double sum = 0;  ///< nats
  std::int64_t tokens = 0;
  double mean() const { return sum / static_cast<double>(tokens); }
};

struct ChoiceAnswer {
  std::optional<std::size_t> by_sum, by_mean;  ///< the first of the smallest; nullopt where no loss is a number
};

ChoiceAnswer answer_of(const std::vector<EndingLoss>& losses);

/// A trained model that answers items.
class ChoiceScorer {
 public:
  /// Keeps references to `model` and `config`. `windows`: of the last validation; the model follows them already.
  ChoiceScorer(const GPT& model, const TrainConfig& config, const StepWindows& windows)
      : model_(model), config_(config), inputs_(config, model.dtype(), model.device()), windows_(windows) {}

  /// By ending. REQUIRES an item that check_evaluations() has seen.
  std::vector<EndingLoss> losses(const ChoiceItem& item) const;

 private:
  const GPT& model_;
  const TrainConfig& config_;
  SequenceInputs inputs_;
  StepWindows windows_;
};

/// Throws Error for a file that cannot be read, has other items than the specification says, or holds a token or an
/// ending that the model cannot take: before an hour of training, not after it.
void check_evaluations(const std::vector<EvaluationSpec>& evaluations, const TrainConfig& config);

/// Answers the evaluations in order, each process a share of the items, and reports every item and every result, and
/// contexts that were shortened as a warning. Returns false if any process is to stop. `step`: steps that the model was
/// trained for. Throws as check_evaluations().
bool answer_evaluations(const std::vector<EvaluationSpec>& evaluations, const GPT& model, const TrainConfig& config,
                        std::int64_t step, Communicator& communicator, MetricSink& sink,
                        const std::function<bool()>& stops);

}  // namespace nanobench::core
