// Every record's real configuration, at every scale, with and without ranks of one's own. The configurations come from
// the golden data, so that this does not depend on which records the catalogue holds.
#include "ablations/scale.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/golden/golden_data.h"

namespace nanobench::ablations {
namespace {

using core::TrainConfig;

class ScaledRecord : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { official_ = core::read_train_config_file(golden_record(GetParam()).string()); }
  TrainConfig official_;
};

void expect_whole_reads(const TrainConfig& config) {
  const core::DataConfig& data = config.data;
  EXPECT_EQ(data.sequences_per_step % (data.ranks * data.loader.sequences_per_read), 0);
  EXPECT_EQ(data.val_sequences % (data.ranks * data.loader.sequences_per_read), 0);
  EXPECT_GE(config.model.rope.max_seq_len, std::max(data.sequence_length, data.val_length()));
}

TEST_P(ScaledRecord, IsAValidConfigurationAtEveryScale) {
  for (const Scale* scale : embedded_catalogue().scales()) {
    SCOPED_TRACE(scale->id);
    ScaledConfig scaled;
    ASSERT_NO_THROW(scaled = apply_scale(official_, *scale));
    EXPECT_NO_THROW(core::check_train_config(scaled.config, scale->id));
    EXPECT_EQ(scaled.notes.empty(), scale->id == "official");
    expect_whole_reads(scaled.config);
    EXPECT_EQ(scaled.config.data.tokens_per_step() * scale->tokens_per_step_divisor, official_.data.tokens_per_step());
    EXPECT_GT(scaled.config.run.stop_after, scaled.config.run.untimed_steps + 10);
  }
}

TEST_P(ScaledRecord, DividesAmongTwoProcessesAndThreeRanksAtEveryScale) {
  for (const Scale* scale : embedded_catalogue().scales()) {
    for (const Participants& participants :
         {Participants{.processes = 2}, Participants{.ranks = 3}, Participants{.ranks = 8, .processes = 4}}) {
      SCOPED_TRACE(scale->id);
      ScaledConfig scaled;
      ASSERT_NO_THROW(scaled = apply_scale(official_, *scale, participants));
      expect_whole_reads(scaled.config);
      EXPECT_EQ(scaled.config.distributed.processes, participants.processes.value_or(1));
      EXPECT_EQ(scaled.config.data.ranks, participants.ranks.value_or(2));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ScaledRecord, testing::Range(4, 42),
                         [](const auto& test) { return "record" + std::to_string(test.param); });

TrainConfig scaled_record(int number, const std::string& scale) {
  return apply_scale(core::read_train_config_file(golden_record(number).string()), embedded_catalogue().scale(scale))
      .config;
}

TEST(ScaledRecords, HaveTheirOwnShapesAtNano) {
  const TrainConfig four = scaled_record(4, "nano");  // 12 heads, 512 sequences of 1024, read 64 at a time
  EXPECT_EQ(four.model.num_heads, 4);
  EXPECT_EQ(four.data.sequence_length, 256);
  EXPECT_EQ(four.data.sequences_per_step, 4);
  EXPECT_EQ(four.data.loader.sequences_per_read, 4);
  EXPECT_EQ(four.data.val_sequences, 32);
  EXPECT_TRUE(four.data.loader.first_read_twice);
  const TrainConfig twenty_one = scaled_record(21, "nano");  // 48K to train, 256K to validate
  EXPECT_EQ(twenty_one.data.sequence_length, 768);
  EXPECT_EQ(twenty_one.data.val_length(), 4096);
  EXPECT_EQ(twenty_one.data.val_sequences, 2);
  EXPECT_EQ(twenty_one.model.rope.max_seq_len, 4096);
}

}  // namespace
}  // namespace nanobench::ablations
