/// A scale shrinks an official configuration to smaller hardware: dimensions, context, batch, steps and warm-ups
/// together, by one function. Pure; thread-safe.
///
/// Kept in proportion: head count and key/value heads, window against block, window as a function of s / num_steps,
/// cooldown and warm-ups against num_steps, microbatches of a rank. Layers and learning rates are never touched.
/// What cannot be kept is said in ScaledConfig::notes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::int64_t context_divisor = 1;  ///< of attention blocks, windows and sequence lengths
  /// Of tokens_per_step. A sequence is never longer than a step's tokens, so it may shrink by more than the context.
  std::int64_t tokens_per_step_divisor = 1;
  std::int64_t steps_divisor = 1;  ///< of num_steps, stop_after, cooldown and warm-ups
  std::optional<std::int64_t> vocab_size;
  std::optional<std::int64_t> document_separator;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> val_tokens;  ///< validation tokens, rounded down to whole sequences
  std::optional<std::int64_t> val_every;   ///< steps
  std::optional<std::int64_t> untimed_steps;
  std::optional<core::NewtonSchulzDtype> ns_dtype;
  std::string source;  ///< the file it was read from, for messages
};

struct ScaledConfig {
  core::TrainConfig config;
  std::vector<std::string> notes;  ///< plain sentences: what was shrunk, what could not be kept; empty at `official`
};

/// Throws Error{kInvalidArgument} with `source` and the JSON pointer.
Scale read_scale(const core::Json& json, const std::string& source);

/// Throws Error{kInvalidArgument} naming scale and field when something does not divide or the result is no valid
/// configuration. The scale whose divisors are all 1 and whose optionals are absent is the identity.
ScaledConfig apply_scale(const core::TrainConfig& official, const Scale& scale);

}  // namespace nanobench::ablations
