#include "ablations/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/config/field_visitor.h"

namespace nanobench::ablations {
namespace {

using core::Json;
using core::JsonObject;
using core::Reason;
using core::TrainConfig;

constexpr std::int64_t kMaxParticipants = 1 << 16;

std::string text(std::int64_t value) {
  return std::to_string(value);
}

std::string percent(double fraction) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2g %%", 100 * fraction);
  return buffer;
}

/// One application of a scale: the official configuration, the scale, and the result.
class Shrink {
 public:
  Shrink(const TrainConfig& official, const Scale& scale, const Participants& participants)
      : official_(official), scale_(scale), participants_(participants), to_(official) {}

  ScaledConfig run() {
    shrink_model();
    shrink_vocabulary();
    shrink_context();
    set_participants();
    shrink_batch();
    shrink_validation();
    shrink_steps();
    shrink_fp8();
    core::check_train_config(to_, to_.name + " at scale " + scale_.id);
    return {std::move(to_), std::move(notes_)};
  }

 private:
  void note(std::vector<std::string> settings, const std::string& sentence) {
    notes_.push_back({std::move(settings), sentence});
  }
  /// `what` describes the value, `pointer` is the setting that it comes from.
  std::int64_t divided(std::int64_t value, std::int64_t divisor, const char* pointer, const std::string& what) const {
    if (value % divisor != 0) {
      throw core::LocatedError(core::ErrorCode::kInvalidArgument, core::Reason::kNoMultiple, to_.name, {pointer},
                               "scale " + scale_.id + " divides " + what + " by " + text(divisor) + ", but " +
                                   text(value) +
                                   " is not a multiple of it; choose another scale or change the scale's divisor");
    }
    return value / divisor;
  }
  /// Scales a number of steps; at least one stays at least one.
  std::int64_t fewer_steps(std::int64_t steps) const {
    if (steps == 0) return 0;
    return std::max<std::int64_t>(1, (2 * steps + scale_.steps_divisor) / (2 * scale_.steps_divisor));
  }

  void shrink_model() {
    const core::ModelConfig& from = official_.model;
    core::ModelConfig& to = to_.model;
    to.model_dim = divided(from.model_dim, scale_.model_dim_divisor, "/model/model_dim", "model_dim");
    to.num_heads = divided(from.num_heads, scale_.num_heads_divisor, "/model/num_heads", "num_heads");
    shrink_bigram();
    if (to.generated_gates.hidden > 0)
      to.generated_gates.hidden = std::max<std::int64_t>(1, to.generated_gates.hidden / scale_.model_dim_divisor);
    shrink_query_key_blocks();
    if (to.mudd.hidden > 0) to.mudd.hidden = std::max<std::int64_t>(1, to.mudd.hidden / scale_.model_dim_divisor);
    if (to.model_dim == from.model_dim && to.num_heads == from.num_heads) return;
    note({"/model/model_dim", "/model/num_heads"},
         "model: width " + text(from.model_dim) + " -> " + text(to.model_dim) + ", " + text(from.num_heads) +
             " heads of " + text(from.head_dim()) + " -> " + text(to.num_heads) + " of " + text(to.head_dim()) +
             "; all " + text(from.num_layers) + " layers and all learning rates are kept");
    shrink_kv_heads();
    if (to.attention_scale) {
      *to.attention_scale *= std::sqrt(static_cast<double>(from.head_dim()) / static_cast<double>(to.head_dim()));
      note({"/model/attention_scale"}, "attention scale: kept in proportion to (head width)^-0.5");
    }
    core::OptimizerGroupConfig& matrices = to_.optimizer.hidden_matrices;
    if (matrices.type == core::OptimizerType::kMuon && matrices.update_scale == core::UpdateScale::kSqrtLargestSide) {
      matrices.lr *= std::sqrt(static_cast<double>(from.model_dim) / static_cast<double>(to.model_dim));
      note({"/optimizer/hidden_matrices/lr"},
           "Muon's learning rate: raised so that lr * sqrt(largest side), the size of an update, is kept");
    }
  }

