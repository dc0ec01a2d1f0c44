#include "tests/bench/bench_support.h"

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/kernels/engine_context.h"
#include "engine/operations/measured_operation.h"

namespace nanobench::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Threads and instructions of a case, for as long as it runs.
class Setting {
 public:
  Setting(int threads, std::optional<core::CpuPath> path) : threads_before_(at::get_num_threads()) {
    at::set_num_threads(threads);
    context_.set_threads(threads);
    context_.set_cpu_path(path);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { at::set_num_threads(threads_before_); }

 private:
  int threads_before_;
  core::EngineContext context_;
};

void report(benchmark::State& state, const Case& description, double seconds) {
  const double per_call = seconds / static_cast<double>(state.iterations());
  if (description.bytes > 0) state.counters["GB/s"] = description.bytes / per_call * 1e-9;
  if (description.flop <= 0) return;
  const double rate = description.flop / per_call * 1e-9;
  const double limit = sgemm_gflops();
  state.counters["MFLOP"] = description.flop * 1e-6;
  state.counters["GFLOP/s"] = rate;
  state.counters["sgemm_GFLOP/s"] = limit;
  state.counters["of_sgemm"] = rate / limit;
}

/// Makes the data of a case; may complete its description.
using Prepare = std::function<Body(Case&)>;

void run(benchmark::State& state, const BenchOptions& options, Case description, const Prepare& prepare) {
  try {
    const Setting setting(description.threads.value_or(options.threads), description.cpu_path);
    const Body body = prepare(description);
    body();  // caches, pages, threads
    const Clock::time_point begin = Clock::now();
    for ([[maybe_unused]] const auto _ : state) body();
    report(state, description, seconds_since(begin));
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

void add(const BenchOptions& options, Case description, Prepare prepare) {
  const std::string name = description.name;
  benchmark::RegisterBenchmark(name.c_str(),
                               [options, description = std::move(description), prepare = std::move(prepare)](
                                   benchmark::State& state) { run(state, options, description, prepare); })
      ->UseRealTime()
      ->MeasureProcessCPUTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

std::string shape_name(std::initializer_list<std::pair<const char*, std::int64_t>> fields) {
  std::string name;
  for (const auto& [key, value] : fields) {
    if (!name.empty()) name += '/';
    name.append(key).append(":").append(std::to_string(value));
  }
  return name;
}

void add_case(const BenchOptions& options, Case description, std::function<Body()> prepare) {
  add(options, std::move(description), [prepare = std::move(prepare)](Case&) { return prepare(); });
}

void add_operation(const BenchOptions& options, Case description, const std::string& op, core::OperationArm arm) {
  add(options, std::move(description), [op, arm = std::move(arm)](Case& completed) -> Body {
    const core::MeasuredOperation operation = core::make_operation(op, arm, /*seed=*/1);
    completed.flop = operation.flops;
    return [call = operation.call] { call(); };
  });
}

double sgemm_gflops() {
  constexpr std::int64_t kSide = 1024;  // large enough for the full rate, and its operands are a few MiB
  const at::Tensor a = random({kSide, kSide}), b = random({kSide, kSide});
  at::Tensor c = at::mm(a, b);
  std::array<double, 5> seconds{};
  for (double& time : seconds) {
    const Clock::time_point begin = Clock::now();
    at::mm_out(c, a, b);
    time = seconds_since(begin);
  }
  std::sort(seconds.begin(), seconds.end());
  return 2.0 * kSide * kSide * kSide / seconds[seconds.size() / 2] * 1e-9;
}

at::Tensor random(at::IntArrayRef shape) {
  at::manual_seed(1);
  return at::randn(shape);
}

at::Tensor random_leaf(at::IntArrayRef shape) {
  return random(shape).requires_grad_(true);
}

Body forward_backward(std::function<at::Tensor()> operation, std::vector<at::Tensor> leaves) {
  const at::Tensor dy = random(operation().sizes());
  return [operation = std::move(operation), leaves = std::move(leaves), dy] {
    operation().backward(dy);
    for (const at::Tensor& leaf : leaves) leaf.mutable_grad().reset();
  };
}

}  // namespace nanobench::bench
