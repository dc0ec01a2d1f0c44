// Losses of a validation's tokens by group, as a run reports them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/config/schedule.h"
#include "core/data/token_groups.h"
#include "engine/train/safetensors.h"
#include "tests/engine/golden_training.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

const AskedMetrics kAllMetrics = {AskedMetric::kLossAtPosition, AskedMetric::kLossByDocumentLength,
                                  AskedMetric::kLossByTokenFrequency};

RunSpec asked_spec(const AskedMetrics& metrics, const std::string& dtype = "float64") {
  RunSpec spec = golden_spec(golden_folder() / "record17", dtype);
  spec.metrics = metrics;
  return spec;
}

template <class Event>
std::vector<Event> events_of(const EventLog& log) {
  std::vector<Event> events;
  for (const RunEvent& event : log.events) {
    if (const auto* one = std::get_if<Event>(&event)) events.push_back(*one);
  }
  return events;
}

std::vector<double> all_losses(const EventLog& log) {
  std::vector<double> losses;
  for (const StepEvent& event : events_of<StepEvent>(log)) losses.push_back(event.loss);
  for (const EvalEvent& event : events_of<EvalEvent>(log)) losses.push_back(event.loss);
  return losses;
}

TEST(TokenLossSums, AreReportedOnceAndChangeNoLoss) {
  for (const std::string dtype : {"float64", "float32"}) {
    const EventLog plain = train_to_the_end(asked_spec({}, dtype)),
                   asked = train_to_the_end(asked_spec(kAllMetrics, dtype));
    EXPECT_EQ(all_losses(asked), all_losses(plain)) << "bit for bit";
    EXPECT_TRUE(events_of<BucketsEvent>(plain).empty());
    const std::vector<BucketsEvent> buckets = events_of<BucketsEvent>(asked);
    const EvalEvent last = events_of<EvalEvent>(asked).back();
    ASSERT_EQ(buckets.size(), kAllMetrics.size());
    for (const BucketsEvent& event : buckets) {
      EXPECT_EQ(event.step, last.step);
      ASSERT_EQ(event.means.size(), static_cast<std::size_t>(kLogBuckets));
      double sum = 0.0, count = 0.0;
      for (std::size_t i = 0; i < event.means.size(); ++i) {
        EXPECT_EQ(std::isnan(event.means[i]), event.counts[i] == 0.0);
        if (event.counts[i] > 0.0) sum += event.means[i] * event.counts[i];
        count += event.counts[i];
      }
      EXPECT_EQ(count, static_cast<double>(last.tokens)) << event.metric;
      EXPECT_NEAR(sum / count, last.loss, (dtype == "float64" ? 1e-13 : 1e-6) * last.loss) << event.metric;
    }
  }
}

/// The same by the losses of single tokens, with places that are counted token by token from the shard's start.
TEST(TokenLossSums, AreTheMeansOfTheTokensOfEachGroup) {
  RunSpec spec = asked_spec(kAllMetrics);
  spec.config.run.stop_after = 0;  // the initial parameters
  GPT model(spec.config, at::kDouble);
  model.parameters().assign(read_safetensors(*spec.init_file), *spec.init_file);
  const BatchSource batches(spec, at::kDouble, RankShare(spec.config.data.ranks, 0, 1));
  const StepWindows windows = step_windows(spec.config.attention, spec.config.schedule, 0);
  const TokenShard shard(spec.val_shards.front()), train(spec.train_shards.front());
  std::map<std::int64_t, std::int64_t> seen;
  for (const std::uint16_t token : train.tokens()) ++seen[token];
  std::map<std::string, std::map<int, std::pair<double, double>>> expected;  // sums and counts
  for (const SequenceRef& place : batches.validation_places()) {
    const FetchedSequence sequence = batches.validation_sequence(place);
    const at::Tensor losses = model.losses(batches.make_input(sequence, windows)).tokens;
    for (std::int64_t i = 0; i < losses.numel(); ++i) {
      const auto separator = static_cast<std::uint16_t>(spec.config.attention.document_separator);
      const auto at = [&](std::int64_t token) { return shard.tokens()[static_cast<std::size_t>(token)]; };
      const std::int64_t token = place.start + i, target = at(token + 1);
      std::int64_t first = token, end = token + 1, rank = 1;
      while (first > 0 && at(first) != separator) --first;
      while (end < shard.size() && at(end) != separator) ++end;
      for (std::int64_t other = 0; other < spec.config.model.vocab_size; ++other)
        rank += seen[other] > seen[target] || (seen[other] == seen[target] && other < target) ? 1 : 0;
      const auto add = [&](const char* metric, std::int64_t number) {
        auto& [sum, count] =
            expected[metric][static_cast<int>(std::floor(4.0 * std::log2(static_cast<double>(number)) + 1e-12))];
        sum += losses[i].item<double>();
        count += 1.0;
      };
      add("loss_at_position", token - first + 1);
      add("loss_by_document_length", end - first);
      add("loss_by_token_frequency", rank);
    }
  }
  const std::vector<BucketsEvent> buckets = events_of<BucketsEvent>(train_to_the_end(spec));
  ASSERT_EQ(buckets.size(), 3U);
  for (const BucketsEvent& event : buckets) {
    EXPECT_GT(expected.at(event.metric).size(), 3U) << event.metric << " has several groups";
    for (int bucket = 0; bucket < kLogBuckets; ++bucket) {
      const auto [sum, count] = expected.at(event.metric)[bucket];
      EXPECT_EQ(event.counts[static_cast<std::size_t>(bucket)], count) << event.metric << " " << bucket;
      if (count > 0.0) {
        EXPECT_NEAR(event.means[static_cast<std::size_t>(bucket)], sum / count, 1e-12) << event.metric << " " << bucket;
      }
    }
  }
}

TEST(TokenLossSums, AreTheSameWithAnyNumberOfProcesses) {
  const auto buckets_with = [](std::int64_t processes) {
    RunSpec spec = asked_spec({AskedMetric::kLossAtPosition}, "float32");
    spec.config.run.stop_after = 0;
    spec.config.data.ranks = 2;
    spec.config.distributed.processes = processes;
    return events_of<BucketsEvent>(train_to_the_end(spec));
  };
  const std::vector<BucketsEvent> one = buckets_with(1), two = buckets_with(2);
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(two.size(), 1U) << "process 0 alone reports";
  EXPECT_EQ(two[0].counts, one[0].counts);
  for (std::size_t i = 0; i < one[0].means.size(); ++i) {
    if (one[0].counts[i] > 0.0) {
      EXPECT_EQ(two[0].means[i], one[0].means[i]) << "bit for bit";
    }
  }
}

}  // namespace
}  // namespace nanobench::core::testing
