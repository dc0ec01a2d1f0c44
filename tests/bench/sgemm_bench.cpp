// Float32 matrix products, square and of the shapes of a block and of the head: LibTorch's at::mm, whose rate other
// cases are held against, and the kernels' own.
#include <array>

#include "engine/kernels/gemm.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

struct Product {
  std::int64_t m, n, k;
};

void add_product(const BenchOptions& options, const Product& p, int threads) {
  const double flop = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const std::string shape = shape_name({{"M", p.m}, {"N", p.n}, {"K", p.k}, {"threads", threads}});
  add_operation(options, {.name = "sgemm/aten/" + shape, .threads = threads}, "matrix_product",
                {.name = "aten", .shapes = {{"rows", p.m}, {"columns", p.n}, {"inner", p.k}}, .config = {}});
  add_case(options, {.name = "sgemm/engine/" + shape, .flop = flop, .threads = threads}, [=]() -> Body {
    const at::Tensor a = random({p.m, p.k}), b = random({p.k, p.n}), c = at::empty({p.m, p.n});
    const core::MatrixProduct product{.rows = p.m,
                                      .columns = p.n,
                                      .inner = p.k,
                                      .a = a.const_data_ptr<float>(),
                                      .a_row = p.k,
                                      .b = b.const_data_ptr<float>(),
                                      .b_row = p.n,
                                      .c = c.data_ptr<float>(),
                                      .c_row = p.n};
    return [=] {
      const std::array<at::Tensor, 3> kept{a, b, c};  // what the pointers point to
      core::multiply_matrices(product, core::kernel_threads());
    };
  });
}

}  // namespace

void sgemm_bench(const BenchOptions& options) {
  std::vector<int> thread_counts{1};
  if (options.threads > 1) thread_counts.push_back(options.threads);
  for (const int threads : thread_counts) {
    for (const std::int64_t side : {256, 512, 1024, 2048}) add_product(options, {side, side, side}, threads);
    for (const ModelShape& s : options.shapes) {
      add_product(options, {s.length, s.dim, s.dim}, threads);
      add_product(options, {s.length, 4 * s.dim, s.dim}, threads);
      add_product(options, {4 * s.dim, s.dim, s.length}, threads);  // the gradient of a weight
      add_product(options, {s.length, s.padded_vocab(), s.dim}, threads);
    }
  }
}

}  // namespace nanobench::bench
