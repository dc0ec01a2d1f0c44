/// Tags of the metrics that a run stores. SCHEMA.md documents them for external queries. Tags are stored: do not change
/// them.
#pragma once

#include <string>

namespace nanobench::results {

inline constexpr const char* kTrainLoss = "train/loss";    ///< mean loss of the step's batch, before its update
inline constexpr const char* kStepMs = "train/step_ms";    ///< wall time of the step
inline constexpr const char* kClockMs = "train/clock_ms";  ///< training clock after the step; timed steps only
/// Place of the turn that begins with the step: its number, from 1, plus the share of that round's turns that came
/// before it. 3.5 came after the first half of the third turns of its block. Whole where the order within rounds was
/// not kept. A run without it had the machine to itself from start to end.
inline constexpr const char* kTurn = "train/turn";
/// Fact of a run in turns: the same text for all runs that were resident together, and for no others.
inline constexpr const char* kTurnBlock = "turns/block";
/// Fact of a run in turns with fewer threads than there are processors: those on which all runs of its block computed.
inline constexpr const char* kTurnProcessors = "turns/processors";
/// Fact of a run that was to take turns, whose engine takes none: it had the machine from start to end.
inline constexpr const char* kWithoutTurns = "turns/none";
/// Fact: milliseconds that the run had the machine, from its engine's start to its end, without waits for turns.
inline constexpr const char* kUsedWall = "used/wall_ms";
/// Fact of a run that others ran beside: its processors, "0 1". It has no times.
inline constexpr const char* kJobProcessors = "jobs/processors";
/// Fact of a run that was made on one of several seats, beside runs on the others: "seat 0".
inline constexpr const char* kSeat = "seats/name";
/// Fact of a run whose warm-up failed: its caches of compiled kernels may have been empty. It has no times.
inline constexpr const char* kColdCaches = "warmup/failed";
/// Fact: identity of the engine's files as they were when the run began.
inline constexpr const char* kEngineVersion = "engine/version";
/// Fact of a pilot: digest of the configuration whose first steps it tries.
inline constexpr const char* kPilotOf = "pilot/of";
inline constexpr const char* kWindow = "train/window_tokens";  ///< attention window of the step; 0: none
inline constexpr const char* kLearningRate = "train/learning_rate_factor";
inline constexpr const char* kValLoss = "val/loss";  ///< before the update of that step
/// "val/loss_at_position": means by bucket of the last validation, which takes the place of the step. Only of runs that
/// were asked for it.
inline constexpr const char* kValPrefix = "val/";
inline constexpr const char* kCountSuffix = "/tokens";      ///< "val/loss_at_position/tokens": what each mean is of
inline constexpr const char* kValClockMs = "val/clock_ms";  ///< training clock at the validation; absent while untimed
inline constexpr const char* kPeakBytes = "memory/peak_bytes";
/// Health of training, of runs that were asked for it (engine/train/training_health.h): norm of all averaged gradients,
/// with "/GROUP" or "/GROUP/LAYER" that of a part.
inline constexpr const char* kGradientNorm = "health/gradient_norm";
inline constexpr const char* kUpdateRatio = "health/update_ratio";    ///< norm of the update over that of the weights
inline constexpr const char* kGradientFlow = "health/gradient_flow";  ///< smallest over largest layer
/// Peak without what was resident before there was a model: what the training itself takes. A counter of the engine.
inline constexpr const char* kTrainingBytes = "counter/memory/training_bytes";
inline constexpr const char* kPhasePrefix = "phase/";          ///< "phase/forward_ms": see StepEvent
inline constexpr const char* kUserMs = "command/user_ms";      ///< CPU time of a command that `bench` measured
inline constexpr const char* kSystemMs = "command/system_ms";  ///< its CPU time in the kernel
inline constexpr const char* kTurns = "command/turns";         ///< turns of a command beside which others were resident
inline constexpr const char* kMetricPrefix = "metric/";        ///< "metric/loss": a number that a command printed
inline constexpr const char* kEvaluationPrefix = "eval/";      ///< "eval/hellaswag/accuracy"; the rest is one of:
inline constexpr const char* kAccuracy =
    "accuracy";  ///< share of items that are right by the sum of losses; at the step
inline constexpr const char* kAccuracyNorm = "accuracy_norm";  ///< by their mean
inline constexpr const char* kChance = "chance";               ///< accuracy expected of guesses
inline constexpr const char* kBestAccuracy = "best_accuracy";  ///< the best that is possible, where it is known
inline constexpr const char* kCorrect = "correct";  ///< 1 or 0 for each item, which takes the place of the step
inline constexpr const char* kCorrectNorm = "correct_norm";
/// Fact: digest of an evaluation's items, as "eval/hellaswag/items".
inline constexpr const char* kEvaluationItems = "items";
/// Name of the suite of runs that only evaluated; they belong to no plan.
inline constexpr const char* kEvaluationSuite = "evaluation";
/// Fact of such a run: digest of the run whose parameters it read.
inline constexpr const char* kEvaluationOf = "evaluation/of";

/// The tag of a metric, or the name of a fact, of the evaluation.
inline std::string evaluation_metric(const std::string& evaluation, const char* what) {
  return kEvaluationPrefix + evaluation + "/" + what;
}

inline constexpr const char* kCounterPrefix = "counter/";  ///< "counter/parameters": what the engine counted

}  // namespace nanobench::results
