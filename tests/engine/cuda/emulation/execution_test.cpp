// The execution model itself: warps, barriers, shared memory, orders, and what is refused.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {
namespace {

using emulation::EmulationError;

template <class Body>
std::string execution_error_of(const Body& body) {
  try {
    body();
  } catch (const EmulationError& error) {
    return error.what();
  }
  return "no error";
}

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "got: " << text << "\nexpected in it: " << part;
}

__global__ void write_places(int* places) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned place = block * blockDim.x * blockDim.y * blockDim.z + thread;
  places[place] = static_cast<int>(place) + 1;
}

TEST(EmulatedGrid, RunsEveryThreadOfEveryBlock) {
  std::vector<int> places(2 * 3 * 2 * 5 * 4 * 2);
  NB_LAUNCH(write_places, dim3(2, 3, 2), dim3(5, 4, 2), 0, nullptr, places.data());
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], static_cast<int>(i) + 1);
}

__global__ void append_block(std::vector<unsigned>* order) {
  order->push_back(blockIdx.x);
}

TEST(EmulatedGrid, SeedChoosesTheOrderOfBlocks) {
  std::set<std::vector<unsigned>> orders;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<unsigned> first, second;
    emulation::set_seed(seed);
    NB_LAUNCH(append_block, dim3(16), dim3(1), 0, nullptr, &first);
    emulation::set_seed(seed);
    NB_LAUNCH(append_block, dim3(16), dim3(1), 0, nullptr, &second);
    EXPECT_EQ(first, second);
    orders.insert(first);
  }
  EXPECT_GT(orders.size(), 6U);
}

struct Shuffled {
  float exchanged;
  int broadcast;
  int up;
  int down;
  double wide;
  unsigned ballot;
};

__global__ void shuffle_all_ways(Shuffled* results) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  Shuffled& result = results[threadIdx.x];
  result.exchanged = __shfl_xor_sync(0xffffffffU, static_cast<float>(lane), 5);
  result.broadcast = __shfl_sync(0xffffffffU, lane * 10, 3, 8);
  result.up = __shfl_up_sync(0xffffffffU, lane, 2U);
  result.down = __shfl_down_sync(0xffffffffU, lane, 4U, 16);
  result.wide = __shfl_sync(0xffffffffU, 0.5 + lane, 31 - lane);
  result.ballot = __ballot_sync(0xffffffffU, lane % 3 == 0);
}

TEST(EmulatedWarp, ShufflesAsCudaDefines) {
  std::vector<Shuffled> results(64);
  NB_LAUNCH(shuffle_all_ways, dim3(1), dim3(64), 0, nullptr, results.data());
  for (int i = 0; i < 64; ++i) {
    const int lane = i % 32;
    const Shuffled& result = results[static_cast<std::size_t>(i)];
    EXPECT_EQ(result.exchanged, static_cast<float>(lane ^ 5));
    EXPECT_EQ(result.broadcast, (lane / 8 * 8 + 3) * 10);
    EXPECT_EQ(result.up, lane < 2 ? lane : lane - 2);
    EXPECT_EQ(result.down, lane % 16 + 4 < 16 ? lane + 4 : lane);
    EXPECT_EQ(result.wide, 0.5 + 31 - lane);
    EXPECT_EQ(result.ballot, 0x49249249U);
  }
}

/// Half warps that take different branches, each with its own mask.
__global__ void shuffle_in_halves(int* sums) {
  const auto lane = static_cast<int>(threadIdx.x);
  if (lane < 16) {
    sums[lane] = lane + __shfl_xor_sync(0x0000ffffU, lane, 1);
  } else {
    sums[lane] = lane * __shfl_xor_sync(0xffff0000U, lane, 1);
  }
}

TEST(EmulatedWarp, HalvesMayPartWithMasksOfTheirOwn) {
  std::vector<int> sums(32);
  NB_LAUNCH(shuffle_in_halves, dim3(1), dim3(32), 0, nullptr, sums.data());
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(sums[static_cast<std::size_t>(lane)], lane < 16 ? lane + (lane ^ 1) : lane * (lane ^ 1));
  }
}

__global__ void shuffle_in_one_branch(int* sums) {
  const auto lane = static_cast<int>(threadIdx.x);
  if (lane < 16) sums[lane] = __shfl_xor_sync(0xffffffffU, lane, 1);
}

__global__ void shuffle_in_both_branches(int* sums) {
  const auto lane = static_cast<int>(threadIdx.x);
  if (lane < 16) {
    sums[lane] = __shfl_xor_sync(0xffffffffU, lane, 1);
  } else {
    sums[lane] = __shfl_xor_sync(0xffffffffU, lane, 2);
  }
}

TEST(EmulatedWarp, DivergenceIsRefused) {
  std::vector<int> sums(32);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulation::set_seed(seed);
    const std::string one =
        execution_error_of([&] { NB_LAUNCH(shuffle_in_one_branch, dim3(1), dim3(32), 0, nullptr, sums.data()); });
    expect_text(one, "shuffle_in_one_branch, block (0, 0, 0)");
    expect_text(one, "a shuffle");
    const std::string both =
        execution_error_of([&] { NB_LAUNCH(shuffle_in_both_branches, dim3(1), dim3(32), 0, nullptr, sums.data()); });
    expect_text(both, "lanes of a warp diverge");
  }
}

