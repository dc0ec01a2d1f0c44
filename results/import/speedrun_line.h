/// One line of a speedrun trainer's log, in every format printed since 2024:
///   step:N/M val_loss:X train_time:Yms step_avg:Zms      also train_loss, seconds, and further fields
///   s:N tel:X   s:N trl:X lr:...                         llm.c and the first records
///   peak memory allocated: A MiB reserved: B MiB         also "consumption: A MiB"
/// Pure and thread-safe; used for log files and for the output of a running trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nanobench::results {

/// The last digits that the logs of PyTorch trainers print: of losses in nats, of the training clock and of its mean
/// over the steps in milliseconds.
inline constexpr double kPrintedLoss = 1e-4;
inline constexpr double kPrintedMs = 1.0;
inline constexpr double kPrintedStepMs = 0.01;

struct SpeedrunLine {
  enum class Kind { kTraining, kValidation, kMemory };
  Kind kind = Kind::kTraining;
  std::int64_t step = 0;                      ///< for the first two kinds
  std::optional<std::int64_t> planned_steps;  ///< the M of step:N/M
  std::optional<double> loss;                 ///< may be NaN or infinite; absent if not printed or not a number
  std::optional<double> ema_loss;             ///< of averaged weights, printed as val_ema_loss; as `loss`
  std::optional<double> clock_ms;             ///< training clock
  std::optional<double> step_avg_ms;
  std::optional<double> allocated_mib;  ///< kMemory
  std::optional<double> reserved_mib;
  bool is_whole = true;  ///< false if the line stops before its last field: cut by a killed writer
};

/// nullopt for any other line. `line` has no newline. A carriage return, a prefix in brackets ("[rank0]:") and bytes
/// that are not text are tolerated. Never throws.
std::optional<SpeedrunLine> parse_speedrun_line(std::string_view line);

}  // namespace nanobench::results
