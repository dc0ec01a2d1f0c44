// Gradients of several processes: the same sums whatever the schedule, reduced when the settings say.
#include <gtest/gtest.h>

#include "core/config/train_config_names.h"
#include "engine/distributed/gradient_reducer.h"
#include "tests/engine/distributed/process_threads.h"

namespace nanobench::core::testing {
namespace {

using Schedule = ReductionSchedule;

/// Three layers and a table that nothing reads; loss = |w2 relu(w1 relu(w0 x))|^2 / 2.
struct Net {
  Parameters parameters;

  Net() {
    const auto add = [&](const char* name, at::IntArrayRef shape) {
      const at::Tensor tensor = parameters.add({.name = name, .values = {0.0}}, shape, at::kFloat);
      const at::NoGradGuard no_grad;
      at::Tensor(tensor).copy_(at::sin(at::arange(tensor.numel()).mul(0.37) + 1.0).view(shape).mul(0.5));
    };
    add("unread", {5, 3});
    add("w0", {17, 9});
    add("w1", {33, 17});
    add("w2", {4, 33});
  }

  /// `data` tells the processes and the micro-steps apart.
  at::Tensor loss(int data) const {
    const at::Tensor x = at::cos(at::arange(9).mul(0.9) + data);
    const auto w = [&](std::size_t i) { return parameters.all()[i].tensor; };
    const at::Tensor y = at::matmul(w(3), at::relu(at::matmul(w(2), at::relu(at::matmul(w(1), x)))));
    return (y * y).sum() * 0.5;
  }

  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> gradients;
    for (const Parameter& parameter : parameters.all()) {
      const at::Tensor& gradient = parameter.tensor.grad();
      gradients.push_back(gradient.defined() ? gradient.clone() : at::zeros_like(parameter.tensor).detach());
    }
    return gradients;
  }
};

/// Counts collectives, and those that begin before `is_backward` ends.
class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  double waited_ms() const override { return inner_.waited_ms(); }
  std::string name() const override { return inner_.name(); }

  int blocking = 0;
  int started = 0;
  std::vector<std::int64_t> sizes;

 protected:
  void run(const Collective& collective) override {
    ++blocking;
    sizes.push_back(collective.tensor.numel());
    inner_.all_reduce_sum(collective.tensor);
  }
  WorkHandle start(const Collective& collective) override {
    ++started;
    sizes.push_back(collective.tensor.numel());
    return inner_.start_all_reduce_sum(collective.tensor);
  }

 private:
  Communicator& inner_;
};

/// One step of `points.size()` micro-steps.
std::vector<at::Tensor> step(Net& net, GradientReducer& reducer, int rank, const std::vector<SyncPoint>& points) {
  reducer.zero_gradients();
  for (std::size_t i = 0; i < points.size(); ++i) {
    reducer.before_backward(points[i]);
    net.loss(10 * rank + static_cast<int>(i)).backward();
    reducer.after_backward(points[i]);
  }
  return net.gradients();
}

std::vector<std::vector<at::Tensor>> step_of_all(int processes, const DistributedConfig& config,
                                                 const std::vector<SyncPoint>& points) {
  std::vector<std::vector<at::Tensor>> gradients(static_cast<std::size_t>(processes));
  NB_EXPECT_NO_FAILURE(play_processes(processes, [&](Communicator& communicator) {
    Net net;
    GradientReducer reducer(net.parameters, config, communicator);
    std::vector<at::Tensor>& mine = gradients[static_cast<std::size_t>(communicator.rank())];
    for (int repeat = 0; repeat < 2; ++repeat) mine = step(net, reducer, communicator.rank(), points);
  }));
  return gradients;
}

/// What the sums must be, by hand: each process adds up its micro-steps, then rank after rank.
std::vector<at::Tensor> expected_sums(int processes, int micro_steps) {
  std::vector<at::Tensor> sums;
  for (int rank = 0; rank < processes; ++rank) {
    Net net;
    for (int i = 0; i < micro_steps; ++i) net.loss(10 * rank + i).backward();
    const std::vector<at::Tensor> own = net.gradients();
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (rank == 0) {
        sums.push_back(own[i]);
      } else {
        sums[i] = sums[i] + own[i];
      }
    }
  }
  return sums;
}

