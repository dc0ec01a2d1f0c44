// Optimiser steps over record #17's parameters: Muon on the matrices of the blocks, Adam on all others.
#include "engine/ops/orthogonalize.h"
#include "engine/optim/adam.h"
#include "engine/optim/muon.h"
#include "engine/optim/second_moment.h"
#include "tests/bench/bench_support.h"
#include "tests/engine/reference_ops.h"

namespace nanobench::bench {
namespace {

constexpr std::int64_t kLayerWithoutAttention = 7;
constexpr std::int64_t kValueTables = 3;
constexpr double kMomentum = 0.95;
constexpr double kRate = 0.02;

core::OptimizerGroupConfig muon_config() {
  return {.type = core::OptimizerType::kMuon, .lr = kRate, .ns_dtype = core::NewtonSchulzDtype::kCompute};
}

at::Tensor with_gradient(at::IntArrayRef shape) {
  at::Tensor parameter = random_leaf(shape);
  parameter.mutable_grad() = random(shape);
  return parameter;
}

/// Shapes of the matrices, in the order of the blocks.
std::vector<std::vector<std::int64_t>> matrix_shapes(const ModelShape& s) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    if (layer != kLayerWithoutAttention) shapes.insert(shapes.end(), 4, {s.dim, s.dim});
    shapes.push_back({4 * s.dim, s.dim});
    shapes.push_back({s.dim, 4 * s.dim});
  }
  return shapes;
}

/// The operations of Newton-Schulz iterations with full products: 2 s^2 l for X X^T, 2 s^3 for A A, 2 s^2 l for the
/// last. A path that computes half of the symmetric ones, or joins steps, is credited with the whole.
double muon_flop(const ModelShape& s) {
  const auto steps = static_cast<double>(muon_config().ns_steps);
  double flop = 0;
  for (const std::vector<std::int64_t>& shape : matrix_shapes(s)) {
    const auto short_side = static_cast<double>(std::min(shape[0], shape[1]));
    const auto long_side = static_cast<double>(std::max(shape[0], shape[1]));
    flop += steps * (4 * short_side * short_side * long_side + 2 * short_side * short_side * short_side);
  }
  return flop;
}

std::vector<core::MuonParameter> matrices(const ModelShape& s) {
  std::vector<core::MuonParameter> parameters;
  for (const std::vector<std::int64_t>& shape : matrix_shapes(s))
    parameters.push_back({.tensor = with_gradient(shape)});
  return parameters;
}

/// One matrix after the other, one tensor operation after the other.
class PlainMuon {
 public:
  explicit PlainMuon(std::vector<core::MuonParameter> parameters) : parameters_(std::move(parameters)) {
    for (const core::MuonParameter& parameter : parameters_)
      buffers_.push_back(at::zeros_like(parameter.tensor).detach());
  }

  void step() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor gradient = parameters_[i].tensor.grad();
      buffers_[i].lerp_(gradient, 1 - kMomentum);
      const at::Tensor update = core::newton_schulz(gradient.lerp(buffers_[i], kMomentum), {});
      core::apply_muon_update(parameters_[i], update, muon_config(), 1.0);
    }
  }

 private:
  std::vector<core::MuonParameter> parameters_;
  std::vector<at::Tensor> buffers_;
};

void add_muon(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"C", s.dim}, {"L", s.layers}});
  const double flop = muon_flop(s);
  add_case(options, {.name = "muon/engine/" + shape, .flop = flop}, [=]() -> Body {
    const auto muon = std::make_shared<core::Muon>(matrices(s), muon_config());
    return [muon] { muon->step(1.0, kMomentum); };
  });
  add_case(options, {.name = "muon/batched_operations/" + shape, .flop = flop}, [=]() -> Body {
    const core::ReferenceOps reference_ops;
    const auto muon = std::make_shared<core::Muon>(matrices(s), muon_config());
    return [muon] { muon->step(1.0, kMomentum); };
  });
  add_case(options, {.name = "muon/one_by_one/" + shape, .flop = flop}, [=]() -> Body {
    const auto muon = std::make_shared<PlainMuon>(matrices(s));
    return [muon] { muon->step(); };
  });
}

/// NorMuon's normalisation of the updates alone.
void add_second_moment(const BenchOptions& options, const ModelShape& s) {
  constexpr double kBeta2 = 0.95;
  double numbers = 0;
  for (const std::vector<std::int64_t>& shape : matrix_shapes(s)) numbers += static_cast<double>(shape[0] * shape[1]);
  const auto add = [&](const std::string& path, bool uses_kernel) {
    Case description{.name = "second_moment/" + path + "/" + shape_name({{"C", s.dim}, {"L", s.layers}})};
    description.bytes = 2 * sizeof(float) * numbers;  // reads the updates and writes them
    add_case(options, description, [=]() -> Body {
      const std::vector<core::MuonParameter> parameters = matrices(s);
      const auto moment = std::make_shared<core::SecondMoment>(parameters, kBeta2, /*rounds_to_bfloat16=*/false);
      const auto updates = std::make_shared<std::vector<at::Tensor>>();
      for (const core::MuonParameter& parameter : parameters) updates->push_back(random(parameter.tensor.sizes()));
      return [=] {
        const at::NoGradGuard no_grad;
        std::optional<core::ReferenceOps> reference_ops;
        if (!uses_kernel) reference_ops.emplace();
        moment->normalize_(*updates);
      };
    });
  };
  add("engine", true);
  add("by_operations", false);
}

std::vector<at::Tensor> other_parameters(const ModelShape& s) {
  std::vector<at::Tensor> parameters{with_gradient({s.vocab, s.dim}), with_gradient({s.padded_vocab(), s.dim})};
  for (std::int64_t i = 0; i < kValueTables; ++i) parameters.push_back(with_gradient({s.vocab, s.dim}));
  for (std::int64_t i = 0; i < 2 * s.layers; ++i) parameters.push_back(with_gradient({2}));
  return parameters;
}

void add_adam(const BenchOptions& options, const ModelShape& s, const std::string& implementation, bool is_fused,
              bool uses_kernel) {
  const auto tables = static_cast<double>(((1 + kValueTables) * s.vocab + s.padded_vocab()) * s.dim);
  const std::string name = "adam/" + implementation + "/" + shape_name({{"C", s.dim}, {"V", s.vocab}});
  constexpr double kBytesAParameter = 7 * sizeof(float);  // reads four arrays, writes three
  add_case(options, {.name = name, .bytes = kBytesAParameter * tables}, [=]() -> Body {
    const core::OptimizerGroupConfig config{.lr = kRate, .fused = is_fused};
    std::optional<core::ReferenceOps> reference_ops;
    if (!uses_kernel) reference_ops.emplace();
    const auto adam = std::make_shared<core::Adam>(other_parameters(s), config);
    return [adam] { adam->step(1.0); };
  });
}

}  // namespace

void optimizer_bench(const BenchOptions& options) {
  std::optional<ModelShape> before;
  for (const ModelShape& s : options.shapes) {  // the length of a sequence does not matter here
    if (before && before->dim == s.dim && before->layers == s.layers && before->vocab == s.vocab) continue;
    add_muon(options, s);
    add_second_moment(options, s);
    add_adam(options, s, "engine", true, true);
    add_adam(options, s, "fused_operation", true, false);
    add_adam(options, s, "by_operations", false, false);
    before = s;
  }
}

}  // namespace nanobench::bench
