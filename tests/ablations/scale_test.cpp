#include "ablations/scale.h"

#include <cmath>

#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::TrainConfig;

Scale divisors(const std::string& members) {
  return read_scale(core::parse_json(R"({"id": "t", "title": "t", "text": "t.")" + members + "}", "t.json"), "t.json");
}

/// Window at step s, as golden/README gives it.
std::int64_t window_tokens(const TrainConfig& config, std::int64_t s) {
  const core::WindowScheduleConfig& w = config.attention.window.schedule;
  const std::int64_t n = config.schedule.num_steps;
  const std::int64_t numerator = (w.start_tokens + w.offset_tokens) * n + (w.end_tokens - w.start_tokens) * s;
  return w.quantum_tokens * (numerator / (w.quantum_tokens * n));
}

TEST(Scale, OfficialIsTheIdentity) {
  for (const Record* record : embedded_catalogue().records()) {
    const TrainConfig official = resolve_record(embedded_catalogue(), record->id);
    const ScaledConfig scaled = apply_scale(official, embedded_catalogue().scale("official"));
    EXPECT_EQ(core::to_json(scaled.config).dump(), core::to_json(official).dump());
    EXPECT_TRUE(scaled.notes.empty());
  }
}

TEST(Scale, WindowIsTheSameFunctionOfProgressAtEveryScale) {
  for (const char* id : {"record13", "record17", "record18"}) {
    const TrainConfig official = resolve_record(embedded_catalogue(), id);
    for (const Scale* scale : embedded_catalogue().scales()) {
      const TrainConfig small = apply_scale(official, *scale).config;
      const std::int64_t n = official.schedule.num_steps;
      const std::int64_t n_small = small.schedule.num_steps;
      for (std::int64_t s = 0; s <= n_small; ++s) {
        // Same fraction of the run: s / n_small. Compared exactly over a common denominator.
        TrainConfig stretched = official;
        stretched.schedule.num_steps = n * n_small;
        EXPECT_EQ(window_tokens(small, s) * scale->context_divisor, window_tokens(stretched, s * n))
            << id << " at " << scale->id << ", step " << s;
      }
    }
  }
}

TEST(Scale, KeepsProportions) {
  const TrainConfig official = resolve_record(embedded_catalogue(), "record12");
  for (const Scale* scale : embedded_catalogue().scales()) {
    const TrainConfig small = apply_scale(official, *scale).config;
    const auto fraction = [](double part, std::int64_t whole) { return part / static_cast<double>(whole); };
    EXPECT_NEAR(fraction(small.schedule.learning_rate.cooldown_steps, small.schedule.num_steps),
                fraction(official.schedule.learning_rate.cooldown_steps, official.schedule.num_steps), 1e-12);
    EXPECT_NEAR(
        fraction(static_cast<double>(small.schedule.muon_momentum.warmup_steps), small.schedule.num_steps),
        fraction(static_cast<double>(official.schedule.muon_momentum.warmup_steps), official.schedule.num_steps), 0.02);
    EXPECT_EQ(small.attention.window.schedule.tokens * official.attention.block_size,
              official.attention.window.schedule.tokens * small.attention.block_size);
    EXPECT_EQ(small.data.tokens_per_step() * scale->tokens_per_step_divisor, official.data.tokens_per_step());
    EXPECT_EQ(small.optimizer.hidden_matrices.lr, official.optimizer.hidden_matrices.lr);
    EXPECT_EQ(small.run.stop_after, small.schedule.num_steps);
  }
}

TEST(Scale, NanoHasTheSizesThatItsTextGives) {
  const TrainConfig nano = resolve(embedded_catalogue(), {.record = "record17", .scale = "nano"}).config;
  EXPECT_EQ(nano.model.model_dim, 64);
  EXPECT_EQ(nano.model.num_heads, 2);
  EXPECT_EQ(nano.model.num_kv_heads, 2);
  EXPECT_EQ(nano.model.vocab_size, 257);
  EXPECT_EQ(nano.attention.document_separator, 256);
  EXPECT_EQ(nano.attention.block_size, 32);
  EXPECT_EQ(nano.data.sequence_length, 1024);
  EXPECT_EQ(nano.data.sequences_per_step, 1);
  EXPECT_EQ(nano.schedule.num_steps, 124);
  EXPECT_NEAR(nano.schedule.learning_rate.cooldown_steps, 600.0 * 124 / 1490, 1e-12);
  EXPECT_EQ(nano.schedule.muon_momentum.warmup_steps, 25);
  EXPECT_EQ(nano.model.rope.max_seq_len, 1024);
  EXPECT_EQ(nano.optimizer.hidden_matrices.ns_dtype, core::NewtonSchulzDtype::kCompute);
}