void expect_equal(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected,
                  const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], expected[i])) << what << ", " << i;
}

struct GradientReducerSetting {
  Schedule reduction;
  BucketStorage buckets;
  std::int64_t bucket_bytes;

  std::string name() const {
    return enum_name(reduction) + "_" + enum_name(buckets) + "_" + std::to_string(bucket_bytes);
  }
  DistributedConfig config() const {
    DistributedConfig config;
    config.reduction = reduction;
    config.buckets = buckets;
    config.bucket_bytes = bucket_bytes;
    return config;
  }
};

std::vector<GradientReducerSetting> gradient_reducer_all_settings() {
  std::vector<GradientReducerSetting> settings = {{Schedule::kPerParameter, BucketStorage::kViews, 1}};
  for (const Schedule reduction : {Schedule::kBuckets, Schedule::kOverlappedBuckets}) {
    for (const BucketStorage storage : {BucketStorage::kViews, BucketStorage::kCopies}) {
      for (const std::int64_t bytes : {1, 3000, 1 << 20}) settings.push_back({reduction, storage, bytes});
    }
  }
  return settings;
}

class AllSettings : public ::testing::TestWithParam<GradientReducerSetting> {};

TEST_P(AllSettings, GiveTheSameBitsInEveryProcess) {
  for (const int processes : {2, 3}) {
    const std::vector<at::Tensor> expected = expected_sums(processes, 3);
    const auto got =
        step_of_all(processes, GetParam().config(), {SyncPoint::kNone, SyncPoint::kNone, SyncPoint::kStep});
    for (const std::vector<at::Tensor>& gradients : got) expect_equal(gradients, expected, "last micro-step");
  }
}

