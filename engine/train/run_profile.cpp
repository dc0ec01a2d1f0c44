#include "engine/train/run_profile.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

#include "core/data/atomic_write.h"
#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

RunProfile::Step::Step(RunProfile& profile, std::int64_t step)
    : is_profiled_(step >= profile.untimed_steps_ && step < profile.untimed_steps_ + kMostProfiledSteps) {
  if (!is_profiled_) return;
  set_profiler(&profile.profiler_);
  observer_.emplace();
  timer_.emplace(SpanKind::kStep, "step");
}

RunProfile::Step::~Step() {
  if (!is_profiled_) return;
  timer_.reset();
  observer_.reset();
  set_profiler(nullptr);
}

StepProfile RunProfile::summary() {
  StepProfile profile = summarize_spans(profiler_.spans(), profiler_.this_thread());
  profile.sgemm_gflops = measure_sgemm_gflops();
  return profile;
}

void RunProfile::write(const std::filesystem::path& file, const StepProfile& summary) const {
  const std::string text = chrome_trace(profiler_.spans(), profiler_.threads(), "nanobench-train", summary);
  write_file_atomically(file, text);
}

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

}  // namespace nanobench::core
