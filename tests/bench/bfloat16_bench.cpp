// Products of bfloat16 matrices with their rounding: float32 kernels that round ("emulated"), the processor's units,
// and LibTorch's own bfloat16.
#include <array>

#include "engine/kernels/engine_context.h"
#include "engine/kernels/gemm.h"
#include "engine/ops/bfloat16.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

struct Product {
  std::int64_t m, n, k;
};

Body engine_body(const Product& p, core::Bfloat16Path path) {
  const at::Tensor a = core::round_to_bfloat16(random({p.m, p.k})), b = core::round_to_bfloat16(random({p.n, p.k}));
  const at::Tensor c = at::empty({p.m, p.n});
  const core::MatrixProduct product{.rows = p.m,
                                    .columns = p.n,
                                    .inner = p.k,
                                    .a = a.const_data_ptr<float>(),
                                    .a_row = p.k,
                                    .b = b.const_data_ptr<float>(),
                                    .b_row = p.k,
                                    .transposes_b = true,
                                    .c = c.data_ptr<float>(),
                                    .c_row = p.n};
  return [=] {
    const std::array<at::Tensor, 3> kept{a, b, c};  // what the pointers point to
    core::EngineContext context;
    context.set_bfloat16_path(path);
    core::multiply_bfloat16(product, /*rounds=*/true, core::kernel_threads());
  };
}

void add_product(const BenchOptions& options, const Product& p) {
  const double flop = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const std::string shape = shape_name({{"M", p.m}, {"N", p.n}, {"K", p.k}, {"threads", options.threads}});
  for (const core::Bfloat16Path path : core::available_bfloat16_paths()) {
    const std::string name = "bfloat16/" + enum_name(path) + "/" + shape;
    add_case(options, {.name = name, .flop = flop, .threads = options.threads}, [=] { return engine_body(p, path); });
  }
  add_case(options, {.name = "bfloat16/aten/" + shape, .flop = flop, .threads = options.threads}, [=]() -> Body {
    const at::Tensor a = random({p.m, p.k}).to(at::kBFloat16), b = random({p.n, p.k}).to(at::kBFloat16);
    return [=] { at::linear(a, b); };
  });
}

}  // namespace

void bfloat16_bench(const BenchOptions& options) {
  for (const std::int64_t side : {256, 768}) add_product(options, {side, side, side});
  for (const ModelShape& s : options.shapes) {
    add_product(options, {s.length, s.dim, s.dim});
    add_product(options, {s.length, 4 * s.dim, s.dim});
  }
}

}  // namespace nanobench::bench
