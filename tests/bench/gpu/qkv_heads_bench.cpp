// From a block's projections to the heads that attention takes.
#include "engine/cuda/qkv_heads.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;
using core::cuda::HeadNorm;
using core::cuda::HeadValueBlend;

constexpr double kEps = 1e-6;

struct Block {
  explicit Block(std::int64_t tokens)
      : length(tokens),
        projection(normal({length, 3 * kWidth})),
        embedding(normal({length, kWidth})),
        heads(zeros({3, length, kHeads, kHeadDim})),
        gradient(at::empty_like(projection)),
        weights(at::ones({2}, at::TensorOptions(at::kCUDA).dtype(at::kFloat))),
        dembedding(zeros({length, kWidth})),
        dweights(zeros({2}, at::kFloat)),
        workspace(zeros({core::cuda::kQkvHeadsWorkspace}, at::kFloat)) {
    const at::TensorOptions floats = at::TensorOptions(at::kCUDA).dtype(at::kFloat);
    const at::Tensor angle =
        at::outer(at::arange(length, floats), at::pow(1.0 / 1024, at::linspace(0, 1, kHeadDim / 2, floats)));
    cos = angle.cos();
    sin = angle.sin();
  }
  core::cuda::QkvHeadsShape shape() const { return {length, kHeads, kHeads, kHeadDim}; }
  core::cuda::HeadRows<bf16> rows(const at::Tensor& of, std::int64_t part) const {
    return {numbers<bf16>(of) + part * kWidth, 3 * kWidth};
  }
  core::cuda::HeadRows<const bf16> input(std::int64_t part) const { return {rows(projection, part).data, 3 * kWidth}; }
  core::cuda::QkvProjections inputs() const { return {input(0), input(1), input(2)}; }
  core::cuda::QkvHeadsOptions options() const {
    return {.norm = HeadNorm::kBeforeRotation,
            .eps = static_cast<float>(kEps),
            .cos = numbers<float>(cos),
            .sin = numbers<float>(sin),
            .blend = HeadValueBlend::kPair,
            .value_weights = numbers<float>(weights),
            .value_embedding = {numbers<bf16>(embedding), kWidth}};
  }
  bf16* head(std::int64_t part) const { return numbers<bf16>(heads) + part * length * kWidth; }

  std::int64_t length;
  at::Tensor projection, embedding, heads, gradient, weights, dembedding, dweights, workspace, cos, sin;
};

Body forward(std::int64_t length) {
  return [block = Block(length)] {
    core::cuda::qkv_heads_forward(block.shape(), block.inputs(), block.options(),
                                  {block.head(0), block.head(1), block.head(2)}, stream());
    return block.heads;
  };
}

at::Tensor placed(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const std::vector<at::Tensor> halves = at::rms_norm(x, {kHeadDim}, {}, kEps).chunk(2, -1);
  return at::cat({halves[0] * cos + halves[1] * sin, halves[1] * cos - halves[0] * sin}, -1).to(at::kBFloat16);
}

Body libtorch_forward(std::int64_t length) {
  return [block = Block(length)] {
    const std::vector<at::Tensor> parts = block.projection.view({block.length, 3, kHeads, kHeadDim}).unbind(1);
    const at::Tensor cos = block.cos.unsqueeze(1), sin = block.sin.unsqueeze(1);
    const at::Tensor v = (block.weights[0] * parts[2] + block.weights[1] * block.embedding.view_as(parts[2]));
    return at::stack({placed(parts[0], cos, sin), placed(parts[1], cos, sin), v.to(at::kBFloat16)});
  };
}

Body backward(std::int64_t length) {
  const Block block(length);
  block.heads.copy_(normal({3, length, kHeads, kHeadDim}));
  return [block] {
    core::cuda::qkv_heads_backward(block.shape(), block.inputs(), block.options(),
                                   {.q_heads = block.head(0),
                                    .k_heads = block.head(1),
                                    .v_heads = block.head(2),
                                    .q = block.rows(block.gradient, 0),
                                    .k = block.rows(block.gradient, 1),
                                    .v = block.rows(block.gradient, 2),
                                    .value_embedding = numbers<bf16>(block.dembedding),
                                    .value_weights = numbers<float>(block.dweights),
                                    .workspace = numbers<float>(block.workspace)},
                                   stream());
    return block.gradient;
  };
}

}  // namespace

void qkv_heads_bench() {
  for (const std::int64_t length : kLengths) {
    const std::string shape = shape_name({{"T", length}, {"H", kHeads}, {"E", kHeadDim}});
    const double count = static_cast<double>(length * kWidth);
    add_rows("qkv_heads_forward", shape,
             {{.name = "own", .prepare = [=] { return forward(length); }, .work = {.bytes = 14 * count}},
              {.name = "single_operations",
               .prepare = [=] { return libtorch_forward(length); },
               .work = {.bytes = 14 * count}}});
    add_rows("qkv_heads_backward", shape,
             {{.name = "own", .prepare = [=] { return backward(length); }, .work = {.bytes = 22 * count}}});
  }
}

}  // namespace nanobench::gpu_bench
