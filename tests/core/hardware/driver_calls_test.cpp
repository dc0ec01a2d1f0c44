#include "core/hardware/driver_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace nanobench::core {
namespace {

class DriverCalls : public ::testing::Test {
 protected:
  DriverCalls() {
    const std::string library = std::string(NANOBENCH_BIN_DIR) + "/fake_cupti.so";
    setenv("NANOBENCH_CUPTI", library.c_str(), 1);
    call_ = reinterpret_cast<void (*)(const char*)>(dlsym(dlopen(library.c_str(), RTLD_NOW), "fake_driver_call"));
  }
  ~DriverCalls() override { unsetenv("NANOBENCH_CUPTI"); }
  void call(const char* function) { call_(function); }

 private:
  void (*call_)(const char*) = nullptr;
};

TEST_F(DriverCalls, AreCountedFromAllThreadsWhileACounterLives) {
  call("cuLaunchKernel");
  const std::unique_ptr<DriverCallCounter> counter = DriverCallCounter::start();
  ASSERT_TRUE(counter);
  EXPECT_EQ(counter->count(DriverCall::kLaunch), 0) << "not those before";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int j = 0; j < 100; ++j) call("cuLaunchKernelEx");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* function : {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async", "cuGraphLaunch",
                               "cuStreamSynchronize", "cuCtxGetCurrent", "cuEventRecord", "cuMemCreate"})
    call(function);
  EXPECT_EQ(counter->count(DriverCall::kLaunch), 400);
  EXPECT_EQ(counter->count(DriverCall::kCopy), 2);
  EXPECT_EQ(counter->count(DriverCall::kFill), 1);
  EXPECT_EQ(counter->count(DriverCall::kGraphLaunch), 1);
  EXPECT_EQ(counter->count(DriverCall::kWait), 1);
  EXPECT_EQ(counter->count(DriverCall::kAllocation), 1);
}

TEST_F(DriverCalls, ThereAreNoCountsWhileAnotherToolCounts) {
  setenv("NANOBENCH_FAKE_CUPTI", "busy", 1);
  EXPECT_FALSE(DriverCallCounter::start());
  unsetenv("NANOBENCH_FAKE_CUPTI");
  EXPECT_TRUE(DriverCallCounter::start());
  EXPECT_TRUE(DriverCallCounter::start()) << "the one before has ended";
}

TEST(DriverCallNames, AreThoseOfTheDriversVariants) {
  for (const char* launch : {"cuLaunch", "cuLaunchKernel_ptsz", "cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel"})
    EXPECT_EQ(driver_call_of(launch), DriverCall::kLaunch) << launch;
  for (const char* wait : {"cuCtxSynchronize_v2", "cuStreamSynchronize_ptsz", "cuEventSynchronize"})
    EXPECT_EQ(driver_call_of(wait), DriverCall::kWait) << wait;
  for (const char* other : {"cuLaunchHostFunc", "cuGraphInstantiate", "cuMemFree_v2", "cuStreamWaitEvent", ""})
    EXPECT_EQ(driver_call_of(other), std::nullopt) << other;
}

}  // namespace
}  // namespace nanobench::core
