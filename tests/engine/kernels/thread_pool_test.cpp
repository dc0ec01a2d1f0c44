#include "engine/kernels/thread_pool.h"
#include "core/hardware/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace nanobench::core {
namespace {

TEST(ThreadPool, EveryItemRunsOnceInEveryRound) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int round = 0; round < 2000; ++round) {
      std::vector<int> runs(static_cast<std::size_t>(round % 17), 0);
      pool.parallel_for(static_cast<std::int64_t>(runs.size()),
                        [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
      for (const int count : runs) ASSERT_EQ(count, 1) << threads << " threads, round " << round;
    }
  }
}

/// A thread that ends one round late must not take an item of the next one by the last one's ticket (it once did: a
/// hang, after some ten thousand rounds).
TEST(ThreadPool, ShortAndLongRoundsInQuickSuccession) {
  for (const int threads : {2, 3, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 150000; ++round) {
      const std::int64_t count = round % 2 == 0 ? 2 : 9;
      std::atomic<std::int64_t> runs{0};
      pool.parallel_for(count, [&](std::int64_t i) {
        std::atomic<std::int64_t> work{0};  // some, of another length for every item
        while (work.load(std::memory_order_relaxed) < (i * 37 + round * 13) % 200)
          work.fetch_add(1, std::memory_order_relaxed);
        runs.fetch_add(1, std::memory_order_relaxed);
      });
      ASSERT_EQ(runs, count) << threads << " threads, round " << round;
    }
  }
}

TEST(ThreadPool, ItemsRunBesideOneAnother) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  pool.parallel_for(2, [&](std::int64_t) {  // each waits for the other
    ++inside;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

TEST(ThreadPool, SleepingThreadsWakeUp) {
  ThreadPool pool(3);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // long after they stopped looking
    std::atomic<int> sum{0};
    pool.parallel_for(100, [&](std::int64_t i) { sum += static_cast<int>(i); });
    EXPECT_EQ(sum, 4950);
  }
}

TEST(ThreadPool, CallsInsideItemsAndFromOtherThreadsRunToo) {
  ThreadPool pool(2);
  std::atomic<int> items{0};
  const auto outer = [&] {
    for (int round = 0; round < 200; ++round)
      pool.parallel_for(4, [&](std::int64_t) { pool.parallel_for(3, [&](std::int64_t) { ++items; }); });
  };
  std::thread other(outer);
  outer();
  other.join();
  EXPECT_EQ(items, 2 * 200 * 4 * 3);
}

TEST(ThreadPool, PinnedThreadsStayAndTheCallerIsFreedAgain) {
  const int before = available_processors();
  {
    ThreadPool pool(before, /*first_processor=*/0);
    std::atomic<int> alone{0};
    pool.parallel_for(4 * before, [&](std::int64_t) { alone += available_processors() == 1; });
    EXPECT_EQ(alone, before > 1 ? 4 * before : 4);
  }
  EXPECT_EQ(available_processors(), before);
}

TEST(ThreadPool, TheFirstProcessorIsTheCallersChoice) {
  if (available_processors() < 2) GTEST_SKIP() << "one processor";
  int first = -1, second = -1;
  {
    ThreadPool pool(1, 0);
    first = sched_getcpu();
  }
  {
    ThreadPool pool(1, 1);
    second = sched_getcpu();
  }
  EXPECT_NE(first, second);
  const int before = available_processors();
  ThreadPool too_many(before + 1, 0);  // ignored
  EXPECT_EQ(available_processors(), before);
}

TEST(AvailableProcessors, AreNoMoreThanTheQuotaPaysFor) {
  EXPECT_EQ(processors_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(processors_of_quota("200000 100000"), 2);
  EXPECT_EQ(processors_of_quota("150000 100000"), 2);
  EXPECT_EQ(processors_of_quota("50000 100000"), 1);
  EXPECT_EQ(processors_of_quota(""), std::nullopt);
  EXPECT_EQ(processors_of_quota("100000 0"), std::nullopt);
  EXPECT_GE(available_processors(), 1);
}

}  // namespace
}  // namespace nanobench::core
