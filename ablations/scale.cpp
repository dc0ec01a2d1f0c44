#include "ablations/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/config/enum_names.h"
#include "core/config/train_config_fields.h"

namespace nanobench::ablations {
namespace {

using core::Json;
using core::JsonObject;
using core::TrainConfig;

std::string text(std::int64_t value) {
  return std::to_string(value);
}

std::string percent(double fraction) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2g %%", 100 * fraction);
  return buffer;
}

/// One shrinking: the official configuration, the scale, and what comes of them.
class Shrink {
 public:
  Shrink(const TrainConfig& official, const Scale& scale) : official_(official), scale_(scale), to_(official) {}

  ScaledConfig run() {
    shrink_model();
    shrink_vocabulary();
    shrink_context();
    shrink_batch();
    shrink_validation();
    shrink_steps();
    set_newton_schulz_dtype();
    core::check_train_config(to_, to_.name + " at scale " + scale_.id);
    return {std::move(to_), std::move(notes_)};
  }

 private:
  std::int64_t divided(std::int64_t value, std::int64_t divisor, const char* field) const {
    if (value % divisor != 0) {
      throw core::Error(core::ErrorCode::kInvalidArgument,
                        "scale " + scale_.id + " divides " + field + " by " + text(divisor) + ", but " + text(value) +
                            " is not a multiple of it; choose another scale or change the scale's divisor");
    }
    return value / divisor;
  }
  /// A count of steps; what was at least one stays at least one.
  std::int64_t fewer_steps(std::int64_t steps) const {
    if (steps == 0) return 0;
    return std::max<std::int64_t>(1, (2 * steps + scale_.steps_divisor) / (2 * scale_.steps_divisor));
  }

  void shrink_model() {
    const core::ModelConfig& from = official_.model;
    core::ModelConfig& to = to_.model;
    to.model_dim = divided(from.model_dim, scale_.model_dim_divisor, "model_dim");
    to.num_heads = divided(from.num_heads, scale_.num_heads_divisor, "num_heads");
    if (to.model_dim == from.model_dim && to.num_heads == from.num_heads) return;
    notes_.push_back("model: width " + text(from.model_dim) + " -> " + text(to.model_dim) + ", " +
                     text(from.num_heads) + " heads of " + text(from.head_dim()) + " -> " + text(to.num_heads) +
                     " of " + text(to.head_dim()) + "; all " + text(from.num_layers) +
                     " layers and all learning rates are kept");
    shrink_kv_heads();
    if (to.attention_scale) {
      *to.attention_scale *= std::sqrt(static_cast<double>(from.head_dim()) / static_cast<double>(to.head_dim()));
      notes_.push_back("attention scale: kept in proportion to (head width)^-0.5");
    }
    core::OptimizerGroupConfig& matrices = to_.optimizer.hidden_matrices;
    if (matrices.type == core::OptimizerType::kMuon && matrices.update_scale == core::UpdateScale::kSqrtLargestSide) {
      matrices.lr *= std::sqrt(static_cast<double>(from.model_dim) / static_cast<double>(to.model_dim));
      notes_.push_back("Muon's learning rate: raised so that lr * sqrt(largest side), the size of an update, is kept");
    }
  }

  void shrink_kv_heads() {
    const core::ModelConfig& from = official_.model;
    core::ModelConfig& to = to_.model;
    to.num_kv_heads = std::max<std::int64_t>(1, from.num_kv_heads * to.num_heads / from.num_heads);
    while (to.num_heads % to.num_kv_heads != 0) --to.num_kv_heads;
    if (to.num_kv_heads * from.num_heads == from.num_kv_heads * to.num_heads) return;
    notes_.push_back("key/value heads: " + text(from.num_kv_heads) + " for " + text(from.num_heads) +
                     " query heads become " + text(to.num_kv_heads) + " for " + text(to.num_heads) + ", another ratio");
  }

