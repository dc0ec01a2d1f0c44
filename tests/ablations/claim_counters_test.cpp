#include "ablations/claim_counters.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ablations/claim.h"
#include "ablations/resolve.h"
#include "core/config/schedule.h"
#include "core/data/block_mask.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

core::TrainConfig official(const std::string& record, const FeatureSettings& settings = {}) {
  ResolveRequest request;
  request.record = record;
  request.settings = settings;
  return resolve(embedded_catalogue(), request).config;
}

double count(const std::string& metric, const std::string& record, const FeatureSettings& settings = {}) {
  const std::optional<double> value = counted(metric, official(record, settings));
  EXPECT_TRUE(value) << metric << " of " << record;
  return value.value_or(-1);
}

TEST(ClaimCounters, TablesOfTheRecords) {
  EXPECT_EQ(count("value_table_parameters", "record16"), 6.0 * 50304 * 768);
  EXPECT_EQ(count("value_table_parameters", "record17"), 3.0 * 50257 * 768);
  EXPECT_EQ(count("value_table_parameters", "record13"), 0.0);
  EXPECT_EQ(count("rotary_table_bytes", "record17"), 184549376.0);  // 11 layers, 65,536 x 64 cosines and sines, 2 bytes
  EXPECT_FALSE(counted("rotary_table_bytes", official("record16")));  // made anew each time
}

TEST(ClaimCounters, ParametersAreThoseOfTheMatricesAndTables) {
  // 12 layers: 4 D^2 of attention (11 of them in #17) and 8 D^2 of the MLP; embedding and head.
  const double square = 768.0 * 768.0;
  EXPECT_EQ(count("parameters", "record12"), 12 * 12 * square + 2 * 50304.0 * 768);
  EXPECT_EQ(count("parameters", "record17"), (11 * 12 + 8) * square + (4 * 50257.0 + 50304) * 768);
}

TEST(ClaimCounters, RanksShareTheMatricesEvenly) {
  EXPECT_DOUBLE_EQ(count("busiest_rank_share", "record14"), 1.0);
  EXPECT_DOUBLE_EQ(count("busiest_rank_share", "record15"), 1.0);
  EXPECT_GT(count("busiest_rank_share", "record17"), 1.0);  // 44 matrices of one size over 8 ranks
  EXPECT_EQ(count("micro_steps_per_rank", "record16"), 1.0);
  // Eleven matrices of 3 x 768 x 768 over 8 ranks: some have two where the mean is 11/8; the MLP's divide evenly.
  for (const char* layout : {"merged", "stacked"})
    EXPECT_GT(count("busiest_rank_share", "record17", {{"qkv_layout", layout}}), 1.15) << layout;
  // Attention and MLP apart (10 and 22 matrices), then in common rounds (32).
  EXPECT_GT(count("busiest_rank_share", "record35"), 1.2);
  EXPECT_LT(count("busiest_rank_share", "record36"), 1.1);
}

TEST(ClaimCounters, SkipsAndRatesOfTheRecords) {
  EXPECT_EQ(count("skip_parameters", "record16"), 6.0);
  EXPECT_EQ(count("skip_parameters", "record16", {{"unet_skips", "off"}}), 0.0);
  // 0.05 for all steps but the last 600, in which it falls to 0 in a straight line.
  EXPECT_NEAR(count("effective_learning_rate", "record14"), 0.05 * (1 - 600.0 / 2 / 1530), 0.05 / 1530);
  EXPECT_NEAR(count("effective_learning_rate", "record15"), 0.05 * (1 - 600.0 / 2 / 1480), 0.05 / 1480);
}

TEST(ClaimCounters, SequencesEndInsideABlockUnlessTheirLengthIsAMultipleOfIt) {
  EXPECT_EQ(count("unaligned_sequences", "record14"), 0.0);
  core::TrainConfig config;
  config.data.sequence_length = 1000;
  config.data.sequences_per_step = 2;
  config.attention.block_size = 50;
  EXPECT_EQ(counted("unaligned_sequences", config), 0.0);
  config.attention.block_size = 64;
  EXPECT_EQ(counted("unaligned_sequences", config), 2.0);
}

