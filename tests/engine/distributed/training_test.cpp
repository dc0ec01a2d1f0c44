// Whole runs of several processes, played by threads: the settings of DistributedConfig leave the losses as they are.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/config/parameter_list.h"
#include "engine/nn/gpt.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

/// Every loss of a run, training and validation.
std::vector<double> training_losses_of(const RunSpec& spec) {
  std::vector<double> losses;
  for (const RunEvent& event : train_to_the_end(spec).events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
    if (const auto* eval = std::get_if<EvalEvent>(&event)) losses.push_back(eval->loss);
  }
  return losses;
}

void expect_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance * expected[i]) << i;
}

struct Named {
  std::string name;
  std::function<void(DistributedConfig&)> change;
};

/// Each setting away from the simplest way of doing it.
std::vector<Named> settings() {
  using D = DistributedConfig;
  const auto gather = [](GatherTiming timing, GatherBuffer buffer) {
    return [=](D& d) { d.muon = MuonSharding::kAllGather, d.all_gather = timing, d.gather_buffer = buffer; };
  };
  const auto reduce = [](ReductionSchedule reduction, BucketStorage storage, std::int64_t bytes) {
    return [=](D& d) { d.reduction = reduction, d.buckets = storage, d.bucket_bytes = bytes; };
  };
  return {
      {"muon_all_reduce", [](D& d) { d.muon = MuonSharding::kAllReduce; }},
      {"muon_all_gather", gather(GatherTiming::kAsynchronous, GatherBuffer::kContiguous)},
      {"muon_all_gather_blocking", gather(GatherTiming::kBlocking, GatherBuffer::kContiguous)},
      {"muon_all_gather_separate", gather(GatherTiming::kAsynchronous, GatherBuffer::kSeparate)},
      {"buckets_views", reduce(ReductionSchedule::kBuckets, BucketStorage::kViews, 20000)},
      {"buckets_copies", reduce(ReductionSchedule::kBuckets, BucketStorage::kCopies, 20000)},
      {"one_bucket", reduce(ReductionSchedule::kBuckets, BucketStorage::kViews, 1 << 30)},
      {"overlapped_views", reduce(ReductionSchedule::kOverlappedBuckets, BucketStorage::kViews, 20000)},
      {"overlapped_copies", reduce(ReductionSchedule::kOverlappedBuckets, BucketStorage::kCopies, 20000)},
      {"owners", [](D& d) { d.muon = MuonSharding::kAllGather, d.gradient_sums = GradientSums::kOwners; }},
      {"owners_by_shape_blocking",
       [](D& d) {
         d.muon = MuonSharding::kAllGather, d.gradient_sums = GradientSums::kOwners;
         d.muon_groups = MuonGroups::kShape, d.all_gather = GatherTiming::kBlocking;
       }},
      {"muon_groups_by_shape", [](D& d) { d.muon = MuonSharding::kAllGather, d.muon_groups = MuonGroups::kShape; }},
      {"overlapped_each", reduce(ReductionSchedule::kOverlappedBuckets, BucketStorage::kViews, 1)},
  };
}

class DistributedSettings : public ::testing::TestWithParam<int> {
 protected:
  /// One all-reduce a parameter, Muon replicated.
  RunSpec simplest() const {
    RunSpec spec = run_.spec(GetParam());
    spec.config.distributed.reduction = ReductionSchedule::kPerParameter;
    spec.config.distributed.muon = MuonSharding::kReplicated;
    return spec;
  }
  TinyRun run_;
};

TEST_P(DistributedSettings, LeaveEveryBitOfTheLosses) {
  const std::vector<double> expected = training_losses_of(simplest());
  ASSERT_EQ(expected.size(), 4U + 3U);
  for (const Named& setting : settings()) {
    RunSpec spec = simplest();
    setting.change(spec.config.distributed);
    EXPECT_EQ(training_losses_of(spec), expected) << setting.name;
  }
}

TEST_P(DistributedSettings, OneProcessPlayingAllRanksDiffersByRoundingOnly) {
  expect_close(training_losses_of(simplest()), training_losses_of(run_.spec(1)), 1e-5);
}

TEST_P(DistributedSettings, SummingAfterEveryMicroStepDiffersByRoundingOnly) {
  RunSpec spec = simplest();
  const std::vector<double> at_the_end = training_losses_of(spec);
  spec.config.distributed.gradient_sync = GradientSync::kEveryMicroStep;
  const std::vector<double> each_time = training_losses_of(spec);
  expect_close(each_time, at_the_end, 1e-5);
  // Differences in the last bits take some steps to reach a loss.
  RunSpec longer = simplest();
  longer.config.schedule.num_steps = longer.config.run.stop_after = 8;
  const std::vector<double> longer_at_the_end = training_losses_of(longer);
  longer.config.distributed.gradient_sync = GradientSync::kEveryMicroStep;
  EXPECT_NE(training_losses_of(longer), longer_at_the_end) << "two micro-steps in float32 should round differently";
  for (const Named& setting : settings()) {
    RunSpec other = spec;
    setting.change(other.config.distributed);
    if (other.config.distributed.gradient_sums == GradientSums::kOwners) continue;  // refused
    EXPECT_EQ(training_losses_of(other), each_time) << setting.name;
  }
}