TEST(Scale, SaysHowMuchOfTheVocabularyIsPadding) {
  const Resolved nano = resolve(embedded_catalogue(), {.record = "record17", .scale = "nano"});
  std::string notes;
  for (const std::string& note : nano.scale_notes) notes += note + "\n";
  expect_parts(notes, {"50257 -> 257", " 127 ", "49 %", "0.094 %"});
}

TEST(Scale, KeepsTheRatioOfKeyValueHeadsOrSaysSo) {
  TrainConfig official;
  official.model.num_kv_heads = 3;
  const ScaledConfig half = apply_scale(official, embedded_catalogue().scale("nano"));
  EXPECT_EQ(half.config.model.num_kv_heads, 1);
  for (const ScaleNote& note : half.notes)
    EXPECT_NE(note.settings, std::vector<std::string>{"/model/num_kv_heads"}) << note.text;
  official.model.num_kv_heads = 1;
  const ScaledConfig one = apply_scale(official, embedded_catalogue().scale("nano"));
  EXPECT_EQ(one.config.model.num_kv_heads, 1);
  bool is_said = false;
  for (const ScaleNote& note : one.notes) is_said |= note.settings == std::vector<std::string>{"/model/num_kv_heads"};
  EXPECT_TRUE(is_said);
}

TEST(Scale, KeepsShortContextsAndPiecesWhenSequencesAreShort) {
  TrainConfig official;  // the batch of record 11: 512 sequences of 1024 tokens, read 64 at a time
  official.data.sequence_length = 1024;
  official.data.sequences_per_step = 512;
  official.data.loader.sequences_per_read = 64;
  official.data.val_sequences = 10240;
  official.model.rope.max_seq_len = 1024;
  const TrainConfig nano = apply_scale(official, embedded_catalogue().scale("nano")).config;
  EXPECT_EQ(nano.data.sequence_length, 256);
  EXPECT_EQ(nano.data.sequences_per_step, 4);
  EXPECT_EQ(nano.data.loader.sequences_per_read, 4);
  EXPECT_EQ(nano.data.val_sequences, 32);
  EXPECT_EQ(nano.model.rope.max_seq_len, 256);
}

TEST(Scale, LongValidationSequencesShrinkWithTheTrainingSequences) {
  TrainConfig official;  // record 21: 48K training and 256K validation sequences
  official.data.sequence_length = 49152;
  official.data.val_sequence_length = 262144;
  official.data.val_sequences = 40;
  official.model.rope.max_seq_len = 262144;
  const TrainConfig nano = apply_scale(official, embedded_catalogue().scale("nano")).config;
  EXPECT_EQ(nano.data.sequence_length, 768);
  EXPECT_EQ(nano.data.val_sequence_length, 4096);
  EXPECT_EQ(nano.data.val_sequences, 2);
  EXPECT_EQ(nano.model.rope.max_seq_len, 4096);
}

TEST(Scale, KeepsTheSizeOfAnUpdateWhenItDependsOnTheWidth) {
  TrainConfig official;
  official.optimizer.hidden_matrices.update_scale = core::UpdateScale::kSqrtLargestSide;
  official.optimizer.hidden_matrices.lr = 0.00036;
  const TrainConfig nano = apply_scale(official, embedded_catalogue().scale("nano")).config;
  EXPECT_NEAR(nano.optimizer.hidden_matrices.lr * std::sqrt(64.0), 0.00036 * std::sqrt(768.0), 1e-12);
}

std::string texts_of(const std::vector<ScaleNote>& notes) {
  std::string text;
  for (const ScaleNote& note : notes) text += note.text + "\n";
  return text;
}

