// Collectives among 1 to 4 processes, played by threads, through shared memory and through TCP: exact results in the
// order of the ranks, any size, any timing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>

#include "core/base/error.h"
#include "tests/engine/distributed/process_threads.h"

namespace nanobench::core::testing {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 7, 1000, 65537, 700001};
constexpr std::size_t kSmallSlot = 4096;  // most sizes take many chunks

/// What process `rank` has: numbers whose sum depends on the order of the terms.
at::Tensor communicator_values_of(int rank, std::int64_t size, at::ScalarType dtype) {
  const at::Tensor index = at::arange(size, at::kDouble);
  const at::Tensor wave = at::sin(index * 0.7 + rank) * at::exp2(at::remainder(index * (rank + 3), 40.0) - 20.0);
  return (dtype == at::kLong ? at::round(wave * 1e6) : wave).to(dtype);
}

at::Tensor sum_in_rank_order(int processes, std::int64_t size, at::ScalarType dtype) {
  at::Tensor sum = communicator_values_of(0, size, dtype);
  for (int rank = 1; rank < processes; ++rank) sum = sum + communicator_values_of(rank, size, dtype);
  return sum;
}

struct CommunicatorSetting {
  int processes;
  Medium medium;
};

class Collectives : public ::testing::TestWithParam<CommunicatorSetting> {
 protected:
  std::vector<std::string> play(const std::function<void(Communicator&)>& body,
                                std::size_t chunk_bytes = SharedSegment::kSlotBytes) const {
    return play_processes(GetParam().processes, body, chunk_bytes, GetParam().medium);
  }
};

TEST_P(Collectives, SumsInTheOrderOfTheRanks) {
  const int processes = GetParam().processes;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong}) {
    NB_EXPECT_NO_FAILURE(play(
        [&](Communicator& communicator) {
          for (const std::int64_t size : kSizes) {
            const at::Tensor tensor = communicator_values_of(communicator.rank(), size, dtype);
            communicator.all_reduce_sum(tensor);
            EXPECT_TRUE(at::equal(tensor, sum_in_rank_order(processes, size, dtype))) << size << " " << dtype;
          }
        },
        kSmallSlot));
  }
}

TEST(Collectives, AnotherOrderOfTheTermsGivesOtherBits) {
  const at::Tensor forth = sum_in_rank_order(3, 1000, at::kFloat);
  const at::Tensor back = communicator_values_of(2, 1000, at::kFloat) + communicator_values_of(1, 1000, at::kFloat) +
                          communicator_values_of(0, 1000, at::kFloat);
  EXPECT_FALSE(at::equal(forth, back)) << "the test above could not tell one order from another";
}

TEST_P(Collectives, GatherIntoOneTensorAndIntoMany) {
  const int processes = GetParam().processes;
  NB_EXPECT_NO_FAILURE(play([&](Communicator& communicator) {
    for (const std::int64_t size : kSizes) {
      const at::Tensor mine = communicator_values_of(communicator.rank(), size, at::kFloat);
      const at::Tensor together = at::zeros({processes, size});
      std::vector<at::Tensor> apart;
      for (int rank = 0; rank < processes; ++rank) apart.push_back(at::zeros({size}));
      communicator.all_gather(together, mine);
      communicator.all_gather(apart, mine);
      for (int rank = 0; rank < processes; ++rank) {
        EXPECT_TRUE(at::equal(together[rank], communicator_values_of(rank, size, at::kFloat))) << size;
        EXPECT_TRUE(at::equal(apart[static_cast<std::size_t>(rank)], communicator_values_of(rank, size, at::kFloat)))
            << size;
      }
    }
  }));
}

TEST_P(Collectives, ScatteredSumsReachTheirOwnersInTheOrderOfTheRanks) {
  const int processes = GetParam().processes;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong}) {
    NB_EXPECT_NO_FAILURE(play(
        [&](Communicator& communicator) {
          for (const std::int64_t size : kSizes) {
            // Parts of unequal size, that of process 1 empty.
            std::vector<at::Tensor> parts;
            for (int part = 0; part < processes; ++part)
              parts.push_back(communicator_values_of(communicator.rank(), part == 1 ? 0 : size + 3 * part, dtype));
            communicator.start_reduce_scatter_sum(parts)->wait();
            const at::Tensor& own = parts[static_cast<std::size_t>(communicator.rank())];
            EXPECT_TRUE(at::equal(own, sum_in_rank_order(processes, own.numel(), dtype))) << size << " " << dtype;
          }
        },
        kSmallSlot));
  }
}

