// Rows of the embedding and of three value embeddings, and the dense gradients of the four tables.
#include "engine/cuda/embedding.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;

constexpr std::int64_t kTables = 4;

Body look_up(std::int64_t length) {
  std::vector<core::cuda::EmbeddingTable> tables;
  std::vector<at::Tensor> memory;
  for (std::int64_t i = 0; i < kTables; ++i) {
    memory.push_back(normal({kVocabulary, kWidth}, at::kFloat));
    const auto* const rows = numbers<float>(memory.back());
    memory.push_back(zeros({length, kWidth}));
    tables.push_back({.rows = rows, .stride = kWidth, .width = kWidth, .output = numbers<bf16>(memory.back())});
  }
  const at::Tensor text = tokens(length, kVocabulary);
  return [=] {
    core::cuda::embedding_forward(length, numbers<std::int32_t>(text), tables, stream());
    return memory.back();
  };
}

Body libtorch_look_up(std::int64_t length) {
  const std::vector<at::Tensor> tables(kTables, normal({kVocabulary, kWidth}, at::kFloat));
  const at::Tensor text = tokens(length, kVocabulary);
  return [=] {
    at::Tensor last;
    for (const at::Tensor& table : tables) last = at::embedding(table, text).to(at::kBFloat16);
    return last;
  };
}

/// From the tokens as they come, to new tables.
Body gradient(std::int64_t length) {
  const at::Tensor text = tokens(length, kVocabulary), d = normal({length, kWidth});
  return [=] {
    const auto [sorted, positions] = at::sort(text, /*stable=*/std::optional(true), 0);
    std::vector<at::Tensor> tables;
    std::vector<core::cuda::EmbeddingGradient> gradients;
    for (std::int64_t i = 0; i < kTables; ++i) {
      tables.push_back(zeros({kVocabulary, kWidth}, at::kFloat));
      gradients.push_back(
          {.output = numbers<bf16>(d), .rows = numbers<float>(tables.back()), .stride = kWidth, .width = kWidth});
    }
    core::cuda::embedding_backward(length, numbers<std::int32_t>(sorted), numbers<std::int64_t>(positions), gradients,
                                   stream());
    return tables.back();
  };
}

Body libtorch_gradient(std::int64_t length) {
  const at::Tensor text = tokens(length, kVocabulary), d = normal({length, kWidth});
  return [=] {
    at::Tensor last;
    for (std::int64_t i = 0; i < kTables; ++i)
      last = at::embedding_dense_backward(d.to(at::kFloat), text, kVocabulary, /*padding_idx=*/-1,
                                          /*scale_grad_by_freq=*/false);
    return last;
  };
}

}  // namespace

void embedding_bench() {
  for (const std::int64_t length : kLengths) {
    const double rows = static_cast<double>(length * kWidth * kTables);
    const double tables = static_cast<double>(kVocabulary * kWidth * kTables);
    const std::string shape = shape_name({{"T", length}, {"C", kWidth}, {"V", kVocabulary}, {"tables", kTables}});
    const Work forward{.bytes = 6.0 * rows}, backward{.bytes = 2.0 * rows + 4.0 * tables};
    add_rows("embedding_forward", shape,
             {{.name = "own", .prepare = [=] { return look_up(length); }, .work = forward},
              {.name = "embedding", .prepare = [=] { return libtorch_look_up(length); }, .work = forward}});
    add_rows(
        "embedding_backward", shape,
        {{.name = "own",
          .prepare = [=] { return gradient(length); },
          .work = backward,
          .note = "sorts the tokens once"},
         {.name = "embedding_dense_backward", .prepare = [=] { return libtorch_gradient(length); }, .work = backward}});
  }
}

}  // namespace nanobench::gpu_bench
