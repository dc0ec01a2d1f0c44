// Matrices of the head in eight bits, by rows and by columns.
#include "engine/cuda/float8.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;
using core::cuda::fp8_e4m3;
using core::cuda::fp8_e5m2;

constexpr float kScale = 2.0f;

Body quantized(std::int64_t rows, std::int64_t columns) {
  const at::Tensor x = normal({rows, columns});
  const at::Tensor by_rows = zeros({rows, columns}, at::kByte), by_columns = zeros({columns, rows}, at::kByte);
  return [=] {
    core::cuda::quantize_e4m3<bf16>(rows, columns, {numbers<bf16>(x), columns}, kScale,
                                    {numbers<fp8_e4m3>(by_rows), columns}, {numbers<fp8_e4m3>(by_columns), rows},
                                    stream());
    return by_columns.view(at::kFloat8_e4m3fn);
  };
}

Body libtorch_quantized(std::int64_t rows, std::int64_t columns) {
  const at::Tensor x = normal({rows, columns});
  return [=] {
    const at::Tensor by_rows = (x * kScale).clamp(-448.0, 448.0).to(at::kFloat8_e4m3fn);
    return by_rows.t().contiguous();
  };
}

Body transposed(std::int64_t rows, std::int64_t columns) {
  const at::Tensor from = normal({rows, columns}).to(at::kFloat8_e5m2), to = zeros({columns, rows}, at::kByte);
  return [=] {
    core::cuda::transpose_e5m2(rows, columns, {numbers<fp8_e5m2>(from), columns}, {numbers<fp8_e5m2>(to), rows},
                               stream());
    return to.view(at::kFloat8_e5m2);
  };
}

Body libtorch_transposed(std::int64_t rows, std::int64_t columns) {
  const at::Tensor from = normal({rows, columns}).to(at::kFloat8_e5m2);
  return [=] { return from.t().contiguous(); };
}

void add(std::int64_t rows, std::int64_t columns) {
  const double count = static_cast<double>(rows * columns);
  add_rows("quantize_e4m3", shape_name({{"rows", rows}, {"columns", columns}}),
           {{.name = "own", .prepare = [=] { return quantized(rows, columns); }, .work = {.bytes = 4 * count}},
            {.name = "single_operations",
             .prepare = [=] { return libtorch_quantized(rows, columns); },
             .work = {.bytes = 4 * count}}});
}

}  // namespace

void float8_bench() {
  for (const std::int64_t length : kLengths) add(length, kWidth);
  add(kVocabulary, kWidth);
  constexpr std::int64_t kRows = 16384;
  const double count = static_cast<double>(kRows * kVocabulary);
  add_rows("transpose_e5m2", shape_name({{"rows", kRows}, {"columns", kVocabulary}}),
           {{.name = "own", .prepare = [] { return transposed(kRows, kVocabulary); }, .work = {.bytes = 2 * count}},
            {.name = "contiguous",
             .prepare = [] { return libtorch_transposed(kRows, kVocabulary); },
             .work = {.bytes = 2 * count}}});
}

}  // namespace nanobench::gpu_bench