TEST_P(Collectives, EveryProcessCanBroadcast) {
  const int processes = GetParam().processes;
  NB_EXPECT_NO_FAILURE(play(
      [&](Communicator& communicator) {
        for (const std::int64_t size : kSizes) {
          for (int root = 0; root < processes; ++root) {
            const at::Tensor tensor = communicator_values_of(communicator.rank(), size, at::kDouble);
            communicator.broadcast(tensor, root);
            EXPECT_TRUE(at::equal(tensor, communicator_values_of(root, size, at::kDouble))) << size << " from " << root;
          }
        }
      },
      kSmallSlot));
}

TEST_P(Collectives, AsynchronousOnesAreCarriedOutInTheOrderOfIssue) {
  const int processes = GetParam().processes;
  NB_EXPECT_NO_FAILURE(play([&](Communicator& communicator) {
    // Each sum goes on from the one before: only one order gives processes^8.
    const at::Tensor tensor = at::ones({70001});
    std::vector<WorkHandle> works;
    for (int i = 0; i < 8; ++i) works.push_back(communicator.start_all_reduce_sum(tensor));
    const at::Tensor gathered = at::zeros({processes, 70001});
    works.push_back(communicator.start_all_gather(gathered, tensor));
    // Waiting in another order than issuing, and twice, changes nothing.
    for (std::size_t i = works.size(); i-- > 0;) works[i]->wait();
    works.front()->wait();
    const double expected = std::pow(processes, 8);
    EXPECT_TRUE(at::equal(gathered, at::full({processes, 70001}, expected)));
  }));
}

TEST_P(Collectives, ABlockingOneWaitsForThoseUnderWay) {
  const int processes = GetParam().processes;
  NB_EXPECT_NO_FAILURE(play([&](Communicator& communicator) {
    const at::Tensor tensor = at::ones({300001});
    const WorkHandle first = communicator.start_all_reduce_sum(tensor);
    communicator.all_reduce_sum(tensor);
    EXPECT_TRUE(at::equal(tensor, at::full({300001}, std::pow(processes, 2))));
    first->wait();
  }));
}

TEST_P(Collectives, ABarrierHoldsEverybodyUntilTheLastHasCome) {
  const int processes = GetParam().processes;
  std::atomic<int> arrived{0};
  NB_EXPECT_NO_FAILURE(play([&](Communicator& communicator) {
    for (int round = 1; round <= 20; ++round) {
      if (communicator.rank() == round % processes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++arrived;
      communicator.barrier();
      EXPECT_GE(arrived, round * processes);
      communicator.barrier();
    }
  }));
}

TEST_P(Collectives, NumbersAndQuestions) {
  const int processes = GetParam().processes;
  NB_EXPECT_NO_FAILURE(play([&](Communicator& communicator) {
    EXPECT_EQ(sum_over_processes(communicator, std::int64_t{1} << communicator.rank()), (1 << processes) - 1);
    EXPECT_TRUE(any_process(communicator, communicator.rank() == processes - 1));
    EXPECT_FALSE(any_process(communicator, false));
  }));
}

std::vector<CommunicatorSetting> communicator_all_settings() {
  std::vector<CommunicatorSetting> settings;
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    for (const int processes : {1, 2, 3, 4}) settings.push_back({processes, medium});
  }
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Processes, Collectives, ::testing::ValuesIn(communicator_all_settings()),
                         [](const auto& test) {
                           return std::to_string(test.param.processes) +
                                  (test.param.medium == Medium::kTcp ? "ByTcp" : "BySharedMemory");
                         });

TEST(SingleProcess, GathersItself) {
  SingleProcess alone;
  const at::Tensor input = at::arange(5);
  const at::Tensor output = at::zeros({1, 5}, at::kLong);
  alone.all_gather(output, input);
  EXPECT_TRUE(at::equal(output[0], input));
  alone.start_all_gather(std::vector<at::Tensor>{output[0]}, input * 2)->wait();
  EXPECT_TRUE(at::equal(output[0], input * 2));
  EXPECT_EQ(alone.waited_ms(), 0.0);
}

class Failures : public ::testing::TestWithParam<Medium> {};

