// From shards to batches: what a validation needs of its shard, and when the next step is fetched.
#include "engine/train/batch_source.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/base/error.h"
#include "core/data/token_shard.h"
#include "tests/engine/distributed/tiny_run.h"

namespace nanobench::core::testing {
namespace {

/// A shard of `length` tokens below 60, removed with the object.
class CountingShard {
 public:
  explicit CountingShard(std::size_t length)
      : path_(std::filesystem::temp_directory_path() / ("nanobench_counting_" + std::to_string(getpid()) + ".bin")) {
    std::vector<std::uint16_t> tokens(length);
    for (std::size_t i = 0; i < length; ++i) tokens[i] = static_cast<std::uint16_t>(i % 59);
    write_token_shard(path_, tokens);
  }
  ~CountingShard() { std::filesystem::remove(path_); }
  CountingShard(const CountingShard&) = delete;
  CountingShard& operator=(const CountingShard&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(BatchSource, AValidationOfFewerSequencesThanAStepNeedsNoMoreThanThem) {
  const TinyRun run;
  RunSpec spec = run.spec(1);
  spec.config.data.ranks = 1;
  spec.config.data.loader.position = LoaderPosition::kGlobal;
  spec.config.data.val_sequences = 2;  // a step has 8
  const CountingShard shard(2 * 64 + 2);
  spec.val_shards = {shard.path()};
  const RankShare all(1, 0, 1);
  const BatchSource source(spec, at::kFloat, all);
  EXPECT_EQ(source.validation_places().size(), 2U);
  spec.config.data.val_sequences = 4;
  EXPECT_THROW(BatchSource(spec, at::kFloat, all), Error);
}

TEST(BatchSource, FetchingAheadChangesNothingThatIsRead) {
  const TinyRun run;
  RunSpec spec = run.spec(1);
  const RankShare all(spec.config.data.ranks, 0, 1);
  std::vector<at::Tensor> expected;
  for (const FetchTime fetch : {FetchTime::kStepStart, FetchTime::kAfterForward, FetchTime::kAfterBackward}) {
    for (const TokenDtype dtype : {TokenDtype::kInt64, TokenDtype::kInt32}) {
      spec.config.data.loader.fetch = fetch;
      spec.config.data.loader.token_dtype = dtype;
      BatchSource source(spec, at::kFloat, all);
      std::vector<at::Tensor> got;
      for (int step = 0; step < 3; ++step) {
        for (const FetchedSequence& sequence : source.next_step()) got.push_back(sequence.tokens.to(at::kLong));
        source.fetch_ahead(FetchTime::kAfterForward, step < 2);
        source.fetch_ahead(FetchTime::kAfterBackward, step < 2);
      }
      source.restart();
      got.push_back(source.next_step().front().tokens.to(at::kLong));
      if (expected.empty()) expected = got;
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], expected[i])) << i;
    }
  }
  EXPECT_TRUE(at::equal(expected.front(), expected.back())) << "restarted";
}

}  // namespace
}  // namespace nanobench::core::testing
