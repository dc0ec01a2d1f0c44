#include "engine/train/matrix_rate.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <algorithm>
#include <chrono>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {
namespace {

constexpr std::int64_t kFirstSide = 64, kLastSide = 8192;
constexpr double kLongEnoughMs = 0.5;  // so that the launch does not count
constexpr int kProducts = 10;

double flops_of(std::int64_t side) {
  const auto n = static_cast<double>(side);
  return 2.0 * n * n * n;
}

/// Milliseconds of the fastest product.
double fastest_product_ms(DeviceMarks& marks, std::int64_t side, const at::TensorOptions& options) {
  const at::Tensor a = at::randn({side, side}, options), b = at::randn({side, side}, options);
  at::Tensor c = at::mm(a, b);  // the first call chooses a kernel
  double best_ms = 1e12;
  marks.reset();
  for (int i = 0; i < kProducts; ++i) {
    const int from = marks.mark();
    at::mm_out(c, a, b);
    best_ms = std::min(best_ms, marks.elapsed_ms(from, marks.mark()));
  }
  marks.reset();
  return best_ms;
}

}  // namespace

double measure_sgemm_gflops() {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kSide = 512;
  constexpr auto kLength = std::chrono::milliseconds(50);
  constexpr double kFlops = 2.0 * kSide * kSide * kSide;
  const at::NoGradGuard no_grad;
  const int threads_before = at::get_num_threads();
  at::set_num_threads(kernel_threads().size());  // as many as the kernels have, whatever LibTorch is left with
  const at::Tensor a = at::ones({kSide, kSide}), b = at::ones({kSide, kSide});
  at::Tensor c = at::mm(a, b);  // the first call sets up threads and buffers
  double best_s = 1e9;
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < kLength) {
    const Clock::time_point start = Clock::now();
    at::mm_out(c, a, b);
    best_s = std::min(best_s, std::chrono::duration<double>(Clock::now() - start).count());
  }
  at::set_num_threads(threads_before);
  return kFlops / best_s * 1e-9;
}

std::optional<double> measure_device_gflops(DeviceMarks& marks, at::Device device, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  const at::TensorOptions options = at::TensorOptions().dtype(type).device(device);
  try {
    for (std::int64_t side = kFirstSide;; side *= 2) {
      const double ms = fastest_product_ms(marks, side, options);
      if (ms >= kLongEnoughMs || side == kLastSide) return flops_of(side) / ms * 1e-6;
    }
  } catch (const c10::OutOfMemoryError&) {
    return std::nullopt;
  }
}

}  // namespace nanobench::core