  /// A part for each pair of heads, as officially, but at least two parts.
  void shrink_query_key_blocks() {
    const auto shrink = [&](core::OptimizerGroupConfig& group) {
      if (group.query_key_blocks == 1 || to_.model.num_heads == official_.model.num_heads) return;
      group.query_key_blocks = std::max<std::int64_t>(2, group.query_key_blocks / scale_.num_heads_divisor);
    };
    shrink(to_.optimizer.hidden_matrices);
    for (auto& [name, family] : to_.optimizer.families) shrink(family);
  }

  /// Keeps the number of rows for each token of the vocabulary, and the share of the stream.
  void shrink_bigram() {
    core::BigramConfig& bigram = to_.model.bigram;
    if (bigram.rows == 0) return;
    const std::int64_t official = bigram.rows;
    bigram.dim = std::max<std::int64_t>(1, bigram.dim / scale_.model_dim_divisor);
    core::ModelConfig vocabulary = to_.model;
    if (scale_.vocab_size) vocabulary.vocab_size = *scale_.vocab_size;
    bigram.rows =
        std::max<std::int64_t>(2, official * vocabulary.padded_vocab_size() / official_.model.padded_vocab_size());
    if (bigram.rows != official) {
      note({"/model/bigram/rows"}, "pairs of tokens: a table of " + text(bigram.rows) + " rows instead of " +
                                       text(official) + ", in proportion to the vocabulary");
    }
  }

  void shrink_kv_heads() {
    const core::ModelConfig& from = official_.model;
    core::ModelConfig& to = to_.model;
    to.num_kv_heads = std::max<std::int64_t>(1, from.num_kv_heads * to.num_heads / from.num_heads);
    while (to.num_heads % to.num_kv_heads != 0) --to.num_kv_heads;
    if (to.num_kv_heads * from.num_heads == from.num_kv_heads * to.num_heads) return;
    note({"/model/num_kv_heads"}, "key/value heads: " + text(from.num_kv_heads) + " for " + text(from.num_heads) +
                                      " query heads become " + text(to.num_kv_heads) + " for " + text(to.num_heads) +
                                      ", another ratio");
  }

  void shrink_vocabulary() {
    const core::ModelConfig& from = official_.model;
    core::ModelConfig& to = to_.model;
    if (scale_.document_separator) to_.attention.document_separator = *scale_.document_separator;
    if (!scale_.vocab_size || *scale_.vocab_size == from.vocab_size) return;
    to.vocab_size = *scale_.vocab_size;
    note({"/model/vocab_size"}, "vocabulary: " + text(from.vocab_size) + " -> " + text(to.vocab_size) + " tokens");
    const auto padding = [](const core::ModelConfig& model) {
      return static_cast<double>(model.padded_vocab_size() - model.vocab_size) / static_cast<double>(model.vocab_size);
    };
    if (padding(to) > 0) {
      note({"/model/vocab_pad_multiple"}, "vocabulary padding: to a multiple of " + text(to.vocab_pad_multiple) +
                                              " as officially, so " + text(to.padded_vocab_size() - to.vocab_size) +
                                              " padding rows are " + percent(padding(to)) +
                                              " of the vocabulary instead of " + percent(padding(from)) +
                                              "; effects of padding are far larger than officially");
    }
  }

