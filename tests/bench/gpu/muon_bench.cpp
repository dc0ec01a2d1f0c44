// What Muon does beside its products, for all matrices of a shape.
#include "engine/cuda/muon.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;
using core::cuda::MuonFactors;
using core::cuda::MuonShape;

constexpr double kMomentum = 0.95, kRate = 0.05, kEps = 1e-7;

struct Shape {
  std::int64_t matrices, rows, columns;
  std::int64_t numbers() const { return rows * columns; }
  std::int64_t all() const { return matrices * numbers(); }
  MuonShape muon() const { return {matrices, numbers()}; }
};

at::Tensor pointers_to(const at::Tensor& batch) {
  std::vector<void*> pointers;
  for (std::int64_t i = 0; i < batch.size(0); ++i) pointers.push_back(batch[i].data_ptr());
  return upload(pointers);
}

/// The matrices' state and scratch.
struct State {
  explicit State(const Shape& s)
      : shape(s.muon()),
        gradient(normal({s.matrices, s.numbers()}, at::kFloat)),
        buffer(zeros({s.matrices, s.numbers()}, at::kFloat)),
        update(normal({s.matrices, s.numbers()})),
        x(at::empty_like(update)),
        copy(at::empty_like(update)),
        partials(zeros({s.matrices, core::cuda::kMuonPartials}, at::kFloat)),
        factors(upload(std::vector{core::cuda::muon_factors(kMomentum, kRate)})),
        gradients(pointers_to(gradient)),
        parameters(pointers_to(buffer)),
        copies(pointers_to(copy)) {}
  MuonShape shape;
  at::Tensor gradient, buffer, update, x, copy, partials, factors, gradients, parameters, copies;
};

Body momentum(const Shape& s) {
  return [state = State(s)] {
    core::cuda::muon_momentum(state.shape, {}, numbers<MuonFactors>(state.factors),
                              numbers<const float* const>(state.gradients), numbers<float>(state.buffer),
                              numbers<bf16>(state.update), numbers<float>(state.partials), stream());
    return at::Tensor();
  };
}

Body libtorch_momentum(const Shape& s) {
  return [state = State(s)] {
    state.buffer.lerp_(state.gradient, 1.0 - kMomentum);
    state.update.copy_(state.gradient.lerp(state.buffer, kMomentum));
    return at::Tensor();
  };
}

Body normalize(const Shape& s) {
  const State state(s);
  const auto norms = state.update.to(at::kFloat).square().sum(1);
  state.partials.select(1, 0).copy_(norms);
  return [state] {
    core::cuda::muon_normalize(state.shape, numbers<bf16>(state.update), numbers<float>(state.partials),
                               {.eps = static_cast<float>(kEps)}, numbers<bf16>(state.x), stream());
    return state.x;
  };
}

Body libtorch_normalize(const Shape& s) {
  return [state = State(s)] { return state.update / (state.update.norm(2, {1}, /*keepdim=*/true) + kEps); };
}

Body combine(const Shape& s) {
  return [state = State(s), count = s.all()] {
    core::cuda::muon_combine(count, 3.4445f, numbers<bf16>(state.update), -4.775f, numbers<bf16>(state.update),
                             numbers<bf16>(state.x), stream());
    return state.x;
  };
}

Body libtorch_combine(const Shape& s) {
  return [state = State(s)] { return 3.4445 * state.update + -4.775 * state.update; };
}

Body apply(const Shape& s) {
  return [state = State(s)] {
    core::cuda::muon_apply(state.shape, numbers<bf16>(state.update), 1.0f, numbers<MuonFactors>(state.factors),
                           numbers<float* const>(state.parameters), numbers<bf16* const>(state.copies), stream());
    return at::Tensor();
  };
}

Body libtorch_apply(const Shape& s) {
  return [state = State(s)] {
    state.buffer.add_(state.update, -kRate);
    state.copy.copy_(state.buffer);
    return at::Tensor();
  };
}

void add(const std::string& operation, const Shape& s, double bytes_a_number, Body (*own)(const Shape&),
         Body (*libtorch)(const Shape&)) {
  const Work work{.bytes = bytes_a_number * static_cast<double>(s.all())};
  add_rows(operation, shape_name({{"matrices", s.matrices}, {"rows", s.rows}, {"columns", s.columns}}),
           {{.name = "own", .prepare = [=] { return own(s); }, .work = work},
            {.name = "single_operations", .prepare = [=] { return libtorch(s); }, .work = work}});
}

}  // namespace

void muon_bench() {
  // Attention and MLP of twelve blocks.
  for (const Shape& s : {Shape{44, kWidth, kWidth}, Shape{24, kWidth, kMlpWidth}}) {
    add("muon_momentum", s, 14, momentum, libtorch_momentum);
    add("muon_normalize", s, 4, normalize, libtorch_normalize);
    add("muon_combine", s, 6, combine, libtorch_combine);
    add("muon_apply", s, 12, apply, libtorch_apply);
  }
}

}  // namespace nanobench::gpu_bench