TEST_P(DistributedSettings, HoldForWarmUpClippingAndOtherOptimizers) {
  RunSpec spec = simplest();
  spec.config.run.warmup_iterations = 2;
  spec.config.optimizer.gradient_clip = {.type = GradientClipType::kGlobalNorm, .max_norm = 0.5};
  spec.config.precision.parameters = ParameterStorage::kBfloat16Stochastic;
  const std::vector<double> expected = training_losses_of(spec);
  spec.config.distributed = DistributedConfig{.processes = GetParam()};
  EXPECT_EQ(training_losses_of(spec), expected);
  RunSpec single = spec;
  single.config.distributed.processes = 1;
  expect_close(expected, training_losses_of(single), 1e-2);  // a rounding error can turn a stochastic rounding

  spec.config.optimizer.hidden_matrices = OptimizerGroupConfig{.lr = 0.001};
  EXPECT_EQ(training_losses_of(spec).size(), expected.size());
}

/// The settings of record 41 that concern updates: gates stored in bfloat16, second moments, Adam every second step.
TEST_P(DistributedSettings, LeaveEveryBitOfTheLossesOfALateRecord) {
  RunSpec spec = simplest();
  Json late = to_json(spec.config);
  late.merge_patch(parse_json(R"({
    "model": {"merged_qkvo": "wide", "attention_gate_dim": 12, "smear_gate_dim": 12, "backout_layer": 2},
    "optimizer": {"embeddings": {"step_every": 2}, "lm_head": {"step_every": 2}, "scalars": {"step_every": 2},
                  "hidden_matrices": {"orthogonalizer": "polar_express", "second_moment_beta2": 0.95}},
    "schedule": {"num_steps": 6}, "run": {"stop_after": 6},
    "precision": {"gates": "bfloat16", "embeddings": "bfloat16", "adam_state": "bfloat16"}
  })",
                              "late"));
  spec.config = read_train_config(late, "late");
  const std::vector<double> expected = training_losses_of(spec);
  ASSERT_EQ(expected.size(), 6U + 4U);
  for (const Named& setting : settings()) {
    RunSpec other = spec;
    setting.change(other.config.distributed);
    EXPECT_EQ(training_losses_of(other), expected) << setting.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, DistributedSettings, ::testing::Values(2, 4));

TEST(DistributedTrainer, ReportsProcessesThreadsPhasesAndTheMemoryOfAll) {
  const TinyRun run;
  RunSpec spec = run.spec(2);
  spec.threads = 5;
  const EventLog log = train_to_the_end(spec);
  const auto& hello = std::get<HelloEvent>(log.events.front());
  EXPECT_EQ(hello.environment.at("processes"), "2");
  EXPECT_EQ(hello.threads, 4) << "two for each";
  std::int64_t peak_of_two = 0;
  for (const RunEvent& event : log.events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) {
      EXPECT_GT(step->phases_ms.at("communication"), 0.0);
      EXPECT_GE(step->phases_ms.at("optimizer"), 0.0);
    }
    if (const auto* memory = std::get_if<MemoryEvent>(&event)) peak_of_two = memory->peak_bytes;
  }
  const EventLog alone = train_to_the_end(run.spec(1));
  for (const RunEvent& event : alone.events) {
    const auto* step = std::get_if<StepEvent>(&event);
    if (step == nullptr) continue;
    EXPECT_EQ(step->phases_ms.at("communication"), 0.0);
  }
  const std::int64_t peak_of_one = std::get<FinishedEvent>(alone.events.back()).peak_bytes;
  EXPECT_GT(peak_of_two, peak_of_one * 3 / 2);
}