__global__ void read_absent_lane(int* values) {
  if (threadIdx.x < 16) values[threadIdx.x] = __shfl_sync(0x0000ffffU, 1, 20);
}

TEST(EmulatedWarp, ReadingALaneOutsideTheMaskIsRefused) {
  std::vector<int> values(32);
  expect_text(execution_error_of([&] { NB_LAUNCH(read_absent_lane, dim3(1), dim3(32), 0, nullptr, values.data()); }),
              "reads a lane that its mask leaves out");
}

template <bool kHasBarrier>
__global__ void reverse(const int* from, int* to) {
  __shared__ int staged[96];
  staged[threadIdx.x] = from[threadIdx.x];
  if (kHasBarrier) __syncthreads();
  to[threadIdx.x] = staged[95 - threadIdx.x];
}

TEST(EmulatedBlock, BarrierOrdersSharedMemoryAndItsAbsenceIsSeen) {
  std::vector<int> from(96), expected(96);
  int wrong_without = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    emulation::set_seed(seed);
    for (int i = 0; i < 96; ++i) {
      from[static_cast<std::size_t>(i)] = i + 1000 * static_cast<int>(seed);
      expected[static_cast<std::size_t>(95 - i)] = i + 1000 * static_cast<int>(seed);
    }
    std::vector<int> with(96), without(96);
    NB_LAUNCH((reverse<true>), dim3(1), dim3(96), 0, nullptr, from.data(), with.data());
    NB_LAUNCH((reverse<false>), dim3(1), dim3(96), 0, nullptr, from.data(), without.data());
    EXPECT_EQ(with, expected);
    wrong_without += without != expected;
  }
  EXPECT_EQ(wrong_without, 8);
}

__global__ void barrier_in_a_branch() {
  if (threadIdx.x < 32) __syncthreads();
}

__global__ void two_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void barrier_against_shuffle(int* values) {
  if (threadIdx.x == 7) {
    __syncthreads();
  } else {
    values[threadIdx.x] = __shfl_sync(0xffffffffU, 1, 0);
  }
}

TEST(EmulatedBlock, BarrierThatNotAllReachIsRefused) {
  std::vector<int> values(64);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulation::set_seed(seed);
    expect_text(execution_error_of([] { NB_LAUNCH(barrier_in_a_branch, dim3(1), dim3(64), 0, nullptr); }), "ended");
    expect_text(execution_error_of([] { NB_LAUNCH(two_barriers, dim3(1), dim3(64), 0, nullptr); }),
                "different __syncthreads");
    const std::string deadlock =
        execution_error_of([&] { NB_LAUNCH(barrier_against_shuffle, dim3(1), dim3(32), 0, nullptr, values.data()); });
    expect_text(deadlock, "deadlock");
    expect_text(deadlock, "1 threads wait for __syncthreads at execution_test.cpp");
    expect_text(deadlock, "31 threads wait for a shuffle at execution_test.cpp");
  }
}

__global__ void sum_dynamic(float* sum, int extra) {
  NB_DYNAMIC_SHARED(shared);
  auto* numbers = reinterpret_cast<float*>(shared);
  if (threadIdx.x == 0) *sum = numbers[0];  // NaN: nothing was written yet
  __syncthreads();
  numbers[static_cast<int>(threadIdx.x) + extra] = 1.0f;
}

TEST(EmulatedBlock, DynamicSharedMemoryStartsAsNanAndHasItsExactSize) {
  float first = 0.0f;
  NB_LAUNCH(sum_dynamic, dim3(1), dim3(32), 32 * sizeof(float), nullptr, &first, 0);
  EXPECT_TRUE(std::isnan(first));
  for (const int extra : {1, -1}) {
    expect_text(execution_error_of(
                    [&] { NB_LAUNCH(sum_dynamic, dim3(1), dim3(32), 32 * sizeof(float), nullptr, &first, extra); }),
                "wrote beside its dynamic shared memory");
  }
}

__global__ void misaligned_load(const float* numbers, float4* to) {
  *to = load_vector<float4>(numbers + 1);
}

TEST(EmulatedMemory, MisalignedVectorIsRefused) {
  alignas(16) const float numbers[8] = {};
  float4 to{};
  expect_text(execution_error_of([&] { NB_LAUNCH(misaligned_load, dim3(1), dim3(1), 0, nullptr, numbers, &to); }),
              "a vector load at an address that is not a multiple of 16");
}

__global__ void add_atomically(float* sum, int* largest) {
  atomicAdd(sum, 1.0f);
  atomicMax(largest, static_cast<int>(blockIdx.x));
}

TEST(EmulatedMemory, AtomicsCountEveryThread) {
  float sum = 0.0f;
  int largest = -1;
  NB_LAUNCH(add_atomically, dim3(7), dim3(33), 0, nullptr, &sum, &largest);
  EXPECT_EQ(sum, 7 * 33);
  EXPECT_EQ(largest, 6);
}