  void shrink_context() {
    const std::int64_t divisor = scale_.context_divisor;
    if (divisor == 1) return;
    to_.attention.block_size =
        divided(official_.attention.block_size, divisor, "/attention/block_size", "attention/block_size");
    const core::WindowScheduleConfig& from = official_.attention.window.schedule;
    core::WindowScheduleConfig& to = to_.attention.window.schedule;
    if (from.type == core::WindowScheduleType::kConstant) {
      to.tokens =
          divided(from.tokens, divisor, "/attention/window/schedule/tokens", "attention/window/schedule/tokens");
    } else if (from.type == core::WindowScheduleType::kLinear) {
      to.start_tokens = divided(from.start_tokens, divisor, "/attention/window/schedule/start_tokens",
                                "attention/window/schedule/start_tokens");
      to.end_tokens = divided(from.end_tokens, divisor, "/attention/window/schedule/end_tokens",
                              "attention/window/schedule/end_tokens");
      to.offset_tokens = divided(from.offset_tokens, divisor, "/attention/window/schedule/offset_tokens",
                                 "attention/window/schedule/offset_tokens");
      to.quantum_tokens = divided(from.quantum_tokens, divisor, "/attention/window/schedule/quantum_tokens",
                                  "attention/window/schedule/quantum_tokens");
    }
    for (std::int64_t& tokens : to.tokens_list)
      tokens = divided(tokens, divisor, "/attention/window/schedule/tokens_list", "a window");
    for (core::WindowStage& stage : to.stages) {
      for (std::int64_t* const tokens : {&stage.long_tokens, &stage.short_tokens})
        *tokens = divided(*tokens, divisor, "/attention/window/schedule/stages", "a window");
    }
    shrink_final_window();
    shrink_documents();
    shrink_document_stages();
    if (to_.model.has_dc_attention())
      to_.model.dc_attention.window = std::max<std::int64_t>(1, to_.model.dc_attention.window / divisor);
    note({"/attention/block_size", "/attention/window/schedule"},
         "context: attention blocks " + text(official_.attention.block_size) + " -> " + text(to_.attention.block_size) +
             " tokens and all windows divided by " + text(divisor) +
             "; rotary frequencies are kept, so positions turn less far");
  }

  void shrink_final_window() {
    core::WindowConfig& to = to_.attention.window;
    if (to.final_validation_tokens) {
      to.final_validation_tokens = divided(*to.final_validation_tokens, scale_.context_divisor,
                                           "/attention/window/final_validation_tokens", "the last validation's window");
    }
    if (to.final_validation_layers_tokens) {
      to.final_validation_layers_tokens =
          divided(*to.final_validation_layers_tokens, scale_.context_divisor,
                  "/attention/window/final_validation_layers_tokens", "the last validation's window of some layers");
    }
  }

  void shrink_document_stages() {
    for (core::DataStage& stage : to_.data.stages)
      stage.max_document_length = std::max<std::int64_t>(1, stage.max_document_length / scale_.context_divisor);
  }

  /// The stages keep their proportions.
  void shrink_stage_lengths() {
    for (core::DataStage& stage : to_.data.stages) {
      stage.sequence_length = divided(stage.sequence_length * to_.data.sequence_length, official_.data.sequence_length,
                                      "/data/stages", "a stage's sequence length times data/sequence_length");
    }
  }

  void shrink_documents() {
    std::optional<std::int64_t>& longest = to_.data.loader.max_document_length;
    if (!longest) return;
    const std::int64_t official = *longest;
    longest = std::max<std::int64_t>(1, official / scale_.context_divisor);
    note({"/data/loader/max_document_length"},
         "documents: cut at " + text(*longest) + " tokens instead of " + text(official) + ", in proportion to windows");
  }

  /// A short sequence is seldom followed by a document within its own length: each keeps the tokens in which the
  /// official one is searched for.
  void widen_search() {
    if (to_.data.loader.alignment != core::BatchAlignment::kBos) return;
    const std::int64_t from = official_.data.sequence_length, to = to_.data.sequence_length;
    if (to >= from) return;
    std::int64_t& window = to_.data.loader.search_window;
    window = official_.data.loader.search_window * ((from + to - 1) / to);
    note({"/data/loader/search_window"}, "documents: the sequences of a step are searched for in " + text(window) +
                                             " times its tokens, which are few, instead of " +
                                             text(official_.data.loader.search_window));
  }