TEST(DistributedTrainer, OwnersCommunicateLessAndSaveTheStateOfAdam) {
  const TinyRun run;
  RunSpec spec = run.spec(4);
  const auto counters = [&] {
    std::map<std::string, double> values;
    for (const RunEvent& event : train_to_the_end(spec).events) {
      if (const auto* counter = std::get_if<CounterEvent>(&event)) values[counter->name] = counter->value;
    }
    return values;
  };
  const std::map<std::string, double> all = counters();
  spec.config.distributed.gradient_sums = GradientSums::kOwners;
  const std::map<std::string, double> owners = counters();
  EXPECT_FALSE(all.contains("communication/bytes_per_step/reduce_scatter"));
  EXPECT_GT(owners.at("communication/bytes_per_step/reduce_scatter"), 0.0);
  EXPECT_LT(owners.at("communication/bytes_per_step/all_reduce"),
            0.2 * all.at("communication/bytes_per_step/all_reduce"));
  for (const char* kind : {"all_reduce", "all_gather"})
    EXPECT_EQ(all.at(std::string("communication/ms_per_step/") + kind) > 0.0,
              all.at(std::string("communication/calls_per_step/") + kind) > 0.0)
        << kind << ": a kind has a time where it has calls";
  EXPECT_FALSE(all.contains("communication/ms_per_step/reduce_scatter"));
  EXPECT_GT(owners.at("communication/ms_per_step/reduce_scatter"), 0.0);
}

TEST(DistributedTrainer, ATraceOfGradientsNeedsAllOfThem) {
  const TinyRun run;
  RunSpec spec = run.spec(2);
  spec.trace_file = ::testing::TempDir() + "/trace.json";
  spec.config.run.gradient_steps = {0};
  spec.config.distributed.gradient_sums = GradientSums::kOwners;
  const std::vector<std::string> failures = play_processes(2, [&](Communicator& communicator) {
    EventLog log;
    CpuTrainer(spec, log, kNeverStop, communicator).run();
  });
  for (const std::string& failure : failures)
    EXPECT_NE(failure.find("/distributed/gradient_sums"), std::string::npos) << failure;
}

TEST(DistributedTrainer, NeedsAsManyProcessesAsTheConfigurationSays) {
  const TinyRun run;
  const RunSpec spec = run.spec(2);
  EventLog log;
  EXPECT_THROW(CpuTrainer(spec, log, kNeverStop), Error);
}

TEST(DistributedTrainer, AStopInOneProcessStopsAll) {
  const TinyRun run;
  const RunSpec spec = run.spec(2);
  std::vector<EventLog> logs(2);
  const std::atomic<bool> stop{true};
  NB_EXPECT_NO_FAILURE(play_processes(2, [&](Communicator& communicator) {
    const std::atomic<bool>& mine = communicator.rank() == 1 ? stop : kNeverStop;
    EventLog& log = logs[static_cast<std::size_t>(communicator.rank())];
    EXPECT_EQ(CpuTrainer(spec, log, mine, communicator).run(), RunOutcome::kInterrupted);
  }));
  for (const EventLog& log : logs)
    EXPECT_EQ(std::get<FailedEvent>(log.events.back()).outcome, RunOutcome::kInterrupted);
}

TEST(DistributedTrainer, DivergenceOfOneRanksSequencesIsEverybodysOutcome) {
  const TinyRun run;
  RunSpec spec = run.spec(2);
  spec.config.optimizer.hidden_matrices.lr = spec.config.optimizer.embeddings.lr = 1e30;
  NB_EXPECT_NO_FAILURE(play_processes(2, [&](Communicator& communicator) {
    EventLog log;
    EXPECT_EQ(CpuTrainer(spec, log, kNeverStop, communicator).run(), RunOutcome::kDiverged);
  }));
}

TEST(DistributedTrainer, AProcessThatFailsFailsTheOthersWithItsReason) {
  const TinyRun run;
  const RunSpec spec = run.spec(2);
  const std::vector<std::string> failures = play_processes(2, [&](Communicator& communicator) {
    class FullDisk : public MetricSink {
      void report(const RunEvent& event) override {
        if (std::holds_alternative<StepEvent>(event)) throw Error(ErrorCode::kIo, "the disk is full");
      }
    } full;
    NullMetricSink nowhere;
    MetricSink& sink = communicator.rank() == 1 ? static_cast<MetricSink&>(full) : nowhere;
    CpuTrainer(spec, sink, kNeverStop, communicator).run();
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "the disk is full");
}

TEST(HiddenMatrices, AreCountedAsTheModelHasThem) {
  const TinyRun run;
  for (const char* patch : {"{}", R"({"model": {"num_kv_heads": 1}})", R"({"model": {"merged_qkv": true}})",
                            R"({"model": {"qkv_rows": "stacked"}})", R"({"model": {"mlp_ratio": 1, "bias": true}})"}) {
    Json merged = to_json(run.spec(1).config);
    merged.merge_patch(parse_json(patch, "patch"));
    const TrainConfig config = read_train_config(merged, "merged");
    std::map<std::vector<std::int64_t>, std::int64_t> counts;
    const GPT model(config, at::kFloat);
    for (const Parameter& parameter : model.parameters().all()) {
      if (parameter.group == ParameterGroup::kHiddenMatrices) ++counts[{parameter.tensor.numel()}];
    }
    EXPECT_EQ(hidden_matrix_counts(config.model), counts) << patch;
  }
}

}  // namespace
}  // namespace nanobench::core::testing
