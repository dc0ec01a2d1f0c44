// The learned gates of attention heads and of the smear.
#include "engine/cuda/gates.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;

constexpr std::int64_t kGateHeads = 6, kGateFeatures = 12;  // of record #28
constexpr float kGateEps = 1e-6f;

at::Tensor gate_weights(at::IntArrayRef sizes) {
  return at::full(sizes, 0.1, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
}

struct Heads {
  explicit Heads(std::int64_t length)
      : shape{length, kWidth, kGateHeads, kWidth / kGateHeads, kGateFeatures},
        x(normal({length, kWidth})),
        y(x.roll({1}, {0})),
        dout(x.roll({2}, {0})),
        out(at::empty_like(x)),
        dx(at::empty_like(x)),
        weight(gate_weights({kGateHeads, kGateFeatures})),
        dweight(at::empty_like(weight)),
        gates(zeros({length, kGateHeads}, at::kFloat)),
        workspace(zeros({weight.numel() * core::cuda::kPartialBlocks}, at::kFloat)) {}
  core::cuda::DeviceHeadGate inputs() const {
    return {.x = numbers<bf16>(x), .weight = numbers<float>(weight), .y = numbers<bf16>(y), .eps = kGateEps};
  }
  core::cuda::DeviceHeadGateShape shape;
  at::Tensor x, y, dout, out, dx, weight, dweight, gates, workspace;
};

Body heads_forward(std::int64_t length) {
  return [heads = Heads(length)] {
    core::cuda::head_gate_forward(heads.shape, heads.inputs(), numbers<float>(heads.gates), numbers<bf16>(heads.out),
                                  stream());
    return heads.out;
  };
}

Body libtorch_heads_forward(std::int64_t length) {
  return [heads = Heads(length)] {
    const at::Tensor n = at::rms_norm(heads.x, {kWidth}, {}, kGateEps).narrow(1, 0, kGateFeatures);
    const at::Tensor gates = at::sigmoid(at::linear(n, heads.weight.to(at::kBFloat16)));
    return heads.y.view({heads.shape.length, kGateHeads, -1}) * gates.unsqueeze(-1);
  };
}

Body heads_backward(std::int64_t length) {
  return [heads = Heads(length)] {
    core::cuda::head_gate_backward(heads.shape, heads.inputs(),
                                   {.dout = numbers<bf16>(heads.dout),
                                    .gates = numbers<float>(heads.gates),
                                    .x = numbers<bf16>(heads.dx),
                                    .y = numbers<bf16>(heads.out),
                                    .weight = numbers<float>(heads.dweight),
                                    .workspace = numbers<float>(heads.workspace)},
                                   stream());
    return heads.dx;
  };
}

struct Smear {
  explicit Smear(std::int64_t length)
      : shape{length, kWidth, kGateFeatures},
        e(normal({length, kWidth})),
        dout(e.roll({1}, {0})),
        out(at::empty_like(e)),
        weight(gate_weights({kGateFeatures})),
        sums(zeros({kGateFeatures + 1}, at::kFloat)),
        gates(zeros({length}, at::kFloat)),
        workspace(zeros({(kGateFeatures + 1) * core::cuda::kPartialBlocks}, at::kFloat)) {}
  core::cuda::DeviceSmear inputs() const {
    return {.e = numbers<bf16>(e), .weight = numbers<float>(weight), .lambda = numbers<float>(weight)};
  }
  core::cuda::DeviceSmearShape shape;
  at::Tensor e, dout, out, weight, sums, gates, workspace;
};

Body smear_forward(std::int64_t length) {
  return [smear = Smear(length)] {
    core::cuda::smear_forward(smear.shape, smear.inputs(), numbers<float>(smear.gates), numbers<bf16>(smear.out),
                              stream());
    return smear.out;
  };
}

Body libtorch_smear_forward(std::int64_t length) {
  return [smear = Smear(length)] {
    const at::Tensor later = smear.e.slice(0, 1);
    const at::Tensor weight = smear.weight.to(at::kBFloat16).view({1, -1});
    const at::Tensor gates = 0.1 * at::sigmoid(at::linear(later.narrow(1, 0, kGateFeatures), weight));
    return at::cat({smear.e.slice(0, 0, 1), later + gates * smear.e.slice(0, 0, -1)});
  };
}

Body smear_backward(std::int64_t length) {
  return [smear = Smear(length)] {
    core::cuda::smear_backward(smear.shape, smear.inputs(),
                               {.dout = numbers<bf16>(smear.dout),
                                .gates = numbers<float>(smear.gates),
                                .e = numbers<bf16>(smear.out),
                                .weight = numbers<float>(smear.sums),
                                .lambda = numbers<float>(smear.sums) + kGateFeatures,
                                .workspace = numbers<float>(smear.workspace)},
                               stream());
    return smear.out;
  };
}

}  // namespace

void gates_bench() {
  for (const std::int64_t length : kLengths) {
    const std::string shape = shape_name({{"T", length}, {"C", kWidth}});
    const double count = static_cast<double>(length * kWidth);
    add_rows("head_gate_forward", shape,
             {{.name = "own", .prepare = [=] { return heads_forward(length); }, .work = {.bytes = 6 * count}},
              {.name = "single_operations",
               .prepare = [=] { return libtorch_heads_forward(length); },
               .work = {.bytes = 6 * count},
               .note = "rounds the norm and the gates to bfloat16"}});
    add_rows("head_gate_backward", shape,
             {{.name = "own", .prepare = [=] { return heads_backward(length); }, .work = {.bytes = 10 * count}}});
    add_rows("smear_forward", shape,
             {{.name = "own", .prepare = [=] { return smear_forward(length); }, .work = {.bytes = 4 * count}},
              {.name = "single_operations",
               .prepare = [=] { return libtorch_smear_forward(length); },
               .work = {.bytes = 4 * count},
               .note = "rounds the gates and the products to bfloat16"}});
    add_rows("smear_backward", shape,
             {{.name = "own", .prepare = [=] { return smear_backward(length); }, .work = {.bytes = 6 * count}}});
  }
}

}  // namespace nanobench::gpu_bench
