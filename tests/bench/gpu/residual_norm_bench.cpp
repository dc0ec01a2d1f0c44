// The residual stream at the seams of a block: blend with x0 and skip, and norm.
#include "engine/cuda/residual_norm.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;

constexpr double kEps = 1e-6;

/// A seam's tensors.
struct Seam {
  explicit Seam(std::int64_t length)
      : shape{length, kWidth},
        x(normal({length, kWidth})),
        skip(x.roll({1}, {0})),
        x0(x.roll({2}, {0})),
        dnormed(x.roll({3}, {0})),
        dblended(x.roll({4}, {0})),
        blended(at::empty_like(x)),
        normed(at::empty_like(x)),
        weights(at::ones({2}, at::TensorOptions(at::kCUDA).dtype(at::kFloat))),
        sums(zeros({3}, at::kFloat)),
        dx0(at::empty_like(x)),
        dskip(at::empty_like(x)),
        workspace(zeros({core::cuda::kResidualWorkspace}, at::kFloat)) {}
  core::cuda::DeviceResidualBlend blend() const {
    return {.x = numbers<bf16>(x),
            .skip = numbers<bf16>(skip),
            .x0 = numbers<bf16>(x0),
            .skip_weight = numbers<float>(weights),
            .weights = numbers<float>(weights)};
  }
  core::cuda::ResidualShape shape;
  at::Tensor x, skip, x0, dnormed, dblended, blended, normed, weights, sums, dx0, dskip, workspace;
};

Body forward(std::int64_t length) {
  return [seam = Seam(length)] {
    core::cuda::residual_norm_forward(
        seam.shape, seam.blend(),
        {.blended = numbers<bf16>(seam.blended), .normed = numbers<bf16>(seam.normed), .eps = static_cast<float>(kEps)},
        stream());
    return seam.normed;
  };
}

Body libtorch_forward(std::int64_t length) {
  return [seam = Seam(length)] {
    const at::Tensor blended = (seam.x + seam.skip) + seam.x0;
    return at::rms_norm(blended, {kWidth}, {}, kEps);
  };
}

Body backward(std::int64_t length) {
  Seam seam(length);
  seam.blended.copy_(seam.x);
  return [seam] {
    core::cuda::residual_norm_backward(seam.shape, seam.blend(),
                                       {.blended = numbers<bf16>(seam.blended),
                                        .dnormed = numbers<bf16>(seam.dnormed),
                                        .dblended = numbers<bf16>(seam.dblended),
                                        .eps = static_cast<float>(kEps),
                                        .dx = numbers<bf16>(seam.normed),
                                        .dskip = numbers<bf16>(seam.dskip),
                                        .dx0 = numbers<bf16>(seam.dx0),
                                        .dweights = numbers<float>(seam.sums),
                                        .dskip_weight = numbers<float>(seam.sums) + 2,
                                        .workspace = numbers<float>(seam.workspace)},
                                       stream());
    return seam.normed;
  };
}

}  // namespace

void residual_norm_bench() {
  for (const std::int64_t length : kLengths) {
    const std::string shape = shape_name({{"T", length}, {"C", kWidth}});
    const double count = static_cast<double>(length * kWidth);
    add_rows("residual_norm_forward", shape,
             {{.name = "own", .prepare = [=] { return forward(length); }, .work = {.bytes = 10 * count}},
              {.name = "single_operations",
               .prepare = [=] { return libtorch_forward(length); },
               .work = {.bytes = 10 * count},
               .note = "rounds the sums to bfloat16"}});
    // Reads what the forward pass read, its sums, and two gradients; writes three.
    add_rows("residual_norm_backward", shape,
             {{.name = "own", .prepare = [=] { return backward(length); }, .work = {.bytes = (12 + 6) * count}}});
  }
}

}  // namespace nanobench::gpu_bench