  void shrink_batch() {
    const core::DataConfig& from = official_.data;
    core::DataConfig& to = to_.data;
    const std::int64_t step_tokens = divided(from.tokens_per_step(), scale_.tokens_per_step_divisor,
                                             "/data/sequences_per_step", "the tokens of a step");
    const std::int64_t context =
        divided(from.sequence_length, scale_.context_divisor, "/data/sequence_length", "data/sequence_length");
    to.sequence_length = std::min(context, step_tokens);
    to.sequences_per_step = divided(step_tokens, to.sequence_length, "/data/sequence_length", "the tokens of a step");
    shrink_stage_lengths();
    share_among_ranks(step_tokens);
    widen_search();
    const std::int64_t per_rank = to.sequences_per_step / to.ranks;
    // A request for fewer ranks gets more micro-steps, just as the records' scripts accumulate on fewer GPUs. The
    // scale's own ranks keep one read per step if the record has one.
    const std::int64_t in_proportion =
        std::max<std::int64_t>(1, from.loader.sequences_per_read * to.sequences_per_step / from.sequences_per_step);
    to.loader.sequences_per_read =
        std::gcd(participants_.is_asked() ? in_proportion : from.loader.sequences_per_read, per_rank);
    if (to.sequence_length != from.sequence_length || to.sequences_per_step != from.sequences_per_step) {
      note({"/data/sequences_per_step", "/data/sequence_length"},
           "batch: " + text(from.sequences_per_step) + " x " + text(from.sequence_length) + " -> " +
               text(to.sequences_per_step) + " x " + text(to.sequence_length) + " tokens a step");
    }
    if (context > to.sequence_length) {
      note({"/data/sequence_length"}, "sequence length: " + text(to.sequence_length) +
                                          " tokens, a whole step, where the context in "
                                          "proportion would be " +
                                          text(context) + "; windows are a larger part of a sequence");
    }
  }

  void set_participants() {
    core::DataConfig& to = to_.data;
    to.ranks = participants_.ranks.value_or(participants_.processes.value_or(scale_.ranks.value_or(to.ranks)));
    if (participants_.processes) to_.distributed.processes = *participants_.processes;
    shrink_buckets();
    if (to.ranks == official_.data.ranks) return;
    note({"/data/ranks"},
         "ranks: " + text(official_.data.ranks) + " -> " + text(to.ranks) + "; " +
             (to.ranks == 1 ? "nothing is communicated, and rules that differ only between ranks coincide"
                            : "each rank takes another part of the data"));
  }

  /// Keeps the official number of gradient buckets: the matrices' sizes scale with the square of the width.
  void shrink_buckets() {
    std::int64_t& bytes = to_.distributed.bucket_bytes;
    const std::int64_t official = bytes;
    bytes = std::max<std::int64_t>(1, bytes / (scale_.model_dim_divisor * scale_.model_dim_divisor));
    if (bytes == official || to_.distributed.processes == 1) return;
    note({"/distributed/bucket_bytes"},
         "gradient buckets: " + text(official) + " -> " + text(bytes) + " bytes, in proportion to the matrices");
  }

  /// A requested number of ranks takes precedence over the number of tokens; the scale's own must fit.
  void share_among_ranks(std::int64_t step_tokens) {
    core::DataConfig& to = to_.data;
    if (!participants_.is_asked()) {
      divided(to.sequences_per_step, to.ranks, "/data/sequences_per_step", "the sequences of a step");
      return;
    }
    const std::int64_t rounded = (to.sequences_per_step + to.ranks - 1) / to.ranks * to.ranks;
    if (rounded == to.sequences_per_step) return;
    note({"/data/sequences_per_step"},
         "batch: " + text(rounded) + " sequences a step instead of " + text(to.sequences_per_step) +
             ", the same number for each of " + text(to.ranks) + " ranks; so a step has " +
             text(rounded * to.sequence_length) + " tokens instead of " + text(step_tokens));
    to.sequences_per_step = rounded;
  }

  void shrink_validation() {
    const core::DataConfig& from = official_.data;
    core::DataConfig& to = to_.data;
    if (from.val_sequence_length) {
      to.val_sequence_length =
          divided(*from.val_sequence_length * to.sequence_length, from.sequence_length, "/data/val_sequence_length",
                  "data/val_sequence_length in proportion to data/sequence_length, that is");
    }
    const std::int64_t official_tokens = from.val_sequences * from.val_length();
    const std::int64_t wanted = scale_.val_tokens.value_or(official_tokens) / to.val_length();
    const std::int64_t unit = to.ranks * to.loader.sequences_per_read;  // what all ranks read at once
    to.val_sequences = std::max<std::int64_t>(1, wanted / unit) * unit;
    const std::int64_t tokens = to.val_sequences * to.val_length();
    if (tokens != official_tokens) {
      note({"/data/val_sequences", "/data/val_sequence_length"},
           "validation: " + text(official_tokens) + " -> " + text(tokens) + " tokens, so its loss has more noise");
    }
    shrink_position_tables();
  }