/// Two groups under way, the older one waited for.
template <bool kWaits>
__global__ void copy_by_groups(const float* from, float* first, float* second) {
  NB_DYNAMIC_SHARED(shared);
  auto* staged = reinterpret_cast<float*>(shared);
  const unsigned mine = threadIdx.x * 4;
  cp_async_16(staged + mine, from + mine);
  cp_async_commit();
  cp_async_16(staged + 128 + mine, from + 128 + mine, threadIdx.x % 2 == 0);
  cp_async_commit();
  if (kWaits) cp_async_wait<1>();
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) first[mine + i] = staged[127 - (mine + i)];
  __syncthreads();
  if (kWaits) cp_async_wait<0>();
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) second[mine + i] = staged[128 + mine + i];
}

TEST(EmulatedCopy, ArrivesAtItsWaitAndNotBefore) {
  alignas(16) float from[256];
  for (int i = 0; i < 256; ++i) from[i] = static_cast<float>(i);
  std::vector<float> first(128), second(128);
  NB_LAUNCH((copy_by_groups<true>), dim3(1), dim3(32), 1024, nullptr, from, first.data(), second.data());
  for (int i = 0; i < 128; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(first[at], static_cast<float>(127 - i));
    EXPECT_EQ(second[at], i / 4 % 2 == 0 ? static_cast<float>(128 + i) : 0.0f);  // what is not valid is zero
  }
  NB_LAUNCH((copy_by_groups<false>), dim3(1), dim3(32), 1024, nullptr, from, first.data(), second.data());
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_TRUE(std::isnan(first[i]));
    EXPECT_TRUE(std::isnan(second[i]));
  }
}

__global__ void copy_beside(const float* from) {
  NB_DYNAMIC_SHARED(shared);
  cp_async_16(shared + 1024 - 16 + threadIdx.x * 16, from);
}

TEST(EmulatedCopy, BesideSharedMemoryIsRefused) {
  alignas(16) const float from[4] = {};
  expect_text(execution_error_of([&] { NB_LAUNCH(copy_beside, dim3(1), dim3(2), 1024, nullptr, from); }),
              "cp.async beside shared memory");
}

TEST(EmulatedGrid, RefusesBlocksThatNoGpuRuns) {
  expect_text(execution_error_of([] { NB_LAUNCH(two_barriers, dim3(1), dim3(1025), 0, nullptr); }),
              "a block of 1025 threads");
  expect_text(execution_error_of([] { NB_LAUNCH(two_barriers, dim3(0), dim3(32), 0, nullptr); }),
              "a grid without blocks");
  expect_text(execution_error_of([] { NB_LAUNCH(two_barriers, dim3(1, 65536), dim3(32), 0, nullptr); }),
              "1 x 65536 x 1 blocks");
}

__global__ void take_branches(int first_of_second, int* taken) {
  if (is_taken(threadIdx.x < 32)) atomicAdd(taken, 1);
  if (is_taken(static_cast<int>(threadIdx.x) < first_of_second)) atomicAdd(taken, 1);
}

TEST(EmulatedBranches, CountWarpsWhoseLanesPart) {
  for (const int lanes : {0, 5, 32, 33, 64}) {
    int taken = 0;
    emulation::statistics() = {};
    NB_LAUNCH(take_branches, dim3(3), dim3(64), 0, nullptr, lanes, &taken);
    const emulation::Statistics counted = emulation::statistics();
    EXPECT_EQ(taken, 3 * (32 + lanes));
    EXPECT_EQ(counted.branches, 3U * 2 * 2);
    EXPECT_EQ(counted.divergences, lanes % 32 == 0 ? 0U : 3U) << lanes;
  }
}

__global__ void do_nothing() {}

TEST(EmulatedGrid, RefusesSharedMemoryThatGpusLack) {
  constexpr std::size_t kEverywhere = 99 * 1024, kMaxBytes = 227 * 1024;
  EXPECT_EQ(execution_error_of([] { NB_LAUNCH(do_nothing, dim3(1), dim3(32), kEverywhere, nullptr); }), "no error");
  expect_text(execution_error_of([] { NB_LAUNCH(do_nothing, dim3(1), dim3(32), kEverywhere + 1, nullptr); }),
              "without warpgroups");
  expect_text(execution_error_of([] { NB_LAUNCH(do_nothing, dim3(1), dim3(32), kMaxBytes + 1, nullptr); }),
              "232449 bytes");
}

TEST(EmulatedGrid, ThrowsWhatAKernelThrowsAndRunsOn) {
  int value = 0;
  EXPECT_THROW(NB_LAUNCH(
                   +[](int*) { throw std::out_of_range("x"); }, dim3(2), dim3(64), 0, nullptr, &value),
               std::out_of_range);
  NB_LAUNCH(
      +[](int* to) { *to = 5; }, dim3(1), dim3(1), 0, nullptr, &value);
  EXPECT_EQ(value, 5);
}

}  // namespace
}  // namespace nanobench::core::cuda
