// The emulated GPU's memory is a GPU's: the host cannot follow its addresses.
#include "device_space.h"

#include <gtest/gtest.h>

#include "engine/cuda/platform.cuh"
#include "tests/engine/cuda/device_array.h"

namespace nanobench::core::cuda {
namespace {

__global__ void doubled(float* x) {
  x[threadIdx.x] *= 2.0f;
}

__global__ void writes_beyond(float* x, int numbers) {
  x[numbers] = 0.0f;
}

TEST(DeviceSpace, IsClosedToTheHostExceptForCopiesAndKernels) {
  DeviceArray<float> x(Doubles{1.0, 2.0, 3.0});
  EXPECT_DEATH(EXPECT_EQ(*x.data(), 1.0f), "");
  EXPECT_DEATH(*x.data() = 5.0f, "");
  NB_LAUNCH(doubled, dim3(1), dim3(3), 0, nullptr, x.data());
  EXPECT_EQ(x.values(), (Doubles{2.0, 4.0, 6.0}));
  const emulation::DeviceAccess access;
  EXPECT_EQ(*x.data(), 2.0f);
}

TEST(DeviceSpace, EndsWhereAnAllocationEnds) {
  DeviceArray<float> x(8);
  NB_LAUNCH(writes_beyond, dim3(1), dim3(1), 0, nullptr, x.data(), 8);
  EXPECT_FALSE(x.has_whole_guards());
  EXPECT_DEATH(NB_LAUNCH(writes_beyond, dim3(1), dim3(1), 0, nullptr, x.data(), 1024), "") << "on the next page";
}

TEST(DeviceArray, SaysWhatWasWritten) {
  DeviceArray<float> x(3, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 256, sizeof(float));
  NB_LAUNCH(writes_beyond, dim3(1), dim3(1), 0, nullptr, x.data(), 1);
  EXPECT_EQ(x.untouched(), (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(x.has_whole_guards());
  EXPECT_THROW(x.write({1.0f, 2.0f}), std::invalid_argument);
}

}  // namespace
}  // namespace nanobench::core::cuda