  /// Rows of the rotary tables, or of the table of learned positions, in proportion to the longest sequence.
  void shrink_position_tables() {
    const std::int64_t from = std::max(official_.data.sequence_length, official_.data.val_length());
    const std::int64_t to = std::max(to_.data.sequence_length, to_.data.val_length());
    to_.model.rope.max_seq_len = (official_.model.rope.max_seq_len * to + from - 1) / from;
  }

  void shrink_steps() {
    const core::ScheduleConfig& from = official_.schedule;
    core::ScheduleConfig& to = to_.schedule;
    set_counts_of_steps();
    if (scale_.steps_divisor == 1) return;
    to.num_steps = fewer_steps(from.num_steps);
    to.extension_steps = fewer_steps(from.extension_steps);
    const bool is_whole = official_.run.stop_after == from.total_steps();
    to_.run.stop_after =
        is_whole ? to.total_steps() : std::min(to.total_steps(), fewer_steps(official_.run.stop_after));
    if (!scale_.val_every) to_.run.val_every = fewer_steps(official_.run.val_every);
    if (!scale_.warmup_iterations) to_.run.warmup_iterations = fewer_steps(official_.run.warmup_iterations);
    // Relative to the rounded num_steps, so that the cooldown begins at the same fraction of the run.
    const bool covers = from.learning_rate.covers_extension;
    to.learning_rate.cooldown_steps = from.learning_rate.cooldown_steps *
                                      static_cast<double>(covers ? to.total_steps() : to.num_steps) /
                                      static_cast<double>(covers ? from.total_steps() : from.num_steps);
    to.learning_rate.warmup_steps = fewer_steps(from.learning_rate.warmup_steps);
    to.muon_momentum.warmup_steps = fewer_steps(from.muon_momentum.warmup_steps);
    for (core::WindowStage& stage : to_.attention.window.schedule.stages) stage.from = fewer_steps(stage.from);
    for (core::DataStage& stage : to_.data.stages) stage.from = fewer_steps(stage.from);
    for (core::RateStage& stage : to.learning_rate.stages) stage.from = fewer_steps(stage.from);
    for (core::TargetStage& stage : to_.loss.multi_token) shrink_weight_stage(stage);
    for (core::WeightStage& stage : to_.loss.prefix) shrink_weight_stage(stage);
    shrink_untie_step();
    core::OptimizerConfig& optimizer = to_.optimizer;
    for (core::OptimizerGroupConfig* group : {&optimizer.embeddings, &optimizer.lm_head, &optimizer.scalars})
      shrink_pause(*group);
    for (auto& [name, family] : optimizer.families) shrink_pause(family);
    if (from.muon_momentum.cooldown_steps > 0)  // it acts from its second step on
      to.muon_momentum.cooldown_steps = std::max<std::int64_t>(2, fewer_steps(from.muon_momentum.cooldown_steps));
    note({"/schedule", "/run/stop_after"},
         "steps: divided by " + text(scale_.steps_divisor) +
             ", warm-ups and cooldown in proportion; the model sees far fewer tokens than it could use");
  }

  /// With updates at every second step, a shorter pause may hold none of them.
  void shrink_pause(core::OptimizerGroupConfig& group) {
    if (group.pause_steps > 0) group.pause_steps = std::max(group.step_every, fewer_steps(group.pause_steps));
  }

  template <class Stage>
  void shrink_weight_stage(Stage& stage) {
    stage.from = fewer_steps(stage.from);
    stage.to = std::max(stage.to / static_cast<double>(scale_.steps_divisor), static_cast<double>(stage.from + 1));
  }

  /// A step at which the head is updated.
  void shrink_untie_step() {
    std::optional<std::int64_t>& step = to_.model.untie_step;
    if (!step || *step < 0) return;
    const std::int64_t every = to_.optimizer.lm_head.step_every;
    step = (fewer_steps(*step) + every) / every * every - 1;
  }