TEST(ClaimCounters, MasksOfTheRecords) {
  EXPECT_EQ(count("full_blocks", "record15"), 0.0);
  EXPECT_GT(count("full_blocks", "record16"), 0.0);
  EXPECT_EQ(count("cross_document_pairs", "record12"), 0.0);
  EXPECT_GT(count("cross_document_pairs", "record12", {{"document_mask", "off"}}), 0.0);
  EXPECT_LT(count("document_pairs_share", "record12"), 0.999);
  EXPECT_GT(count("document_pairs_share", "record12"), 0.3);
  EXPECT_GT(count("cut_documents", "record11"), 10 * count("cut_documents", "record12"));
  EXPECT_GT(count("unaligned_documents", "record16"), 0.0);
  EXPECT_LT(count("flops_per_token", "record17"), count("flops_per_token", "record17", {{"attention_skip", "none"}}));
}

TEST(ClaimCounters, OnlyARunTellsTheDifferenceOfRanks) {
  EXPECT_FALSE(counted("rank_parameter_difference", official("record14")));
}

TEST(ClaimCounters, EveryMetricOfClaimsIsCounted) {
  const core::TrainConfig config = official("record17");
  for (const ClaimMetric& metric : claim_metrics()) {
    if (metric.kind != MeasureKind::kCounter) continue;
    EXPECT_NO_THROW(counted(metric.name, config)) << metric.name;
  }
}

/// Everything counted pair by pair.
TEST(MaskCounts, AreThoseOfTheMasksPairByPair) {
  for (const core::WindowGranularity granularity :
       {core::WindowGranularity::kToken, core::WindowGranularity::kTokenBlockClipped,
        core::WindowGranularity::kBlock}) {
    core::TrainConfig config;
    config.data.sequence_length = 1024;
    config.data.sequences_per_step = 2;
    config.attention.block_size = 64;
    config.attention.window.granularity = granularity;
    config.attention.window.schedule.end_tokens = 512;
    const DocumentMaskCounts counts = count_masks(config);
    const std::vector<std::int64_t> starts = document_starts(4 * 2 * 1024);
    std::int64_t visible = 0, inside = 0, full = 0, partial = 0;
    for (std::int64_t sequence = 0; sequence < 8; ++sequence) {
      std::vector<std::uint16_t> tokens(1024, 1);
      for (const std::int64_t start : starts) {
        if (start / 1024 == sequence)
          tokens[static_cast<std::size_t>(start % 1024)] =
              static_cast<std::uint16_t>(config.attention.document_separator);
      }
      const std::int64_t step = sequence / 2 * config.schedule.num_steps / 4;
      const core::BlockMask mask(tokens, {.block_size = 64,
                                          .document_separator = config.attention.document_separator,
                                          .granularity = granularity,
                                          .window_tokens = core::window_tokens(config.attention.window.schedule, step,
                                                                               config.schedule.num_steps)});
      const std::vector<std::int32_t> fulls = mask.full_blocks().counts, partials = mask.partial_blocks().counts;
      full += std::accumulate(fulls.begin(), fulls.end(), 0);
      partial += std::accumulate(partials.begin(), partials.end(), 0);
      visible += mask.allowed_pairs();
      for (std::size_t q = 0; q < 1024; ++q) {
        for (std::size_t k = 0; k <= q; ++k) inside += mask.documents()[q] == mask.documents()[k] ? 1 : 0;
      }
    }
    SCOPED_TRACE(static_cast<int>(granularity));
    EXPECT_EQ(counts.steps, 4);
    EXPECT_EQ(counts.attention.whole.visible_pairs, visible);
    EXPECT_EQ(counts.attention.whole.visited_blocks, full + partial);
    EXPECT_EQ(counts.attention.whole.full_blocks, full);
    EXPECT_EQ(counts.mask_evaluations, partial * 64 * 64);
    EXPECT_EQ(counts.pairs_inside_documents, inside);
    EXPECT_EQ(counts.cross_document_pairs, 0);
  }
}

TEST(MaskCounts, DocumentsHaveTheirMeanLength) {
  const std::vector<std::int64_t> starts = document_starts(20'000'000);
  ASSERT_EQ(starts.front(), 0);
  for (std::size_t i = 1; i < starts.size(); ++i) ASSERT_GT(starts[i], starts[i - 1]);
  EXPECT_NEAR(20'000'000.0 / static_cast<double>(starts.size()), kCountedDocumentTokens, 40);
}

}  // namespace
}  // namespace nanobench::ablations
