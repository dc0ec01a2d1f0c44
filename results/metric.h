/// Tags of the metrics that a run stores. SCHEMA.md documents them for external queries. Tags are stored: do not change
/// them.
#pragma once

namespace nanobench::results {

inline constexpr const char* kTrainLoss = "train/loss";    ///< mean loss of the step's batch, before its update
inline constexpr const char* kStepMs = "train/step_ms";    ///< wall time of the step
inline constexpr const char* kClockMs = "train/clock_ms";  ///< training clock after the step; timed steps only
/// Number of the turn that begins with the step, from 1; a run without it had the machine to itself from start to end.
inline constexpr const char* kTurn = "train/turn";
/// Fact of a run in turns: the same text for all runs that were resident together, and for no others.
inline constexpr const char* kTurnBlock = "turns/block";
/// Fact of a run in turns with fewer threads than there are processors: those on which all runs of its block computed.
inline constexpr const char* kTurnProcessors = "turns/processors";
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
inline constexpr const char* kValLoss = "val/loss";         ///< before the update of that step
inline constexpr const char* kValClockMs = "val/clock_ms";  ///< training clock at the validation; absent while untimed
inline constexpr const char* kPeakBytes = "memory/peak_bytes";
inline constexpr const char* kPhasePrefix = "phase/";          ///< "phase/forward_ms": see StepEvent
inline constexpr const char* kUserMs = "command/user_ms";      ///< CPU time of a command that `bench` measured
inline constexpr const char* kSystemMs = "command/system_ms";  ///< its CPU time in the kernel
inline constexpr const char* kTurns = "command/turns";         ///< turns of a command beside which others were resident
inline constexpr const char* kMetricPrefix = "metric/";        ///< "metric/loss": a number that a command printed
inline constexpr const char* kCounterPrefix = "counter/";      ///< "counter/parameters": what the engine counted

}  // namespace nanobench::results