TEST_P(Failures, OneProcessThatThrowsEndsTheWaitsOfAll) {
  const auto body = [](Communicator& communicator) {
    const at::Tensor tensor = at::ones({1000});
    communicator.all_reduce_sum(tensor);
    if (communicator.rank() == 1) throw std::runtime_error("the disk is full");
    if (communicator.rank() == 2) communicator.start_all_reduce_sum(tensor)->wait();  // in the helper thread
    communicator.all_reduce_sum(tensor);
  };
  for (const std::string& failure : play_processes(3, body, SharedSegment::kSlotBytes, GetParam()))
    EXPECT_EQ(failure, "the disk is full");
}

TEST_P(Failures, DifferentCollectivesAtTheSameTimeAreNoticed) {
  const auto sizes = [](Communicator& communicator) {
    communicator.all_reduce_sum(at::ones({communicator.rank() == 0 ? 10 : 11}));
  };
  const auto kinds = [](Communicator& communicator) {
    const at::Tensor tensor = at::ones({4});
    if (communicator.rank() == 0) communicator.barrier();
    if (communicator.rank() == 1) communicator.broadcast(tensor, 0);
  };
  for (const auto& body : {std::function<void(Communicator&)>(sizes), std::function<void(Communicator&)>(kinds)}) {
    for (const std::string& failure : play_processes(2, body, SharedSegment::kSlotBytes, GetParam()))
      EXPECT_NE(failure.find("internal error"), std::string::npos) << failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Media, Failures, ::testing::Values(Medium::kSharedMemory, Medium::kTcp),
                         [](const auto& test) { return test.param == Medium::kTcp ? "Tcp" : "SharedMemory"; });

TEST(Counts, AreOfWhatThisProcessGave) {
  NB_EXPECT_NO_FAILURE(play_processes(2, [](Communicator& communicator) {
    communicator.all_reduce_sum(at::ones({10}));
    communicator.start_all_reduce_sum(at::ones({5}, at::kDouble))->wait();
    communicator.all_gather(at::zeros({2, 3}), at::ones({3}));
    communicator.broadcast(at::ones({7}), 1);
    communicator.reduce_scatter_sum({at::ones({4}), at::ones({2})});
    communicator.barrier();
    const CollectiveCounts& counts = communicator.counts();
    EXPECT_EQ(counts.all_reduce.calls, 2);
    EXPECT_EQ(counts.all_reduce.bytes, 10 * 4 + 5 * 8);
    EXPECT_EQ(counts.all_gather.calls, 1);
    EXPECT_EQ(counts.all_gather.bytes, 3 * 4);
    EXPECT_EQ(counts.broadcast.calls, 1);
    EXPECT_EQ(counts.broadcast.bytes, 7 * 4);
    EXPECT_EQ(counts.reduce_scatter.calls, 1);
    EXPECT_EQ(counts.reduce_scatter.bytes, (4 + 2) * 4);
  }));
}

TEST(Refused, TensorsThatCannotBeSentAreRefused) {
  SingleProcess alone;
  EXPECT_THROW(alone.all_reduce_sum(at::ones({3, 4}).t()), Error);
  EXPECT_THROW(alone.all_reduce_sum(at::ones({3}, at::kHalf)), Error);
  EXPECT_THROW(alone.all_gather(at::ones({1, 4}), at::ones({3})), Error);
  EXPECT_THROW(alone.all_gather(std::vector<at::Tensor>{}, at::ones({3})), Error);
  EXPECT_THROW(alone.broadcast(at::ones({3}), 1), Error);
  EXPECT_THROW(alone.reduce_scatter_sum({at::ones({3}), at::ones({3})}), Error);
  EXPECT_THROW(alone.reduce_scatter_sum({at::ones({3}, at::kHalf)}), Error);
}

TEST(Waiting, IsCounted) {
  std::vector<double> waited_ms(2);
  NB_EXPECT_NO_FAILURE(play_processes(2, [&](Communicator& communicator) {
    if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const WorkHandle work = communicator.start_all_reduce_sum(at::ones({1}));
    EXPECT_EQ(communicator.waited_ms(), 0.0) << "what runs beside the computation is not waiting";
    work->wait();
    waited_ms[static_cast<std::size_t>(communicator.rank())] = communicator.waited_ms();
  }));
  EXPECT_GE(waited_ms[0], 10.0) << "this process waited for the one that slept";
}

}  // namespace
}  // namespace nanobench::core::testing
