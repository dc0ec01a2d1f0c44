// Operations that memory limits: norm, rotation, weighted sum, ReLU^2. Each beside the same through plain autograd.
// Where a run takes a fused kernel instead, the single operation is the path `single_operations`. Bytes are those of
// reading and writing each tensor of the forward and the backward pass once.
#include "engine/ops/blend.h"
#include "engine/ops/fused_block.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rotary.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

constexpr double kEps = 0x1p-7;

using Operation = std::function<at::Tensor()>;

struct Pointwise {
  std::string name;
  std::int64_t elements = 0;
  int tensors = 0;  ///< of `elements` that forward and backward read or write
};

/// `make` gets the leaves that it made back through the vector.
void add_path(const BenchOptions& options, const Pointwise& op, const std::string& path, const std::string& shape,
              const std::function<Operation(std::vector<at::Tensor>&)>& make) {
  const double bytes = static_cast<double>(op.elements) * op.tensors * sizeof(float);
  add_case(options, {.name = op.name + "/" + path + "/" + shape, .bytes = bytes}, [make] {
    std::vector<at::Tensor> leaves;
    Operation operation = make(leaves);
    return forward_backward(std::move(operation), std::move(leaves));
  });
}

at::Tensor added_leaf(std::vector<at::Tensor>& leaves, at::IntArrayRef shape) {
  leaves.push_back(random_leaf(shape));
  return leaves.back();
}

void add_norm(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"T", s.length}, {"C", s.dim}});
  const Pointwise op{"norm", s.length * s.dim, 5};
  add_path(options, op, "engine", shape, [s](std::vector<at::Tensor>& leaves) -> Operation {
    return [x = added_leaf(leaves, {s.length, s.dim})] { return core::rms_norm(x, kEps); };
  });
  add_path(options, op, "autograd", shape, [s](std::vector<at::Tensor>& leaves) -> Operation {
    return [x = added_leaf(leaves, {s.length, s.dim})] {
      return x * at::rsqrt(x.square().mean({-1}, /*keepdim=*/true) + kEps);
    };
  });
}

core::RotaryTables tables_of(const ModelShape& s) {
  const core::RopeConfig config{.base = 1024, .half_truncate = true, .max_seq_len = s.length};
  return core::rotary_tables(config, s.head_dim(), at::arange(s.length), at::kFloat);
}

void add_rotary(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"T", s.length}, {"H", s.heads}, {"E", s.head_dim()}});
  const Pointwise op{"rotary", s.length * s.dim, 4};
  const auto heads = [s](std::vector<at::Tensor>& leaves) {
    return added_leaf(leaves, {s.length, s.heads, s.head_dim()});
  };
  add_path(options, op, "single_operations", shape, [=](std::vector<at::Tensor>& leaves) -> Operation {
    return [x = heads(leaves), tables = tables_of(s)] { return core::rotate(x, tables); };
  });
  add_path(options, op, "autograd", shape, [=](std::vector<at::Tensor>& leaves) -> Operation {
    const core::RotaryTables tables = tables_of(s);
    return [x = heads(leaves), cos = tables.cos.unsqueeze(1), sin = tables.sin.unsqueeze(1)] {
      const std::vector<at::Tensor> halves = x.chunk(2, -1);
      return at::cat({halves[0] * cos + halves[1] * sin, halves[1] * cos - halves[0] * sin}, -1);
    };
  });
}

void add_blend(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"T", s.length}, {"C", s.dim}});
  const Pointwise op{"blend", s.length * s.dim, 8};
  using Blend = at::Tensor (*)(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weights);
  const auto add = [&](const char* path, Blend blend) {
    add_path(options, op, path, shape, [s, blend](std::vector<at::Tensor>& leaves) -> Operation {
      const at::Tensor x = added_leaf(leaves, {s.length, s.dim}), y = added_leaf(leaves, {s.length, s.dim});
      return [=, weights = added_leaf(leaves, {2})] { return blend(x, y, weights); };
    });
  };
  add("engine", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& weights) {
    return core::fused_blend({.x = x, .skip = {}, .skip_weights = {}, .x0 = y, .lambdas = weights});
  });
  add("single_operations", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& weights) {
    return core::weighted_sum(x, y, weights, core::BlendForm::kPair);
  });
  add("autograd", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& weights) {
    return weights[0] * x + weights[1] * y;
  });
}

void add_relu_squared(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"T", s.length}, {"C", 4 * s.dim}});
  const Pointwise op{"relu_squared", s.length * 4 * s.dim, 6};
  add_path(options, op, "single_operations", shape, [s](std::vector<at::Tensor>& leaves) -> Operation {
    return [x = added_leaf(leaves, {s.length, 4 * s.dim})] { return core::relu_squared(x); };
  });
  add_path(options, op, "autograd", shape, [s](std::vector<at::Tensor>& leaves) -> Operation {
    return [x = added_leaf(leaves, {s.length, 4 * s.dim})] { return at::relu(x).square(); };
  });
}

}  // namespace

void pointwise_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_norm(options, s);
    add_rotary(options, s);
    add_blend(options, s);
    add_relu_squared(options, s);
  }
}

}  // namespace nanobench::bench
