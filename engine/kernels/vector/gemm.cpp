// multiply_matrices for one instruction set.
#include <cstdint>

#include "engine/kernels/gemm.h"
#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"
//
#include "engine/kernels/vector/gemm.inl"

namespace {

constexpr std::int64_t kRows = kTransposedRows;  // of c in an item
constexpr std::int64_t kMaxPacked = 1 << 22;     // floats of B that are packed at a time

void pack(const MatrixProduct& p, std::int64_t panel, float* packed) {
  if (p.transposes_b) {
    pack_transposed(p.b, p.b_row, p.inner, p.columns, panel, packed);
  } else {
    pack_rows(p.b, p.b_row, p.inner, p.columns, panel, 0, p.inner, packed, unchanged);
  }
}

template <bool Accumulate>
void multiply_rows(const MatrixProduct& p, std::int64_t row, const float* packed, Panels panels) {
  const std::int64_t rows = smaller(kRows, p.rows - row);
  float* c = p.c + row * p.c_row;
  if (p.transposes_a) {
    multiply_transposed<Accumulate>(rows, p.columns, p.inner, p.a + row, p.a_row, packed, c, p.c_row, panels);
  } else {
    multiply<Accumulate>(rows, p.columns, p.inner, p.a + row * p.a_row, p.a_row, packed, c, p.c_row, panels);
  }
}

}  // namespace

void multiply_matrices(const MatrixProduct& p, ThreadPool& threads) {
  const std::int64_t panels = panel_count(p.columns), row_blocks = (p.rows + kRows - 1) / kRows;
  const std::int64_t at_once = larger(1, smaller(panels, kMaxPacked / (kPanel * larger(p.inner, 1))));
  float* const buffer = scratch(ScratchUse::kPackedMatrix, at_once * kPanel * p.inner);
  for (std::int64_t begin = 0; begin < panels; begin += at_once) {
    const std::int64_t end = smaller(begin + at_once, panels);
    float* const packed = buffer - begin * kPanel * p.inner;  // so that panel `begin` is the first of the buffer
    threads.parallel_for(end - begin, [&](std::int64_t i) { pack(p, begin + i, packed); });
    // Few rows: the panels are divided too.
    const std::int64_t parts = smaller(end - begin, larger(1, 4 * threads.size() / row_blocks));
    threads.parallel_for(row_blocks * parts, [&](std::int64_t item) {
      const std::int64_t part = item % parts, row = item / parts * kRows;
      const Panels range{begin + (end - begin) * part / parts, begin + (end - begin) * (part + 1) / parts};
      if (p.accumulates) {
        multiply_rows<true>(p, row, packed, range);
      } else {
        multiply_rows<false>(p, row, packed, range);
      }
    });
  }
}

}  // namespace nanobench::core::NB_PATH
