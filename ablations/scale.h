/// A scale shrinks an official configuration to smaller hardware: dimensions, context, batch, steps and warm-ups
/// together, by one function. Pure; thread-safe.
///
/// Proportions are kept: head count to key/value heads, window to block, window as a function of s / num_steps,
/// cooldown and warm-ups to num_steps, microbatches per rank. Layers and learning rates are never touched.
/// ScaledConfig::notes lists what cannot be kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ablations/record.h"
#include "core/base/json.h"
#include "core/config/train_config.h"

namespace nanobench::ablations {

/// Absent optionals leave the official value.
struct Scale {
  std::string id;     ///< the file's stem
  std::string title;  ///< what it is for, in one line
  std::string text;
  std::int64_t model_dim_divisor = 1;
  std::int64_t num_heads_divisor = 1;
  std::int64_t context_divisor = 1;  ///< divides attention blocks, windows and sequence lengths
  /// Divides tokens_per_step. A sequence is never longer than a step's tokens, so it may shrink by more than the
  /// context.
  std::int64_t tokens_per_step_divisor = 1;
  std::int64_t steps_divisor = 1;  ///< divides num_steps, stop_after, cooldown and warm-ups
  std::optional<std::int64_t> vocab_size;
  std::optional<std::int64_t> document_separator;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> val_tokens;         ///< validation tokens, rounded down to whole sequences
  std::optional<std::int64_t> val_every;          ///< steps
  std::optional<std::int64_t> untimed_steps;      ///< if the official run has any
  std::optional<std::int64_t> warmup_iterations;  ///< if the official run has any; absent: divided like the steps
  /// Feature settings that resolve() imposes unless others are requested; apply_scale ignores them.
  FeatureSettings holds;
  std::string source;  ///< the file it was read from, for messages
};

/// Requested ranks and processes; they replace the scale's. `processes` alone implies as many ranks. Ranks must be a
/// multiple of the processes.
struct Participants {
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> processes;

  bool is_asked() const { return ranks || processes; }
};

/// One plain sentence: what was shrunk, or what could not be kept.
struct ScaleNote {
  std::vector<std::string> settings;  ///< JSON pointers of the affected settings
  std::string text;
};

struct ScaledConfig {
  core::TrainConfig config;
  std::vector<ScaleNote> notes;  ///< empty at `official`
};

/// Throws Error{kInvalidArgument} with `source` and the JSON pointer.
Scale read_scale(const core::Json& json, const std::string& source);

/// Throws LocatedError{kInvalidArgument} naming scale and field if something does not divide or the result is not a
/// valid configuration. The scale whose divisors are all 1 and whose optionals are absent is the identity.
ScaledConfig apply_scale(const core::TrainConfig& official, const Scale& scale, const Participants& participants = {});

}  // namespace nanobench::ablations
