// The second stage of sums over blocks.
#include "engine/cuda/partial_sums.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

struct Sums {
  Sums(std::int64_t sums, std::int64_t count)
      : partials(normal({sums, count}, at::kFloat)), to(zeros({sums}, at::kFloat)) {}
  at::Tensor partials, to;
};

void add(std::int64_t sums, std::int64_t count) {
  const Work work{.bytes = 4.0 * static_cast<double>(sums * count)};
  add_rows("sum_partials", shape_name({{"sums", sums}, {"partials", count}}),
           {{.name = "own",
             .prepare = [=]() -> Body {
               return [=, data = Sums(sums, count)] {
                 core::cuda::sum_partials(sums, count, numbers<float>(data.partials), 1.0f, false,
                                          numbers<float>(data.to), stream());
                 return data.to;
               };
             },
             .work = work},
            {.name = "sum_in_float64",
             .prepare = [=]() -> Body {
               return [data = Sums(sums, count)] { return data.partials.sum({1}, false, at::kDouble).to(at::kFloat); };
             },
             .work = work}});
}

}  // namespace

void partial_sums_bench() {
  add(3, core::cuda::kPartialBlocks);
  for (const std::int64_t length : kLengths) add(1, length);  // losses of a batch
}

}  // namespace nanobench::gpu_bench
