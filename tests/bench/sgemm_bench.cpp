// The machine's rate of float32 matrix products, which other cases are held against: LibTorch's at::mm on square
// matrices, and on the products of a block and of the head.
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

void add_product(const BenchOptions& options, std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  const double flop = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const std::string shape = shape_name({{"M", m}, {"N", n}, {"K", k}, {"threads", threads}});
  add_case(options, {.name = "sgemm/aten/" + shape, .flop = flop, .threads = threads}, [=]() -> Body {
    const at::Tensor a = random({m, k}), b = random({k, n});
    const at::Tensor c = at::mm(a, b);
    return [=] {
      at::Tensor out = c;
      at::mm_out(out, a, b);
    };
  });
}

}  // namespace

void sgemm_bench(const BenchOptions& options) {
  std::vector<int> thread_counts{1};
  if (options.threads > 1) thread_counts.push_back(options.threads);
  for (const int threads : thread_counts) {
    for (const std::int64_t side : {256, 512, 1024, 2048}) add_product(options, side, side, side, threads);
    for (const ModelShape& s : options.shapes) {
      add_product(options, s.length, s.dim, s.dim, threads);
      add_product(options, s.length, 4 * s.dim, s.dim, threads);
      add_product(options, 4 * s.dim, s.dim, s.length, threads);  // the gradient of a weight
      add_product(options, s.length, s.padded_vocab(), s.dim, threads);
    }
  }
}

}  // namespace nanobench::bench