TEST(Scale, RanksThatAreAskedForStandInPlaceOfTheScales) {
  const TrainConfig official;  // 8 sequences of 65536 tokens on 8 ranks
  const Scale& nano = embedded_catalogue().scale("nano");
  const ScaledConfig two = apply_scale(official, nano, {.ranks = 2});
  EXPECT_EQ(two.config.data.ranks, 2);
  EXPECT_EQ(two.config.data.sequences_per_step, 2) << "one sequence a step does not divide among two ranks";
  EXPECT_EQ(two.config.data.sequence_length, 1024);
  EXPECT_EQ(two.config.data.val_sequences % 2, 0);
  EXPECT_EQ(two.config.distributed.processes, 1);
  expect_parts(texts_of(two.notes), {" 2 ", " 1,", "2048", "1024"});
  const ScaledConfig same = apply_scale(official, embedded_catalogue().scale("mini"), {.ranks = 1});
  EXPECT_EQ(same.config.digest(), apply_scale(official, embedded_catalogue().scale("mini")).config.digest());
}

TEST(Scale, KeepsTheTokensOfAStepWhereTheSequencesDivide) {
  TrainConfig official;
  official.data.sequence_length = 1024;
  official.data.sequences_per_step = 512;
  official.data.loader.sequences_per_read = 64;
  official.data.val_sequences = 10240;
  const ScaledConfig scaled = apply_scale(official, embedded_catalogue().scale("nano"), {.processes = 2});
  EXPECT_EQ(scaled.config.data.sequences_per_step, 4);
  EXPECT_EQ(scaled.config.data.loader.sequences_per_read, 1) << "an eighth of a step or less is one micro-step";
  EXPECT_EQ(scaled.config.data.tokens_per_step() * 512, official.data.tokens_per_step());
  for (const ScaleNote& note : scaled.notes)
    EXPECT_NE(note.settings, std::vector<std::string>{"/data/sequences_per_step"}) << note.text;
}

TEST(Scale, ProcessesMeanAsManyRanksUnlessRanksAreGiven) {
  const TrainConfig official;
  const Scale& whole = embedded_catalogue().scale("official");
  EXPECT_EQ(apply_scale(official, whole, {.processes = 2}).config.data.ranks, 2);
  const TrainConfig shared = apply_scale(official, whole, {.ranks = 8, .processes = 2}).config;
  EXPECT_EQ(shared.data.ranks, 8);
  EXPECT_EQ(shared.distributed.processes, 2);
}

TEST(Scale, RefusesImpossibleNumbersOfRanks) {
  const TrainConfig official;
  const auto message = [&](const Participants& participants) {
    return error_of(core::ErrorCode::kInvalidArgument,
                    [&] { apply_scale(official, embedded_catalogue().scale("nano"), participants); });
  };
  expect_parts(message({.ranks = 3, .processes = 2}), Reason::kNoMultiple, {"3 ", " 2 "});
  expect_parts(message({.ranks = 0}), Reason::kOutOfRange, {"ranks", " 0,"});
  expect_parts(message({.processes = 1 << 17}), Reason::kOutOfRange, {"processes", " 131072,"});
}

TEST(Scale, WhatAnOfficialRunDoesNotHaveStaysAway) {
  TrainConfig official;
  official.run.untimed_steps = 0;
  EXPECT_EQ(apply_scale(official, embedded_catalogue().scale("nano")).config.run.untimed_steps, 0);
  EXPECT_EQ(apply_scale(official, embedded_catalogue().scale("nano")).config.run.warmup_iterations, 0);
  official.run.warmup_iterations = 10;
  EXPECT_EQ(apply_scale(official, embedded_catalogue().scale("nano")).config.run.warmup_iterations, 1);
  EXPECT_EQ(
      apply_scale(official, divisors(R"(, "steps_divisor": 5, "warmup_iterations": 7)")).config.run.warmup_iterations,
      7);
}