TEST_P(AllSettings, SummingAfterEachMicroStepDiffersByRoundingOnly) {
  const std::vector<at::Tensor> expected = expected_sums(3, 3);
  const auto got =
      step_of_all(3, GetParam().config(), {SyncPoint::kMicroStep, SyncPoint::kMicroStep, SyncPoint::kStep});
  for (const std::vector<at::Tensor>& gradients : got) {
    expect_equal(gradients, got.front(), "every micro-step");
    for (std::size_t i = 0; i < gradients.size(); ++i)
      EXPECT_TRUE(at::allclose(gradients[i], expected[i], 1e-5, 1e-6)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(GradientReducer, AllSettings, ::testing::ValuesIn(gradient_reducer_all_settings()),
                         [](const auto& test) { return test.param.name(); });

TEST(GradientReducer, BucketsFillFromTheLastParameterUpToTheirSize) {
  SingleProcess alone;
  Net net;  // in bytes, from the last: 528, 2244, 612, 60
  DistributedConfig config;
  const auto elements = [&](std::int64_t bytes) {
    config.bucket_bytes = bytes;
    return GradientReducer(net.parameters, config, alone).bucket_elements();
  };
  EXPECT_EQ(elements(1), (std::vector<std::int64_t>{132, 561, 153, 15}));
  EXPECT_EQ(elements(528 + 2244), (std::vector<std::int64_t>{132 + 561, 153 + 15}));
  EXPECT_EQ(elements(528 + 2243), (std::vector<std::int64_t>{132, 561, 153 + 15}));
  EXPECT_EQ(elements(1 << 20), (std::vector<std::int64_t>{132 + 561 + 153 + 15}));
  config.reduction = Schedule::kPerParameter;
  EXPECT_TRUE(elements(1).empty());
}

TEST(GradientReducer, ViewsShareTheBucketsMemoryAndCopiesDoNot) {
  SingleProcess alone;
  for (const BucketStorage storage : {BucketStorage::kViews, BucketStorage::kCopies}) {
    Net net;
    DistributedConfig config;
    config.buckets = storage;
    GradientReducer reducer(net.parameters, config, alone);
    step(net, reducer, 0, {SyncPoint::kStep});
    const bool share =
        net.parameters.all()[1].tensor.grad().storage().is_alias_of(net.parameters.all()[2].tensor.grad().storage());
    EXPECT_EQ(share, storage == BucketStorage::kViews);
  }
}

TEST(GradientReducer, OverlappedBucketsBeginDuringTheBackwardPass) {
  SingleProcess alone;
  for (const Schedule reduction : {Schedule::kOverlappedBuckets, Schedule::kBuckets, Schedule::kPerParameter}) {
    Net net;
    CountingCommunicator counting(alone);
    DistributedConfig config;
    config.reduction = reduction;
    config.bucket_bytes = 1;
    GradientReducer reducer(net.parameters, config, counting);
    const auto backward = [&](SyncPoint point) {
      reducer.before_backward(point);
      net.loss(0).backward();
    };
    reducer.zero_gradients();
    backward(SyncPoint::kNone);
    reducer.after_backward(SyncPoint::kNone);
    EXPECT_EQ(counting.started + counting.blocking, 0) << "nothing to communicate yet";
    backward(SyncPoint::kStep);
    const bool overlaps = reduction == Schedule::kOverlappedBuckets;
    EXPECT_EQ(counting.started, overlaps ? 3 : 0) << "the fourth waits for the end: nothing reads its parameter";
    reducer.after_backward(SyncPoint::kStep);
    EXPECT_EQ(counting.started, overlaps ? 4 : 0);
    EXPECT_EQ(counting.blocking, overlaps ? 0 : 4);
    if (reduction == Schedule::kPerParameter) {
      EXPECT_EQ(counting.sizes, (std::vector<std::int64_t>{15, 153, 561, 132})) << "in the order of the parameters";
    } else {
      EXPECT_EQ(counting.sizes, (std::vector<std::int64_t>{144, 576, 160, 16})) << "from the last, padded to 64 bytes";
    }
  }
}

TEST(GradientReducer, EveryMicroStepCommunicatesEachTime) {
  SingleProcess alone;
  Net net;
  CountingCommunicator counting(alone);
  GradientReducer reducer(net.parameters, DistributedConfig{}, counting);
  step(net, reducer, 0, {SyncPoint::kMicroStep, SyncPoint::kMicroStep, SyncPoint::kStep});
  EXPECT_EQ(counting.started, 3);
}

TEST(RankShare, EachProcessPlaysItsRanksAndSyncsAfterItsMicroSteps) {
  // Two micro-batches of four ranks with one sequence each.
  std::vector<SequenceRef> sequences;
  for (const std::int64_t micro_batch : {0, 1}) {
    for (const std::int64_t rank : {0, 1, 2, 3}) sequences.push_back({.rank = rank, .micro_batch = micro_batch});
  }
  using Points = std::vector<SyncPoint>;
  const RankShare second(4, 1, 2);
  EXPECT_EQ(second.own(sequences), (std::vector<std::size_t>{2, 3, 6, 7}));
  EXPECT_EQ(second.sync_points(sequences, GradientSync::kLastMicroStep),
            (Points{SyncPoint::kNone, SyncPoint::kNone, SyncPoint::kNone, SyncPoint::kStep}));
  EXPECT_EQ(second.sync_points(sequences, GradientSync::kEveryMicroStep),
            (Points{SyncPoint::kNone, SyncPoint::kMicroStep, SyncPoint::kNone, SyncPoint::kStep}));
  EXPECT_EQ(RankShare(4, 0, 1).own(sequences).size(), 8U);
}

TEST(RankShare, CompletesNumbersBitForBit) {
  const std::vector<double> truth = {0.1, -1e-310, 1e300, INFINITY, 3.5};
  NB_EXPECT_NO_FAILURE(play_processes(2, [&](Communicator& communicator) {
    std::vector<double> mine(truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (i % 2 == static_cast<std::size_t>(communicator.rank())) mine[i] = truth[i];
    }
    complete(communicator, mine);
    EXPECT_EQ(mine, truth);
  }));
}

}  // namespace
}  // namespace nanobench::core::testing
