// What a run's events become in the store.
#include "suites/run/run_recorder.h"

#include <algorithm>
#include <limits>

#include "results/host_load.h"
#include "results/sqlite.h"
#include "tests/results/store_fixture.h"

namespace nanobench::suites {
namespace {

class RunRecorderTest : public results::StoreTest {
 protected:
  /// A completed run whose engine told this of its GPU.
  results::RunRecord recorded(const std::map<std::string, std::string>& environment,
                              const std::vector<core::CounterEvent>& counters) {
    results::Store store(file());
    const std::int64_t id = claim(store, new_run("d" + std::to_string(++runs_)));
    RunRecorder recorder(store, id);
    recorder.add(core::HelloEvent{
        .engine = "e", .engine_version = "1", .environment = environment, .threads = 1, .parameters = 1});
    for (const core::CounterEvent& counter : counters) recorder.add(counter);
    recorder.finish(completed());
    facts_ = store.run_facts(id);
    counters_ = store.metrics(id);
    return store.run(id);
  }

  results::Facts facts_;
  std::vector<std::string> counters_;
  int runs_ = 0;
};

TEST_F(RunRecorderTest, AGpuIsPartOfThePlaceOfItsTimes) {
  const results::RunRecord none = recorded({{"device", "cpu"}}, {});
  EXPECT_EQ(none.gpu, "");
  EXPECT_EQ(none.place(), none.owner.host);
  const results::RunRecord run = recorded({{"gpu", "NVIDIA H100"}, {"gpu_uuid", "GPU-1"}, {"driver", "570.86.15"}}, {});
  EXPECT_EQ(run.gpu, "NVIDIA H100 (GPU-1), driver 570.86.15");
  EXPECT_EQ(run.place(), run.owner.host + ", " + run.gpu);
  EXPECT_EQ(recorded({{"gpu", "NVIDIA A100"}}, {}).gpu, "NVIDIA A100");
  const results::Store store(file(), results::OpenMode::kReadOnly);
  const std::vector<results::RunRecord> runs = store.runs();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[1].gpu, run.gpu) << "also in a list";
}

TEST_F(RunRecorderTest, AnotherProcessOnTheGpuDisturbs) {
  recorded({{"gpu", "NVIDIA H100"}},
           {{"gpu/other_processes", 0}, {"gpu/throttle/power_cap", 1}, {"gpu/power_w/max", 700}});
  EXPECT_EQ(results::disturbance(facts_, 1), std::nullopt);
  EXPECT_FALSE(facts_.contains("gpu/power_w/max")) << "a counter alone";
  EXPECT_NE(std::find(counters_.begin(), counters_.end(), "counter/gpu/power_w/max"), counters_.end());
  recorded({{"gpu", "NVIDIA H100"}}, {{"gpu/other_processes", 2}, {"gpu/other_processes", 0}});
  EXPECT_EQ(results::disturbance(facts_, 1), "2 other processes were on its GPU") << "the most counts";
  recorded({{"gpu", "NVIDIA H100"}}, {{"gpu/throttle/hw_thermal_slowdown", 1}});
  EXPECT_EQ(results::disturbance(facts_, 1), "its GPU slowed down (hw_thermal_slowdown)");
  recorded({{"gpu", "NVIDIA H100"}}, {{"gpu/other_processes", 1},
                                      {"gpu/process_0/other_processes", 0},
                                      {"gpu/process_5/other_processes", 1},
                                      {"gpu/process_5/power_w/max", 700}});
  EXPECT_EQ(results::disturbance(facts_, 1), "another process was on the GPU of its process 5");
  EXPECT_FALSE(facts_.contains("gpu/process_5/power_w/max"));
}

TEST_F(RunRecorderTest, AnswersBecomeSamplesByItem) {
  results::Store store(file());
  const std::int64_t id = claim(store, new_run("answers"));
  RunRecorder recorder(store, id);
  recorder.add(
      core::HelloEvent{.engine = "e", .engine_version = "1", .environment = {}, .threads = 1, .parameters = 1});
  for (std::int64_t item = 0; item < 4; ++item)
    recorder.add(
        core::ChoiceEvent{.evaluation = "swag", .item = item, .is_correct = item == 2, .is_correct_norm = item > 0});
  recorder.add(core::EvaluationEvent{.evaluation = "swag",
                                     .step = 107,
                                     .items = 4,
                                     .accuracy = 0.25,
                                     .accuracy_norm = 0.75,
                                     .chance = 0.25,
                                     .best_accuracy = 0.9});
  EXPECT_THROW(recorder.add(core::ChoiceEvent{.evaluation = "swag", .item = 3}), core::Error) << "an item again";
  recorder.add(core::ChoiceEvent{.evaluation = "other", .item = 0});
  recorder.finish(completed());
  const auto values = [&](const std::string& metric) {
    std::vector<std::pair<std::int64_t, double>> pairs;
    for (const results::Sample& sample : store.samples(id, metric)) pairs.emplace_back(sample.step, sample.value);
    return pairs;
  };
  using Pairs = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(values("eval/swag/correct"), (Pairs{{0, 0}, {1, 0}, {2, 1}, {3, 0}}));
  EXPECT_EQ(values("eval/swag/correct_norm"), (Pairs{{0, 0}, {1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(values("eval/swag/accuracy"), (Pairs{{107, 0.25}}));
  EXPECT_EQ(values("eval/swag/accuracy_norm"), (Pairs{{107, 0.75}}));
  EXPECT_EQ(values("eval/swag/best_accuracy"), (Pairs{{107, 0.9}}));
  EXPECT_EQ(values("eval/other/correct"), (Pairs{{0, 0}}));
}

TEST_F(RunRecorderTest, BrokenFactsNameNoGpu) {
  const results::RunRecord run = recorded({{"gpu", "NVIDIA H100"}}, {});
  for (const char* broken : {"{", "[1]", "{\"engine/gpu\": 7}", ""}) {
    {
      results::Database database(file(), file().string(), SQLITE_OPEN_READWRITE);
      results::Statement statement(database, "UPDATE environments SET facts = ?");
      statement.bind(std::string(broken));
      statement.step();
    }
    EXPECT_EQ(results::Store(file(), results::OpenMode::kReadOnly).run(run.id).gpu, "") << broken;
  }
}

TEST_F(RunRecorderTest, BucketsTakeThePlaceOfSteps) {
  results::Store store(file());
  const std::int64_t id = claim(store, new_run("buckets"));
  RunRecorder recorder(store, id);
  recorder.add(core::HelloEvent{.engine = "e", .engine_version = "1", .environment = {}});
  const core::BucketsEvent event{
      "loss_at_position", 100, {3.5, std::numeric_limits<double>::quiet_NaN(), 2.5}, {7, 0, 9}};
  recorder.add(event);
  EXPECT_THROW(recorder.add(event), core::Error) << "a second one";
  EXPECT_THROW(recorder.add(core::BucketsEvent{"loss", 100, {1.0}, {1}}), core::Error) << "val/loss has steps";
  recorder.finish(completed());
  const std::vector<results::Sample> means = store.samples(id, "val/loss_at_position");
  const std::vector<results::Sample> counts = store.samples(id, "val/loss_at_position/tokens");
  ASSERT_EQ(means.size(), 2U) << "an empty bucket has no row";
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(means[0].step, 0);
  EXPECT_EQ(means[1].step, 2);
  EXPECT_EQ(means[1].value, 2.5);
  EXPECT_EQ(counts[1].value, 9.0);
}

}  // namespace
}  // namespace nanobench::suites
