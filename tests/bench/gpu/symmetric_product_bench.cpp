// Symmetric products of Muon's iterations against LibTorch's products, which compute both halves.
#include "engine/cuda/symmetric_product.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;

struct Product {
  std::int64_t matrices, rows, columns;
  bool has_addend;
};

constexpr double kScale = 2.0315, kAddendScale = -4.775;  // of the iteration

/// Matrices of norm about 1, as the iterations have them; with an addend the matrix is symmetric and its own.
at::Tensor matrices_of(const Product& p) {
  const at::Tensor a = normal({p.matrices, p.rows, p.columns}) / static_cast<double>(p.rows);
  return p.has_addend ? (a + a.transpose(1, 2)).contiguous() : a;
}

Body own(const Product& p) {
  const at::Tensor a = matrices_of(p), c = zeros({p.matrices, p.rows, p.rows});
  core::cuda::SymmetricProduct product{static_cast<std::int32_t>(p.matrices), static_cast<std::int32_t>(p.rows),
                                       static_cast<std::int32_t>(p.columns), numbers<bf16>(a)};
  if (p.has_addend) {
    product.scale = static_cast<float>(kScale);
    product.addend = product.a;
    product.addend_scale = static_cast<float>(kAddendScale);
  }
  return [=] {
    core::cuda::symmetric_product(product, numbers<bf16>(c), stream());
    return a.defined() ? c : at::Tensor();  // a is kept alive
  };
}

Body libtorch(const Product& p) {
  const at::Tensor a = matrices_of(p);
  if (!p.has_addend) return [=] { return at::bmm(a, a.transpose(1, 2)); };
  return [=] { return at::baddbmm(a, a, a.transpose(1, 2), kAddendScale, kScale); };
}

}  // namespace

void symmetric_product_bench() {
  const Product products[] = {{1, kWidth, kWidth, false},    {44, kWidth, kWidth, false},    {44, kWidth, kWidth, true},
                              {1, kWidth, kMlpWidth, false}, {24, kWidth, kMlpWidth, false}, {24, kWidth, kWidth, true},
                              {8, kWidth, kMlpWidth, false}};
  for (const Product& p : products) {
    const double results = static_cast<double>(p.matrices * p.rows * p.rows);
    const Work work{.bytes = 2.0 * static_cast<double>(p.matrices * p.rows * p.columns) + 2.0 * results,
                    .flop = 2.0 * results * static_cast<double>(p.columns)};
    add_rows("symmetric_product",
             shape_name({{"matrices", p.matrices}, {"rows", p.rows}, {"columns", p.columns}}) +
                 (p.has_addend ? "/addend" : ""),
             {{.name = "own", .prepare = [=] { return own(p); }, .work = work, .note = "flop of the whole product"},
              {.name = p.has_addend ? "baddbmm" : "bmm", .prepare = [=] { return libtorch(p); }, .work = work}});
  }
}

}  // namespace nanobench::gpu_bench
