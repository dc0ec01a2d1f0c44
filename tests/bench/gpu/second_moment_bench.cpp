// NorMuon's normalisation of the updates of one shape, and the step.
#include "engine/cuda/second_moment.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

constexpr double kBeta2 = 0.95, kMomentRate = 0.06;

struct Updates {
  Updates(std::int64_t matrices, std::int64_t rows, std::int64_t columns)
      : updates(normal({matrices, rows, columns}, at::kFloat)),
        moments(at::ones({matrices, std::max(rows, columns)}, updates.options())),
        parameters(at::zeros_like(updates)),
        workspace(zeros({core::cuda::second_moment_workspace(rows, columns, matrices)}, at::kFloat)) {
    of.rows = rows;
    of.columns = columns;
    of.matrices = matrices;
    of.rate = static_cast<float>(kMomentRate);
    of.rest = static_cast<float>(1.0 - kBeta2);
    of.rounds = true;
    for (std::int64_t i = 0; i < matrices; ++i) {
      of.updates[i] = numbers<float>(updates[i]);
      of.moments[i] = numbers<float>(moments[i]);
      of.parameters[i] = numbers<float>(parameters[i]);
    }
  }
  at::Tensor updates, moments, parameters, workspace;
  core::cuda::DeviceSecondMoment of;
};

Body own(std::int64_t matrices, std::int64_t rows, std::int64_t columns) {
  return [state = Updates(matrices, rows, columns)] {
    core::cuda::second_moment_normalize(state.of, numbers<float>(state.workspace), stream());
    return at::Tensor();
  };
}

Body libtorch(std::int64_t matrices, std::int64_t rows, std::int64_t columns) {
  return [state = Updates(matrices, rows, columns)] {
    at::Tensor v = state.updates, moments = state.moments;
    const auto norm = [](const at::Tensor& x) {
      return at::linalg_vector_norm(x, 2, at::IntArrayRef{-2, -1}, /*keepdim=*/true);
    };
    const at::Tensor before = norm(v);
    moments.lerp_(v.square().mean(-2), 1.0 - kBeta2);
    v.div_(moments.sqrt().clamp_min(1e-10).unsqueeze(-2));
    v.mul_(before / norm(v).clamp_min(1e-10));
    at::Tensor(state.parameters).sub_(v, kMomentRate);
    return at::Tensor();
  };
}

}  // namespace

void second_moment_bench() {
  constexpr std::int64_t kMatrices = 22;  // of record #41, beside those of attention
  const std::int64_t rows = kWidth, columns = kMlpWidth;
  const std::string shape = shape_name({{"n", kMatrices}, {"rows", rows}, {"columns", columns}});
  // Updates are read three times and written twice, parameters read and written.
  const double bytes = 7.0 * sizeof(float) * static_cast<double>(kMatrices * rows * columns);
  add_rows("second_moment_normalize", shape,
           {{.name = "own", .prepare = [=] { return own(kMatrices, rows, columns); }, .work = {.bytes = bytes}},
            {.name = "single_operations",
             .prepare = [=] { return libtorch(kMatrices, rows, columns); },
             .work = {.bytes = bytes},
             .note = "does not round"}});
}

}  // namespace nanobench::gpu_bench