TEST(Scale, TheFp8GradientScaleFollowsTheSequenceInPowersOfTwo) {
  TrainConfig official;  // gradients of a mean over 65536 tokens; over 1024 they are 64 times as large
  official.precision.activations = core::ActivationPrecision::kBfloat16;
  official.precision.head = core::ProductPrecision::kFp8;
  const ScaledConfig nano = apply_scale(official, embedded_catalogue().scale("nano"));
  EXPECT_EQ(nano.config.precision.fp8.grad_scale, std::exp2(29 - 6));
  EXPECT_EQ(nano.config.precision.fp8.weight_scale, 32);
  expect_parts(texts_of(nano.notes), {"fp8", " 64"});
  official.data.sequence_length = 49152;  // mini: 49152 / 12288
  EXPECT_EQ(apply_scale(official, embedded_catalogue().scale("mini")).config.precision.fp8.grad_scale,
            std::exp2(29 - 2));
  official.precision.head = core::ProductPrecision::kActivations;
  EXPECT_EQ(texts_of(apply_scale(official, embedded_catalogue().scale("nano")).notes).find("fp8"), std::string::npos);
}

TEST(Scale, GradientBucketsStayInProportionToTheMatrices) {
  const TrainConfig official;
  const TrainConfig nano = apply_scale(official, embedded_catalogue().scale("nano")).config;
  EXPECT_EQ(nano.distributed.bucket_bytes, 25 * 1024 * 1024 / 144);
}

TEST(Scale, ACosineScheduleKeepsItsWarmup) {
  TrainConfig official;  // record 1
  official.schedule.num_steps = official.run.stop_after = 19560;
  official.schedule.learning_rate = {.shape = core::LearningRateShape::kCosine, .warmup_steps = 700};
  const TrainConfig smoke = apply_scale(official, embedded_catalogue().scale("smoke")).config;
  EXPECT_EQ(smoke.schedule.num_steps, 391);
  EXPECT_EQ(smoke.schedule.learning_rate.warmup_steps, 14);
  EXPECT_EQ(smoke.schedule.learning_rate.shape, core::LearningRateShape::kCosine);
}

TEST(Scale, LearnedPositionsHaveARowForEveryPlace) {
  TrainConfig official;
  official.model.position = core::PositionEncoding::kLearned;
  official.model.rope.max_seq_len = official.data.sequence_length = 1024;
  official.data.sequences_per_step = 512;
  official.data.val_sequences = 160;
  EXPECT_EQ(apply_scale(official, embedded_catalogue().scale("nano")).config.model.rope.max_seq_len, 256);
}

TEST(Scale, RefusesWhatDoesNotDivide) {
  const auto scaled = [](const std::string& members) {
    return [members] {
      const TrainConfig official;
      apply_scale(official, divisors(members));
    };
  };
  expect_parts(error_of(core::ErrorCode::kInvalidArgument, scaled(R"(, "model_dim_divisor": 7)")), Reason::kNoMultiple,
               {" t ", "model_dim", "768", "7"});
  expect_parts(error_of(core::ErrorCode::kInvalidArgument, scaled(R"(, "context_divisor": 3)")), Reason::kNoMultiple,
               {"attention/block_size", "128", "3"});
  expect_parts(error_of(core::ErrorCode::kInvalidArgument, scaled(R"(, "ranks": 3)")), Reason::kNoMultiple, {"8", "3"});
}

TEST(Scale, RefusesBadFiles) {
  const auto message = [](const std::string& members) {
    return error_of(core::ErrorCode::kInvalidArgument, [&] { divisors(members); });
  };
  expect_parts(message(R"(, "model_dim_divisior": 2)"), Reason::kUnknownKey,
               {"t.json: /model_dim_divisior", "model_dim_divisor"});
  expect_parts(message(R"(, "steps_divisor": 0)"), Reason::kOutOfRange, {"t.json: /steps_divisor"});
  expect_parts(message(R"(, "vocab_size": 257)"), Reason::kMissingKey, {"t.json: /document_separator: "});
  expect_parts(message(R"(, "holds": {"newton_schulz_precision": 3})"), Reason::kWrongType,
               {"t.json: /holds/newton_schulz_precision"});
  expect_parts(message(R"(, "warmup_iterations": -1)"), Reason::kOutOfRange, {"t.json: /warmup_iterations"});
}

}  // namespace
}  // namespace nanobench::ablations
