#include "engine/operations/operation_run.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <future>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "core/hardware/processors.h"
#include "core/process/resource_limits.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/scratch.h"
#include "engine/operations/measured_operation.h"
#include "engine/operations/operation_cost.h"
#include "engine/train/engine_facts.h"

namespace nanobench::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMinRepetitions = 3;
constexpr int kMaxRepetitions = 25;
constexpr auto kLength = std::chrono::seconds(6);  // of the repetitions, unless the fewest take longer

std::int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

double time_ms(const MeasuredOperation& operation) {
  const Clock::time_point begin = Clock::now();
  operation.call();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double bytes_beyond_results(const MeasuredOperation& operation) {
  operation.call();
  const AllocationMeter meter;
  const std::vector<at::Tensor> results = operation.call();
  return static_cast<double>(meter.peak_bytes() - bytes_of(results) + scratch_bytes());
}

class OperationRun {
 public:
  OperationRun(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop)
      : spec_(spec), operation_(*spec.operation), sink_(sink), stop_(stop) {}

  RunOutcome run() {
    const int threads = spec_.threads > 0 ? spec_.threads : available_processors();
    EngineContext::current().set_threads(threads, spec_.pin_threads ? std::optional<int>(0) : std::nullopt);
    at::set_num_threads(threads);
    report_hello(threads);
    measure();
    if (stop_) {
      sink_.report(FailedEvent{RunOutcome::kInterrupted, "stopped while measuring " + operation_.op});
      return RunOutcome::kInterrupted;
    }
    sink_.report(FinishedEvent{
        .steps = 0, .timed_steps = 0, .train_ms = {}, .final_val_loss = {}, .peak_bytes = peak_memory_bytes()});
    return RunOutcome::kCompleted;
  }

 private:
  void report_hello(int threads) {
    HelloEvent hello;
    hello.engine = "nanobench-train";
    hello.engine_version = version_text();
    hello.environment = engine_facts(spec_);
    hello.threads = threads;
    sink_.report(hello);
  }

  void report_value(const OperationArm& arm, double value) {
    sink_.report(CounterEvent{operation_counter(arm.name, operation_.metric), value});
  }

  MeasuredOperation made(const OperationArm& arm) const { return make_operation(operation_.op, arm, spec_.seed); }

  void measure() {
    const std::string& metric = operation_.metric;
    if (metric == "time_ms" || metric == "gflops") return measure_times();
    if (is_counted_by_valgrind(metric)) return count();
    for (const OperationArm& arm : operation_.arms) {
      if (stop_) return;
      if (metric == "call") {
        make_counted_call(made(arm).call);
      } else {
        report_value(arm, value_of(made(arm)));
      }
    }
  }

  /// Both at once: a count does not depend on other load on the machine.
  void count() {
    std::vector<std::future<double>> counts;
    for (const OperationArm& arm : operation_.arms) {
      RunSpec one = spec_;
      one.operation->arms = {arm};
      counts.push_back(std::async(std::launch::async, [one] { return count_by_valgrind(one); }));
    }
    for (std::size_t i = 0; i < counts.size(); ++i) report_value(operation_.arms[i], counts[i].get());
  }

  double value_of(const MeasuredOperation& operation) const {
    if (operation_.metric == "bytes") return bytes_beyond_results(operation);
    const auto& function = operation_.metric == "error" ? operation.error : operation.distance_to_polar;
    if (!function)
      throw Error(ErrorCode::kInvalidArgument, operation_.op + " has no " + operation_.metric + " to measure");
    return function();
  }

  void measure_times() {
    std::vector<MeasuredOperation> arms;
    for (const OperationArm& arm : operation_.arms) {
      arms.push_back(made(arm));
      if (operation_.metric == "gflops" && arms.back().flops <= 0)
        throw Error(ErrorCode::kInvalidArgument,
                    "the number of operations of " + operation_.op + " is not known: it has no gflops to measure");
    }
    for (const MeasuredOperation& arm : arms) arm.call();  // caches, pages, threads
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kMaxRepetitions && !stop_; ++i) {
      if (i >= kMinRepetitions && Clock::now() - begin > kLength) break;
      repeat(arms, i % 2 != 0);
    }
  }

  void repeat(const std::vector<MeasuredOperation>& arms, bool is_turned_round) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t at = is_turned_round ? arms.size() - 1 - i : i;
      const double ms = time_ms(arms[at]);
      report_value(operation_.arms[at], operation_.metric == "gflops" ? arms[at].flops / ms * 1e-6 : ms);
    }
  }

  const RunSpec& spec_;
  const OperationSpec& operation_;
  MetricSink& sink_;
  const std::atomic<bool>& stop_;
};

}  // namespace

RunOutcome run_operation(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop) {
  return OperationRun(spec, sink, stop).run();
}

}  // namespace nanobench::core