  /// Sets the counts that the scale gives as numbers. What an official run does not have stays absent.
  void set_counts_of_steps() {
    core::RunConfig& run = to_.run;
    const auto set = [&](std::int64_t& count, const std::optional<std::int64_t>& wanted, const char* pointer,
                         const std::string& what) {
      if (!wanted || count == *wanted || count == 0) return;
      note({pointer}, what + ": " + text(count) + " -> " + text(*wanted));
      count = *wanted;
    };
    set(run.val_every, scale_.val_every, "/run/val_every", "steps between validations");
    set(run.untimed_steps, scale_.untimed_steps, "/run/untimed_steps", "untimed steps");
    set(run.warmup_iterations, scale_.warmup_iterations, "/run/warmup_iterations", "warm-up iterations");
  }

  /// The loss is a mean over a sequence, so the gradient of each logit grows as sequences get shorter. Powers of two,
  /// so that scaling rounds nothing.
  void shrink_fp8() {
    const std::int64_t from = official_.data.sequence_length;
    const std::int64_t to = to_.data.sequence_length;
    const bool is_sum = to_.run.loss_reduction == core::LossReduction::kSum;  // does not depend on the length
    if (to_.precision.head != core::ProductPrecision::kFp8 || from == to || is_sum) return;
    const double exponent = std::round(std::log2(static_cast<double>(from) / static_cast<double>(to)));
    double& scale = to_.precision.fp8.grad_scale;
    scale /= std::exp2(exponent);
    note({"/precision/fp8/grad_scale"}, "fp8 head: the scale of its gradient is divided by " +
                                            text(std::llround(std::exp2(exponent))) +
                                            ", as sequences are shorter and the gradient of a mean larger");
  }

  const TrainConfig& official_;
  const Scale& scale_;
  const Participants& participants_;
  TrainConfig to_;
  std::vector<ScaleNote> notes_;
};

void check_participants(const Participants& participants) {
  for (const auto& [count, name] :
       {std::pair(participants.ranks, "ranks"), std::pair(participants.processes, "processes")}) {
    if (count && (*count < 1 || *count > kMaxParticipants)) {
      throw core::Refusal(
          core::ErrorCode::kInvalidArgument, core::Reason::kOutOfRange,
          std::string("the number of ") + name + " is " + text(*count) + ", expected 1 to " + text(kMaxParticipants),
          name);
    }
  }
  if (participants.ranks && participants.processes && *participants.ranks % *participants.processes != 0) {
    throw core::Refusal(core::ErrorCode::kInvalidArgument, core::Reason::kNoMultiple,
                        text(*participants.ranks) + " ranks do not divide among " + text(*participants.processes) +
                            " processes; ask for a multiple of the processes, or for the processes alone",
                        "ranks");
  }
}

std::optional<std::int64_t> optional_count(JsonObject& object, const std::string& key, std::int64_t low) {
  if (object.find(key) == nullptr) return std::nullopt;
  return object.integer(key, low, core::kMaxCount);
}

}  // namespace

Scale read_scale(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  const auto divisor = [&](const std::string& key) { return object.integer_or(key, 1, 1, core::kMaxCount); };
  Scale scale;
  scale.source = source;
  scale.id = object.string("id");
  if (scale.id.empty()) object.fail("id", Reason::kEmpty, "is empty; expected a name such as \"nano\"");
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
    object.fail(scale.vocab_size ? "document_separator" : "vocab_size", Reason::kMissingKey,
                "is missing; another vocabulary needs both vocab_size and document_separator");
  }
  scale.ranks = optional_count(object, "ranks", 1);
  scale.val_tokens = optional_count(object, "val_tokens", 1);
  scale.val_every = optional_count(object, "val_every", 1);
  scale.untimed_steps = optional_count(object, "untimed_steps", 0);
  scale.warmup_iterations = optional_count(object, "warmup_iterations", 0);
  scale.holds = object.named_strings_or_empty("holds");
  object.finish();
  return scale;
}

ScaledConfig apply_scale(const TrainConfig& official, const Scale& scale, const Participants& participants) {
  check_participants(participants);
  return Shrink(official, scale, participants).run();
}

}  // namespace nanobench::ablations
