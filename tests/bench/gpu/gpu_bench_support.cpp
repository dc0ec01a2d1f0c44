#include "tests/bench/gpu/gpu_bench_support.h"

#include <ATen/cuda/CUDAContext.h>
#include <benchmark/benchmark.h>
#include <c10/cuda/CUDAEvent.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

namespace nanobench::gpu_bench {
namespace {

constexpr std::int64_t kFlushedBytes = 256 << 20;  // more than any GPU's cache
constexpr int kWarmUps = 3;

int rounds = 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Timed {
  std::vector<double> seconds;  ///< one a round
  std::string error;            ///< "" or why there are none
  std::optional<double> distance;
};

/// |a - b| / |b| over all numbers, the first contestant's being b.
double distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.to(at::kFloat), y = b.to(at::kFloat);
  return ((x - y).norm() / y.norm()).item<double>();
}

/// The contestants of one problem; measured together when the first of their rows asks, and again when one asks twice.
class Contest {
 public:
  explicit Contest(std::vector<Contestant> contestants) : contestants_(std::move(contestants)) {}
  std::size_t size() const { return contestants_.size(); }
  const Contestant& contestant(std::size_t i) const { return contestants_[i]; }

  const Timed& take(std::size_t i) {
    if (timed_.empty() || is_taken_[i]) measure();
    is_taken_[i] = true;
    return timed_[i];
  }
  /// Time over the first one's.
  std::optional<double> ratio(std::size_t i) const {
    if (timed_[0].seconds.empty() || timed_[i].seconds.empty()) return std::nullopt;
    std::vector<double> ratios;
    for (std::size_t r = 0; r < timed_[i].seconds.size(); ++r)
      ratios.push_back(timed_[i].seconds[r] / timed_[0].seconds[r]);
    return median(ratios);
  }

 private:
  using Events = std::pair<c10::cuda::CUDAEvent, c10::cuda::CUDAEvent>;

  void measure() {
    const at::NoGradGuard no_grad;
    timed_.assign(contestants_.size(), {});
    is_taken_.assign(contestants_.size(), false);
    const std::vector<Body> bodies = prepared();
    const at::Tensor flushed = at::empty({kFlushedBytes}, at::TensorOptions(at::kCUDA).dtype(at::kByte));
    for (int round = 0; round < rounds; ++round) time_round(round, bodies, flushed);
  }

  /// Calls that have run, and whose first results were compared; an empty one failed.
  std::vector<Body> prepared() {
    std::vector<Body> bodies(contestants_.size());
    at::Tensor first;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      try {
        bodies[i] = contestants_[i].prepare();
        const at::Tensor result = bodies[i]();
        if (i == 0) first = result;
        const bool is_comparable = i > 0 && contestants_[i].is_same_problem && first.defined() && result.defined();
        if (is_comparable) timed_[i].distance = distance(result.reshape(first.sizes()), first);
        for (int call = 0; call < kWarmUps; ++call) bodies[i]();
        at::cuda::getCurrentCUDAStream().synchronize();
      } catch (const std::exception& error) {
        timed_[i].error = first_line(error.what());
        bodies[i] = nullptr;
      }
    }
    return bodies;
  }
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  void time_round(int round, const std::vector<Body>& bodies, const at::Tensor& flushed) {
    std::vector<std::unique_ptr<Events>> events(bodies.size());
    for (std::size_t turn = 0; turn < bodies.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % bodies.size();
      if (!bodies[i]) continue;
      // While the GPU writes these bytes, the host enqueues all that the call launches.
      flushed.fill_(round);
      events[i] =
          std::make_unique<Events>(c10::cuda::CUDAEvent(cudaEventDefault), c10::cuda::CUDAEvent(cudaEventDefault));
      events[i]->first.record();
      bodies[i]();
      events[i]->second.record();
    }
    at::cuda::getCurrentCUDAStream().synchronize();
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (events[i])
        timed_[i].seconds.push_back(static_cast<double>(events[i]->first.elapsed_time(events[i]->second)) * 1e-3);
  }

  std::vector<Contestant> contestants_;
  std::vector<Timed> timed_;
  std::vector<bool> is_taken_;
};

void report(benchmark::State& state, const Contest& contest, std::size_t i, const Timed& timed) {
  const Contestant& contestant = contest.contestant(i);
  const double seconds = median(timed.seconds);
  state.counters["median_ms"] = seconds * 1e3;
  if (contestant.work.bytes > 0) state.counters["GB/s"] = contestant.work.bytes / seconds * 1e-9;
  if (contestant.work.flop > 0) state.counters["TFLOP/s"] = contestant.work.flop / seconds * 1e-12;
  if (const auto ratio = contest.ratio(i); i > 0 && ratio) state.counters["of_own"] = *ratio;
  if (timed.distance) state.counters["distance"] = *timed.distance;
  if (!contestant.note.empty()) state.SetLabel(contestant.note);
}

void run(benchmark::State& state, Contest& contest, std::size_t i) {
  try {
    const Timed timed = contest.take(i);
    if (!timed.error.empty()) return state.SkipWithError(timed.error.c_str());
    std::size_t round = 0;
    for ([[maybe_unused]] const auto _ : state) state.SetIterationTime(timed.seconds.at(round++));
    report(state, contest, i, timed);
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace

void add_rows(const std::string& operation, const std::string& shape, std::vector<Contestant> contestants) {
  const auto contest = std::make_shared<Contest>(std::move(contestants));
  for (std::size_t i = 0; i < contest->size(); ++i) {
    benchmark::RegisterBenchmark((operation + "/" + contest->contestant(i).name + "/" + shape).c_str(),
                                 [contest, i](benchmark::State& state) { run(state, *contest, i); })
        ->UseManualTime()
        ->Iterations(rounds)
        ->Unit(benchmark::kMillisecond);
  }
}

std::string shape_name(std::initializer_list<std::pair<const char*, std::int64_t>> fields) {
  std::string name;
  for (const auto& [key, value] : fields) {
    if (!name.empty()) name += '/';
    name.append(key).append(":").append(std::to_string(value));
  }
  return name;
}

void set_rounds(int wanted) {
  rounds = wanted;
}

at::Tensor normal(at::IntArrayRef shape, at::ScalarType type) {
  at::manual_seed(1);
  return at::randn(shape, at::TensorOptions(at::kCUDA).dtype(type));
}

at::Tensor zeros(at::IntArrayRef shape, at::ScalarType type) {
  return at::zeros(shape, at::TensorOptions(at::kCUDA).dtype(type));
}

at::Tensor tokens(std::int64_t count, std::int64_t below) {
  at::manual_seed(2);
  const at::Tensor uniform = at::rand({count}, at::TensorOptions(at::kCUDA).dtype(at::kDouble));
  return (uniform.pow(4.0) * static_cast<double>(below)).to(at::kInt);
}

core::cuda::Stream stream() {
  return at::cuda::getCurrentCUDAStream().stream();
}

}  // namespace nanobench::gpu_bench
