// Rows of the embedding and of three value embeddings, and the dense gradient of a table.
#include "core/cuda/kernels/embedding.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;

constexpr std::int64_t kTables = 4;

Body look_up(std::int64_t length) {
  core::cuda::EmbeddingTables<bf16> tables{.count = kTables, .width = kWidth, .tables = {}, .outputs = {}};
  std::vector<at::Tensor> memory;
  for (std::int64_t i = 0; i < kTables; ++i) {
    memory.push_back(normal({kVocabulary, kWidth}));
    tables.tables[i] = numbers<bf16>(memory.back());
    memory.push_back(zeros({length, kWidth}));
    tables.outputs[i] = numbers<bf16>(memory.back());
  }
  const at::Tensor text = tokens(length, kVocabulary);
  return [=] {
    core::cuda::embedding_forward(length, numbers<std::int32_t>(text), tables, stream());
    return memory.back();
  };
}

Body libtorch_look_up(std::int64_t length) {
  const std::vector<at::Tensor> tables(kTables, normal({kVocabulary, kWidth}));
  const at::Tensor text = tokens(length, kVocabulary);
  return [=] {
    at::Tensor last;
    for (const at::Tensor& table : tables) last = at::embedding(table, text);
    return last;
  };
}

/// Adds to a table that starts at zero, so results are those of the first call.
Body gradient(std::int64_t length) {
  const at::Tensor text = tokens(length, kVocabulary), host = text.cpu();
  const core::cuda::TokenOrder sorted =
      core::cuda::token_order({host.const_data_ptr<std::int32_t>(), static_cast<std::size_t>(length)}, kVocabulary);
  const std::vector<at::Tensor> lists{upload(sorted.order), upload(sorted.starts), upload(sorted.tokens),
                                      upload(std::vector{static_cast<std::int32_t>(sorted.tokens.size())})};
  const core::cuda::TokenSegments segments{.order = numbers<std::int32_t>(lists[0]),
                                           .starts = numbers<std::int32_t>(lists[1]),
                                           .tokens = numbers<std::int32_t>(lists[2]),
                                           .count = numbers<std::int32_t>(lists[3]),
                                           .most = std::min(length, kVocabulary)};
  const at::Tensor d = normal({length, kWidth}), table = zeros({kVocabulary, kWidth}, at::kFloat);
  return [=, keep = lists] {
    core::cuda::embedding_backward(segments, kWidth, numbers<bf16>(d), false, numbers<float>(table), stream());
    return at::Tensor();
  };
}

Body libtorch_gradient(std::int64_t length) {
  const at::Tensor text = tokens(length, kVocabulary), d = normal({length, kWidth});
  return [=] {
    at::embedding_dense_backward(d, text, kVocabulary, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false);
    return at::Tensor();
  };
}

}  // namespace

void embedding_bench() {
  for (const std::int64_t length : kLengths) {
    const double rows = static_cast<double>(length * kWidth);
    const std::string shape = shape_name({{"T", length}, {"C", kWidth}, {"V", kVocabulary}});
    const Work forward{.bytes = 4.0 * rows * kTables};
    add_rows("embedding_forward", shape + "/tables:" + std::to_string(kTables),
             {{.name = "own", .prepare = [=] { return look_up(length); }, .work = forward},
              {.name = "embedding", .prepare = [=] { return libtorch_look_up(length); }, .work = forward}});
    add_rows("embedding_backward", shape,
             {{.name = "own",
               .prepare = [=] { return gradient(length); },
               .work = {.bytes = 2.0 * rows},
               .note = "adds to the table; tokens sorted before"},
              {.name = "embedding_dense_backward",
               .prepare = [=] { return libtorch_gradient(length); },
               .work = {.bytes = 2.0 * rows},
               .note = "a new table; sorts the tokens",
               .is_same_problem = false}});
  }
}

}  // namespace nanobench::gpu_bench
