// Counts against closed forms by hand, and every setting that changes the work against the model.
#include "core/config/cost_model.h"

#include <gtest/gtest.h>

#include <functional>

namespace nanobench::core {
namespace {

/// Two layers, width 8, two heads, MLP 4, 16 tokens as two sequences of two blocks, bare of everything optional.
TrainConfig small_config() {
  TrainConfig config;
  ModelConfig& model = config.model;
  model.num_layers = 2;
  model.model_dim = 8;
  model.num_heads = model.num_kv_heads = 2;
  model.vocab_size = 10;
  model.vocab_pad_multiple = 1;
  model.value_embeddings = {
      .source = ValueSource::kNone, .num_tables = 0, .layer_map = {std::nullopt, std::nullopt}, .mix = ValueMix::kNone};
  model.attention_skip_layers = {};
  model.rope.max_seq_len = 8;
  config.attention.block_size = 4;
  config.attention.document_separator = 0;
  config.data.sequence_length = 8;
  config.data.sequences_per_step = config.data.ranks = 2;
  return config;
}

/// Causal, no window: blocks 1 + 2 of each sequence, the one below the diagonal full.
AttentionCounts causal_counts(const TrainConfig& config) {
  return counts_without_documents(config, std::nullopt, std::nullopt);
}

StepCost cost_of(const TrainConfig& config) {
  return training_cost(config, causal_counts(config));
}

double flops(const TrainConfig& config, OpFamily family, CostPhase phase) {
  return cost_of(config).at(family, phase).flops;
}

double added_flops(const TrainConfig& before, const TrainConfig& after, OpFamily family, CostPhase phase) {
  return flops(after, family, phase) - flops(before, family, phase);
}

TEST(CostModel, CausalMaskByHand) {
  const AttentionCounts counts = causal_counts(small_config());
  EXPECT_EQ(counts.whole.visited_blocks, 2 * 3);
  EXPECT_EQ(counts.whole.full_blocks, 2 * 1);
  EXPECT_EQ(counts.whole.visible_pairs, 2 * 8 * 9 / 2);
  EXPECT_EQ(counts.half.visited_blocks, 0) << "no half layers";
}

TEST(CostModel, WindowsByHand) {
  TrainConfig config = small_config();
  config.attention.window.granularity = WindowGranularity::kBlock;
  MaskCounts counts = counts_without_documents(config, 4, std::nullopt).whole;  // one block: the diagonal
  EXPECT_EQ(counts.visited_blocks, 2 * 2);
  EXPECT_EQ(counts.visible_pairs, 2 * 2 * 10);
  config.attention.window.granularity = WindowGranularity::kToken;
  counts = counts_without_documents(config, 2, std::nullopt).whole;  // itself and the one before
  EXPECT_EQ(counts.visited_blocks, 2 * 3);
  EXPECT_EQ(counts.full_blocks, 0);
  EXPECT_EQ(counts.visible_pairs, 2 * 15);
  config.attention.window.half_layers = {1};
  EXPECT_EQ(counts_without_documents(config, 8, 4).half.visible_pairs, 2 * (10 + 4 * 4));
}

TEST(CostModel, LinearLayersByHand) {
  const TrainConfig config = small_config();
  const double weights = 2 * (4 * 8 * 8 + 2 * 8 * 32);
  EXPECT_EQ(flops(config, OpFamily::kLinear, CostPhase::kForward), 2 * 16 * weights);
  EXPECT_EQ(flops(config, OpFamily::kLinear, CostPhase::kBackward), 4 * 16 * weights);
  EXPECT_EQ(flops(config, OpFamily::kLinear, CostPhase::kOptimizer), 0);
  // In and out of q, k, v, projection, and of the MLP's two matrices, and the matrices for each of two sequences.
  const double numbers = 2 * (4 * 2 * 16 * 8 + 2 * 16 * (8 + 32)) + 2 * weights;
  EXPECT_EQ(cost_of(config).at(OpFamily::kLinear, CostPhase::kForward).bytes, 4 * numbers);
}

TEST(CostModel, AttentionByHand) {
  const TrainConfig config = small_config();
  const double pairs = 2 * 6 * 16, masked = pairs - 2 * 2 * 16;  // of both layers
  EXPECT_EQ(flops(config, OpFamily::kAttention, CostPhase::kForward), 4 * 8 * pairs + 2 * (5 * pairs + masked));
  EXPECT_EQ(flops(config, OpFamily::kAttention, CostPhase::kBackward), 10 * 8 * pairs + 2 * (4 * pairs + masked));
  const StepCost cost = cost_of(config);
  EXPECT_EQ(cost.visited_blocks, 12);
  EXPECT_EQ(cost.visible_pairs, 2 * 72);
}

TEST(CostModel, HeadByHand) {
  const TrainConfig config = small_config();
  EXPECT_EQ(flops(config, OpFamily::kHead, CostPhase::kForward), 2 * 16 * 10 * 8 + 7 * 16 * 10);
  EXPECT_EQ(flops(config, OpFamily::kHead, CostPhase::kBackward), 4 * 16 * 10 * 8 + 5 * 16 * 10);
}

TEST(CostModel, NewtonSchulzByHand) {
  TrainConfig config = small_config();
  config.optimizer.hidden_matrices.ns_steps = 1;
  // Eight square matrices: Gram, its square, the product with X (2 * 512 each), three sums of A, two of X, the norm.
  const double square = 8 * (3 * 1024 + 3 * 64 + 2 * 64 + 3 * 64);
  // Four of 8 x 32: 2 * 8 * 8 * 32 twice, 2 * 512, and the sums.
  const double wide = 4 * (2 * 4096 + 1024 + 3 * 64 + 2 * 256 + 3 * 256);
  EXPECT_EQ(flops(config, OpFamily::kOrthogonalization, CostPhase::kOptimizer), square + wide);
  config.optimizer.hidden_matrices.ns_form = NewtonSchulzForm::kTerms;
  EXPECT_EQ(flops(config, OpFamily::kOrthogonalization, CostPhase::kOptimizer),
            8 * (3 * 1024 + 5 * 64 + 3 * 64) + 4 * (3 * 4096 + 5 * 256 + 3 * 256));
}

TEST(CostModel, AdamByHand) {
  const TrainConfig config = small_config();
  // Two tables of 10 x 8, two lambdas a layer, one skip weight.
  const double numbers = 160 + 4 + 1;
  EXPECT_EQ(flops(config, OpFamily::kAdam, CostPhase::kOptimizer), 13 * numbers);
  EXPECT_EQ(cost_of(config).at(OpFamily::kAdam, CostPhase::kOptimizer).bytes, 7 * 4 * numbers);
}

TEST(CostModel, AttentionGatesByHand) {
  const TrainConfig before = small_config();
  TrainConfig after = before;
  after.model.attention_gate_dim = 4;
  const auto added = [&](OpFamily family, CostPhase phase) { return added_flops(before, after, family, phase); };
  // Two layers, 16 tokens: 4 features to 2 heads; a sigmoid of each; the product with 8 features.
  EXPECT_EQ(added(OpFamily::kLinear, CostPhase::kForward), 2 * 2 * 16 * (4 * 2));
  EXPECT_EQ(added(OpFamily::kElementWise, CostPhase::kForward), 2 * 16 * (4 * 2 + 1 * 8));
  const double sums_over_sequences = 2 * 2 * 4;  // of the gradients of the two matrices
  EXPECT_EQ(added(OpFamily::kElementWise, CostPhase::kBackward), 2 * 16 * (3 * 2 + 3 * 8) + sums_over_sequences);
}

TEST(CostModel, SmearGateAndBackoutByHand) {
  const TrainConfig before = small_config();
  TrainConfig after = before;
  after.model.smear_gate_dim = 4;
  const auto added = [&](OpFamily family, CostPhase phase) { return added_flops(before, after, family, phase); };
  // Each token: 4 features to one gate, its sigmoid, x + g x' of 8 features.
  EXPECT_EQ(added(OpFamily::kLinear, CostPhase::kForward), 2 * 16 * 4);
  EXPECT_EQ(added(OpFamily::kElementWise, CostPhase::kForward), 16 * (4 + 2 * 8));
  after = before;
  after.model.backout_layer = 0;
  EXPECT_EQ(added(OpFamily::kElementWise, CostPhase::kForward), 16 * 2 * 8);
  EXPECT_EQ(added(OpFamily::kAdam, CostPhase::kOptimizer), 13 * 1) << "its factor";
}

TEST(CostModel, LayersWithoutAttentionMlpOrBothByHand) {
  const TrainConfig before = small_config();
  const auto linear = [](const TrainConfig& config) { return flops(config, OpFamily::kLinear, CostPhase::kForward); };
  TrainConfig after = before;
  after.model.mlp_skip_layers = {0};
  EXPECT_EQ(linear(before) - linear(after), 2 * 16 * (2 * 8 * 32));
  after.model.skip_layers = {0};
  after.model.mlp_skip_layers = {};
  EXPECT_EQ(linear(after), 2 * 16 * (4 * 8 * 8 + 2 * 8 * 32)) << "one of two layers";
  EXPECT_EQ(flops(after, OpFamily::kAttention, CostPhase::kForward) * 2,
            flops(before, OpFamily::kAttention, CostPhase::kForward));
}

TEST(CostModel, JoinedAttentionMatricesCostAsMuchAsApart) {
  const TrainConfig before = small_config();
  for (const MergedQkvo layout : {MergedQkvo::kBatched, MergedQkvo::kWide}) {
    TrainConfig after = before;
    after.model.merged_qkvo = layout;
    EXPECT_EQ(flops(after, OpFamily::kLinear, CostPhase::kForward),
              flops(before, OpFamily::kLinear, CostPhase::kForward));
    EXPECT_EQ(flops(after, OpFamily::kMuon, CostPhase::kOptimizer),
              flops(before, OpFamily::kMuon, CostPhase::kOptimizer));
    EXPECT_EQ(flops(after, OpFamily::kOrthogonalization, CostPhase::kOptimizer),
              flops(before, OpFamily::kOrthogonalization, CostPhase::kOptimizer))
        << "four matrices of 8 x 8 each";
  }
}

TEST(CostModel, AdamThatWaitsAndSecondMomentsByHand) {
  TrainConfig config = small_config();
  const double muon = flops(config, OpFamily::kMuon, CostPhase::kOptimizer);
  config.optimizer.embeddings.step_every = config.optimizer.lm_head.step_every = 2;
  // Half of the updates of 160 numbers, a sum into the gradient in the other half; 5 scalars as before.
  EXPECT_EQ(flops(config, OpFamily::kAdam, CostPhase::kOptimizer), 160 * (13 + 1) / 2 + 5 * 13);
  config.optimizer.hidden_matrices.second_moment_beta2 = 0.95;
  const double numbers = 2 * (4 * 8 * 8 + 2 * 8 * 32);
  EXPECT_EQ(flops(config, OpFamily::kMuon, CostPhase::kOptimizer) - muon, 8 * numbers);
}

TEST(CostModel, UpdatesWithOwnersByHand) {
  TrainConfig config = small_config();
  config.model.vocab_size = 16;
  config.distributed.processes = 2;
  // Two tables of 16 x 8 and five scalars, in each of two processes.
  EXPECT_EQ(flops(config, OpFamily::kAdam, CostPhase::kOptimizer), 13 * 2 * (2 * 128 + 5));
  const double muon = flops(config, OpFamily::kMuon, CostPhase::kOptimizer);
  config.distributed.gradient_sums = GradientSums::kOwners;
  EXPECT_EQ(flops(config, OpFamily::kAdam, CostPhase::kOptimizer), 13 * (2 * 128 + 2 * 5)) << "scalars do not divide";
  const double numbers = 2 * (4 * 8 * 8 + 2 * 8 * 32);
  EXPECT_EQ(muon - flops(config, OpFamily::kMuon, CostPhase::kOptimizer), 2 * numbers) << "applied once";
}

TEST(CostModel, OfManyStepsIsTheSum) {
  const TrainConfig config = small_config();
  const StepCost one = cost_of(config);
  AttentionCounts counts = causal_counts(config);
  counts += causal_counts(config);
  const StepCost two = training_cost(config, counts, 2);
  EXPECT_EQ(two.total().flops, 2 * one.total().flops);
  EXPECT_EQ(two.total().bytes, 2 * one.total().bytes);
  EXPECT_EQ(two.visited_blocks, 2 * one.visited_blocks);
}

TEST(CostModel, FamiliesAndPhasesBothSumToTheTotal) {
  const StepCost cost = cost_of(TrainConfig());
  double by_family = 0, by_phase = 0;
  for (std::size_t i = 0; i < kOpFamilies; ++i) by_family += cost.of(static_cast<OpFamily>(i)).bytes;
  for (std::size_t i = 0; i < kCostPhases; ++i) by_phase += cost.of(static_cast<CostPhase>(i)).bytes;
  EXPECT_NEAR(by_family / cost.total().bytes, 1, 1e-12);
  EXPECT_NEAR(by_phase / cost.total().bytes, 1, 1e-12);
}

AttentionCounts official_counts(const TrainConfig& config, std::int64_t window) {
  return counts_without_documents(config, window, std::nullopt);
}

TEST(CostModel, Record17IsSixTimesParametersTimesTokens) {
  const TrainConfig config;  // record 17 at its official size
  const StepCost cost = training_cost(config, official_counts(config, 896));
  // Matrices that multiply activations: 11 layers of attention, 12 MLPs, the padded head.
  const double parameters = 11.0 * 4 * 768 * 768 + 12.0 * 8 * 768 * 768 + 50304.0 * 768;
  const double products = 6 * parameters * 8 * 65536;
  const double counted = cost.of(OpFamily::kLinear).flops + cost.of(OpFamily::kHead).flops;
  EXPECT_GE(counted, products);
  EXPECT_LT(counted, 1.01 * products) << "softcap and softmax are little beside the products";
  EXPECT_LT(cost.total().flops, 1.25 * products) << "attention, orthogonalisation and the rest";
}

TEST(CostModel, WithoutAttentionInLayer7) {
  TrainConfig with;
  with.model.attention_skip_layers = {};
  const TrainConfig without;  // layer 7
  const AttentionCounts counts = official_counts(with, 896);
  const StepCost more = training_cost(with, counts), less = training_cost(without, counts);
  EXPECT_EQ(more.of(OpFamily::kLinear).flops - less.of(OpFamily::kLinear).flops, 6.0 * 8 * 65536 * 4 * 768 * 768);
  EXPECT_EQ(less.of(OpFamily::kAttention).flops * 12, more.of(OpFamily::kAttention).flops * 11);
  EXPECT_EQ(more.visited_blocks * 11, less.visited_blocks * 12);
  EXPECT_LT(less.of(OpFamily::kOrthogonalization).flops, more.of(OpFamily::kOrthogonalization).flops);
}

TEST(CostModel, PaddingOfTheVocabulary) {
  const TrainConfig padded;
  TrainConfig bare;
  bare.model.vocab_pad_multiple = 1;
  const AttentionCounts counts = official_counts(padded, 896);
  const StepCost more = training_cost(padded, counts), less = training_cost(bare, counts);
  const double rows = 50304 - 50257, tokens = 8 * 65536;
  EXPECT_EQ(more.of(OpFamily::kHead).flops - less.of(OpFamily::kHead).flops,
            rows * tokens * (6.0 * 768 + 12));  // three products; softmax and cap, both ways
  EXPECT_EQ(more.of(OpFamily::kAdam).flops - less.of(OpFamily::kAdam).flops, 13.0 * rows * 768);
}

TEST(CostModel, BfloatHalvesBytesAndNotFlops) {
  TrainConfig config;
  const AttentionCounts counts = official_counts(config, 896);
  const Cost full = training_cost(config, counts).of(OpFamily::kAttention);
  config.precision.activations = ActivationPrecision::kAutocast;
  const Cost half = training_cost(config, counts).of(OpFamily::kAttention);
  EXPECT_EQ(half.flops, full.flops);
  EXPECT_LT(half.bytes, 0.52 * full.bytes);
  EXPECT_EQ(
      training_cost(TrainConfig(), counts, 1, 8).total().bytes > training_cost(TrainConfig(), counts).total().bytes,
      true);
}

struct CostModelChange {
  const char* name;
  std::function<void(TrainConfig&)> apply;
  int flops;  ///< sign of the change
  int bytes;