  void shrink_vocabulary() {
    const core::ModelConfig& from = official_.model;
    core::ModelConfig& to = to_.model;
    if (scale_.document_separator) to_.attention.document_separator = *scale_.document_separator;
    if (!scale_.vocab_size || *scale_.vocab_size == from.vocab_size) return;
    to.vocab_size = *scale_.vocab_size;
    notes_.push_back("vocabulary: " + text(from.vocab_size) + " -> " + text(to.vocab_size) + " tokens");
    const auto padding = [](const core::ModelConfig& model) {
      return static_cast<double>(model.padded_vocab_size() - model.vocab_size) / static_cast<double>(model.vocab_size);
    };
    if (padding(to) > 0) {
      notes_.push_back("vocabulary padding: to a multiple of " + text(to.vocab_pad_multiple) + " as officially, so " +
                       text(to.padded_vocab_size() - to.vocab_size) + " padding rows are " + percent(padding(to)) +
                       " of the vocabulary instead of " + percent(padding(from)) +
                       "; effects of padding are far larger than officially");
    }
  }

  void shrink_context() {
    const std::int64_t divisor = scale_.context_divisor;
    if (divisor == 1) return;
    to_.attention.block_size = divided(official_.attention.block_size, divisor, "attention/block_size");
    const core::WindowScheduleConfig& from = official_.attention.window.schedule;
    core::WindowScheduleConfig& to = to_.attention.window.schedule;
    if (from.type == core::WindowScheduleType::kConstant) {
      to.tokens = divided(from.tokens, divisor, "attention/window/schedule/tokens");
    } else if (from.type == core::WindowScheduleType::kLinear) {
      to.start_tokens = divided(from.start_tokens, divisor, "attention/window/schedule/start_tokens");
      to.end_tokens = divided(from.end_tokens, divisor, "attention/window/schedule/end_tokens");
      to.offset_tokens = divided(from.offset_tokens, divisor, "attention/window/schedule/offset_tokens");
      to.quantum_tokens = divided(from.quantum_tokens, divisor, "attention/window/schedule/quantum_tokens");
    }
    notes_.push_back("context: attention blocks " + text(official_.attention.block_size) + " -> " +
                     text(to_.attention.block_size) + " tokens and all windows divided by " + text(divisor) +
                     "; rotary frequencies are kept, so positions turn less far");
  }

  void shrink_batch() {
    const core::DataConfig& from = official_.data;
    core::DataConfig& to = to_.data;
    const std::int64_t step_tokens =
        divided(from.tokens_per_step(), scale_.tokens_per_step_divisor, "the tokens of a step");
    const std::int64_t context = divided(from.sequence_length, scale_.context_divisor, "data/sequence_length");
    to.sequence_length = std::min(context, step_tokens);
    to.sequences_per_step = divided(step_tokens, to.sequence_length, "the tokens of a step");
    to.ranks = scale_.ranks.value_or(from.ranks);
    const std::int64_t per_rank = divided(to.sequences_per_step, to.ranks, "the sequences of a step");
    to.loader.sequences_per_read = std::gcd(from.loader.sequences_per_read, per_rank);
    if (to.sequence_length != from.sequence_length || to.sequences_per_step != from.sequences_per_step) {
      notes_.push_back("batch: " + text(from.sequences_per_step) + " x " + text(from.sequence_length) + " -> " +
                       text(to.sequences_per_step) + " x " + text(to.sequence_length) + " tokens a step");
    }
    if (context > to.sequence_length) {
      notes_.push_back("sequence length: " + text(to.sequence_length) +
                       " tokens, a whole step, where the context in "
                       "proportion would be " +
                       text(context) + "; windows are a larger part of a sequence");
    }
    if (to.ranks != from.ranks) {
      notes_.push_back("ranks: " + text(from.ranks) + " -> " + text(to.ranks) + "; " +
                       (to.ranks == 1 ? "nothing is communicated, and rules that differ only between ranks coincide"
                                      : "each rank takes another part of the data"));
    }
  }

  void shrink_validation() {
    const core::DataConfig& from = official_.data;
    core::DataConfig& to = to_.data;
    if (from.val_sequence_length) {
      to.val_sequence_length = divided(*from.val_sequence_length * to.sequence_length, from.sequence_length,
                                       "data/val_sequence_length in proportion to data/sequence_length, that is");
    }
    const std::int64_t official_tokens = from.val_sequences * from.val_length();
    to.val_sequences = std::max<std::int64_t>(1, scale_.val_tokens.value_or(official_tokens) / to.val_length());
    const std::int64_t tokens = to.val_sequences * to.val_length();
    if (tokens != official_tokens) {
      notes_.push_back("validation: " + text(official_tokens) + " -> " + text(tokens) +
                       " tokens, so its loss has more noise");
    }
    const std::int64_t from_longest = std::max(from.sequence_length, from.val_length());
    const std::int64_t longest = std::max(to.sequence_length, to.val_length());
    const std::int64_t tables = official_.model.rope.max_seq_len;
    to_.model.rope.max_seq_len = (tables * longest + from_longest - 1) / from_longest;
  }

