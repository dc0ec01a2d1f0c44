// Conversions against their definitions, and the errors of CUDA calls.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The nearest of all finite values of a format, ties to the even code: what every conversion promises.
template <class Format>
int nearest_code(float x) {
  constexpr int kCodes = sizeof(Format) == 1 ? 0x80 : 0x8000;
  int best = -1;
  double best_distance = 0.0;
  for (int code = 0; code < kCodes; ++code) {
    const float value = to_float(Format{static_cast<decltype(Format::bits)>(code)});
    if (!std::isfinite(value)) continue;
    const double distance = std::fabs(static_cast<double>(value) - std::fabs(static_cast<double>(x)));
    if (best < 0 || distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return best + (std::signbit(x) ? kCodes : 0);
}

TEST(Conversions, Fp8IsTheNearestValueAndSaturates) {
  for (int code = 0; code < 0x80; ++code) {
    const float e4m3 = to_float(fp8_e4m3{static_cast<std::uint8_t>(code)});
    const float e5m2 = to_float(fp8_e5m2{static_cast<std::uint8_t>(code)});
    for (const float factor : {1.0f, 1.02f, 0.96f, 1.0625f, -1.03f, -1.125f}) {
      if (std::isfinite(e4m3)) {
        EXPECT_EQ(to_e4m3(e4m3 * factor).bits, nearest_code<fp8_e4m3>(e4m3 * factor)) << e4m3;
      }
      if (std::isfinite(e5m2)) {
        EXPECT_EQ(to_e5m2(e5m2 * factor).bits, nearest_code<fp8_e5m2>(e5m2 * factor)) << e5m2;
      }
    }
  }
  EXPECT_EQ(to_float(to_e4m3(kInfinity)), 448.0f);
  EXPECT_EQ(to_float(to_e4m3(-1e9f)), -448.0f);
  EXPECT_EQ(to_float(to_e5m2(-kInfinity)), -57344.0f);
  EXPECT_EQ(to_float(to_e4m3(std::ldexp(1.0f, -9))), std::ldexp(1.0f, -9));  // the smallest of all
  EXPECT_EQ(to_float(to_e5m2(std::ldexp(1.0f, -16))), std::ldexp(1.0f, -16));
  EXPECT_TRUE(std::isnan(to_float(to_e4m3(std::nanf("")))));
  EXPECT_TRUE(std::isnan(to_float(to_e5m2(std::nanf("")))));
}

TEST(Conversions, Bfloat16IsTheNearestValue) {
  for (const float x : {0.0f, 1.0f, 1.00390625f, 1.01171875f, -3.14159f, 1e-40f, 3.4e37f, 0.1f, -65504.0f}) {
    EXPECT_EQ(to_bf16(x).bits, nearest_code<bf16>(x)) << x;
  }
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(to_float(to_bf16(-kInfinity)), -kInfinity);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::nanf("")))));
  EXPECT_EQ(unpack_low(pack_bf16(1.5f, -2.0f)), 1.5f);
  EXPECT_EQ(unpack_high(pack_bf16(1.5f, -2.0f)), -2.0f);
}

TEST(CudaError, SaysWhatFailedWhereAndWhyAndClearsTheLastError) {
  emulation::set_last_error(cudaErrorMemoryAllocation);
  try {
    NB_CUDA_CHECK(cudaErrorMemoryAllocation);
    FAIL() << "expected an error";
  } catch (const CudaError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("numbers_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("out of memory"), std::string::npos) << text;
    EXPECT_NE(text.find("failed: cudaErrorMemoryAllocation"), std::string::npos) << text;
    EXPECT_TRUE(error.is_out_of_memory());
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_NO_THROW(NB_CUDA_CHECK(cudaSuccess));
}

TEST(CudaError, InADestructorIsWrittenAndNotThrown) {
  emulation::set_last_error(cudaErrorIllegalAddress);
  testing::internal::CaptureStderr();
  NB_CUDA_CHECK_NOEXCEPT(cudaErrorIllegalAddress);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("an illegal memory access was encountered"), std::string::npos) << text;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace nanobench::core::cuda