  friend void PrintTo(const CostModelChange& item, std::ostream* out) { *out << item.name; }
};

class CostOfChange : public testing::TestWithParam<CostModelChange> {};

int sign(double value) {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/// On record 17's own size, with a window in the middle of its schedule.
TEST_P(CostOfChange, HasItsSign) {
  const TrainConfig before;
  TrainConfig after;
  GetParam().apply(after);
  const auto cost = [](const TrainConfig& config) {
    return training_cost(config, counts_without_documents(config, 1024, 512)).total();
  };
  EXPECT_EQ(sign(cost(after).flops - cost(before).flops), GetParam().flops);
  EXPECT_EQ(sign(cost(after).bytes - cost(before).bytes), GetParam().bytes);
}

const CostModelChange kChanges[] = {
    {"value_tables",
     [](TrainConfig& c) {
       c.model.value_embeddings.num_tables = 6;
       c.model.value_embeddings.layer_map = {0, 1, 2, 3, 4, 5, std::nullopt, 5, 4, 3, 2, 1};
     },
     1, 1},
    {"no_value_tables",
     [](TrainConfig& c) {
       c.model.value_embeddings = {.source = ValueSource::kNone, .num_tables = 0, .mix = ValueMix::kNone};
       c.model.value_embeddings.layer_map.assign(12, std::nullopt);
     },
     -1, -1},
    {"a_layer_without_its_table", [](TrainConfig& c) { c.model.value_embeddings.layer_map[0] = std::nullopt; }, -1, -1},
    {"attention_everywhere", [](TrainConfig& c) { c.model.attention_skip_layers = {}; }, 1, 1},
    {"half_layers",
     [](TrainConfig& c) {
       c.attention.window.half_layers = {1, 3};
     },
     -1, 0},
    {"dense", [](TrainConfig& c) { c.attention.implementation = AttentionImplementation::kDense; }, 1, 0},
    {"masks_everywhere", [](TrainConfig& c) { c.attention.split_full_blocks = false; }, 1, 0},
    {"larger_blocks", [](TrainConfig& c) { c.attention.block_size = 256; }, 1, 0},
    {"merged_qkv", [](TrainConfig& c) { c.model.merged_qkv = true; }, 0, -1},
    {"kv_heads", [](TrainConfig& c) { c.model.num_kv_heads = 2; }, -1, -1},
    {"mlp_ratio", [](TrainConfig& c) { c.model.mlp_ratio = 3; }, -1, -1},
    {"bias", [](TrainConfig& c) { c.model.bias = true; }, 1, 1},
    {"layer_norm", [](TrainConfig& c) { c.model.norm = NormType::kLayer; }, 1, 1},
    {"no_qk_norm", [](TrainConfig& c) { c.model.qk_norm = false; }, -1, -1},
    {"no_embed_norm", [](TrainConfig& c) { c.model.embed_norm = false; }, -1, -1},
    {"no_softcap", [](TrainConfig& c) { c.model.logit_softcap.reset(); }, -1, 0},
    {"tied_head", [](TrainConfig& c) { c.model.tied_head = true; }, -1, -1},
    {"no_skips", [](TrainConfig& c) { c.model.unet_skips = false; }, -1, -1},
    {"no_x0", [](TrainConfig& c) { c.model.x0_lambdas = false; }, -1, -1},
    {"gelu", [](TrainConfig& c) { c.model.activation = Activation::kGelu; }, 1, 0},
    {"learned_positions", [](TrainConfig& c) { c.model.position = PositionEncoding::kLearned; }, -1, -1},
    {"no_positions", [](TrainConfig& c) { c.model.position = PositionEncoding::kNone; }, -1, -1},
    {"tables_each_time", [](TrainConfig& c) { c.model.rope.precompute = false; }, 1, 1},
    {"padded_embeddings", [](TrainConfig& c) { c.model.vocab_pad_embeddings = true; }, 1, 1},
    {"ns_steps", [](TrainConfig& c) { c.optimizer.hidden_matrices.ns_steps = 6; }, 1, 1},
    {"ns_terms", [](TrainConfig& c) { c.optimizer.hidden_matrices.ns_form = NewtonSchulzForm::kTerms; }, 1, 1},
    {"svd", [](TrainConfig& c) { c.optimizer.hidden_matrices.orthogonalizer = Orthogonalizer::kSvd; }, -1, -1},
    {"no_nesterov", [](TrainConfig& c) { c.optimizer.hidden_matrices.nesterov = false; }, -1, 0},
    {"adam_only", [](TrainConfig& c) { c.optimizer.hidden_matrices.type = OptimizerType::kAdam; }, -1, -1},
    {"unfused_adam", [](TrainConfig& c) { c.optimizer.embeddings.fused = false; }, 0, 1},
    {"weight_decay", [](TrainConfig& c) { c.optimizer.lm_head.weight_decay = 0.1; }, 1, 0},
    {"gradient_clip", [](TrainConfig& c) { c.optimizer.gradient_clip.type = GradientClipType::kGlobalNorm; }, 1, 1},
    {"two_processes", [](TrainConfig& c) { c.distributed.processes = 2; }, 1, 1},
    {"truncated_masters", [](TrainConfig& c) { c.precision.parameters = ParameterStorage::kBfloat16Truncated; }, 1, 1},
    {"stochastic_masters", [](TrainConfig& c) { c.precision.parameters = ParameterStorage::kBfloat16Stochastic; }, 1,
     1},
    {"logit_scale", [](TrainConfig& c) { c.model.logit_scale = 0.5; }, 1, 0},
    {"waiting_adam", [](TrainConfig& c) { c.optimizer.lm_head.step_every = 2; }, -1, -1},
    {"second_moments", [](TrainConfig& c) { c.optimizer.hidden_matrices.second_moment_beta2 = 0.95; }, 1, 0},
    {"sigmoid_skips", [](TrainConfig& c) { c.model.unet_skip_gate = SkipGate::kSigmoid; }, 0, 0},
    {"fp8_head", [](TrainConfig& c) { c.precision.head = ProductPrecision::kFp8; }, 1, -1},
    {"fp8_mlp_up", [](TrainConfig& c) { c.precision.mlp_up = ProductPrecision::kFp8; }, 1, -1},
    {"fp8_mlp_down", [](TrainConfig& c) { c.precision.mlp_down = ProductPrecision::kFp8; }, 1, -1},
    {"longer_sequences",
     [](TrainConfig& c) {
       c.data.sequence_length = 131072;
       c.data.sequences_per_step = c.data.ranks = 4;
     },
     1, -1},
    {"one_sequence_less", [](TrainConfig& c) { c.data.sequences_per_step = c.data.ranks = 7; }, -1, -1},
};

INSTANTIATE_TEST_SUITE_P(Table, CostOfChange, testing::ValuesIn(kChanges),
                         [](const auto& case_info) { return std::string(case_info.param.name); });

TEST(CostModel, AWiderWindowNeverCostsLess) {
  const TrainConfig config;
  double before = 0;
  for (std::int64_t window = 128; window <= 1792; window += 128) {
    const double now = training_cost(config, official_counts(config, window)).total().flops;
    EXPECT_GT(now, before) << window;
    before = now;
  }
}

}  // namespace
}  // namespace nanobench::core