  void shrink_steps() {
    const core::ScheduleConfig& from = official_.schedule;
    core::ScheduleConfig& to = to_.schedule;
    if (scale_.val_every) to_.run.val_every = *scale_.val_every;
    if (scale_.untimed_steps) to_.run.untimed_steps = *scale_.untimed_steps;
    if (scale_.steps_divisor == 1) return;
    to.num_steps = fewer_steps(from.num_steps);
    to_.run.stop_after = std::min(to.num_steps, fewer_steps(official_.run.stop_after));
    if (!scale_.val_every) to_.run.val_every = fewer_steps(official_.run.val_every);
    // Against num_steps as rounded, so that the cooldown begins at the same fraction of the run.
    to.learning_rate.cooldown_steps =
        from.learning_rate.cooldown_steps * static_cast<double>(to.num_steps) / static_cast<double>(from.num_steps);
    to.learning_rate.warmup_steps = fewer_steps(from.learning_rate.warmup_steps);
    to.muon_momentum.warmup_steps = fewer_steps(from.muon_momentum.warmup_steps);
    notes_.push_back("steps: divided by " + text(scale_.steps_divisor) +
                     ", warm-ups and cooldown in proportion; the model sees far fewer tokens than it could use");
  }

  void set_newton_schulz_dtype() {
    core::OptimizerGroupConfig& matrices = to_.optimizer.hidden_matrices;
    if (!scale_.ns_dtype || matrices.type != core::OptimizerType::kMuon || matrices.ns_dtype == *scale_.ns_dtype) {
      return;
    }
    matrices.ns_dtype = *scale_.ns_dtype;
    notes_.push_back("Newton-Schulz iterations: in the run's own number type instead of bfloat16");
  }

  const TrainConfig& official_;
  const Scale& scale_;
  TrainConfig to_;
  std::vector<std::string> notes_;
};

std::optional<std::int64_t> optional_count(JsonObject& object, const std::string& key, std::int64_t low) {
  if (object.find(key) == nullptr) return std::nullopt;
  return object.integer(key, low, core::kMaxCount);
}

std::optional<core::NewtonSchulzDtype> optional_ns_dtype(JsonObject& object) {
  if (object.find("ns_dtype") == nullptr) return std::nullopt;
  const std::string name = object.string("ns_dtype");
  for (const auto& [value, known] : core::EnumNames<core::NewtonSchulzDtype>::values()) {
    if (known == name) return value;
  }
  object.fail("ns_dtype", "expected \"compute\" or \"bfloat16\", got \"" + name + "\"");
}

}  // namespace

Scale read_scale(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  const auto divisor = [&](const std::string& key) { return object.integer_or(key, 1, 1, core::kMaxCount); };
  Scale scale;
  scale.source = source;
  scale.id = object.string("id");
  if (scale.id.empty()) object.fail("id", "is empty; expected a name such as \"nano\"");
  scale.title = object.string("title");
  scale.text = object.string("text");
  scale.model_dim_divisor = divisor("model_dim_divisor");
  scale.num_heads_divisor = divisor("num_heads_divisor");
  scale.context_divisor = divisor("context_divisor");
  scale.tokens_per_step_divisor = divisor("tokens_per_step_divisor");
  scale.steps_divisor = divisor("steps_divisor");
  scale.vocab_size = optional_count(object, "vocab_size", 2);
  scale.document_separator = optional_count(object, "document_separator", 0);
  if (scale.vocab_size.has_value() != scale.document_separator.has_value()) {
    object.fail(scale.vocab_size ? "document_separator" : "vocab_size",
                "is missing; another vocabulary needs both vocab_size and document_separator");
  }
  scale.ranks = optional_count(object, "ranks", 1);
  scale.val_tokens = optional_count(object, "val_tokens", 1);
  scale.val_every = optional_count(object, "val_every", 1);
  scale.untimed_steps = optional_count(object, "untimed_steps", 0);
  scale.ns_dtype = optional_ns_dtype(object);
  object.finish();
  return scale;
}

ScaledConfig apply_scale(const TrainConfig& official, const Scale& scale) {
  return Shrink(official, scale).run();
}

}  // namespace nanobench::ablations
