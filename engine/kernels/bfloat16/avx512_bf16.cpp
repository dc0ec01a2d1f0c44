// multiply_bfloat16 with vdpbf16ps, which adds two products to each of sixteen sums, so that sums run over pairs of k.
//
// A pair (k, k + 1) of bfloat16 values shares one 32-bit word; an odd last value is paired with a zero. B is packed in
// panels of kPanel columns, [pairs, kPanel] words each. A is packed block by block, [rows, pairs] or, for a transpose,
// [pairs, kBlockRows]. Every element of C is one sum over its pairs in ascending order, in parts of kPartPairs: its
// bits depend neither on the block of rows nor on the thread that computes it.
#include "engine/kernels/bfloat16/units.h"

#ifdef __AVX512BF16__

#include <immintrin.h>

#include <cstdint>

#include "engine/kernels/scratch.h"

namespace nanobench::core::avx512_bf16 {

#include "engine/kernels/vector/simd.inl"
//
#include "engine/kernels/vector/transpose.inl"

namespace {

constexpr std::int64_t kPanel = 2 * NB_LANES;
constexpr std::int64_t kPartPairs = 128;               // a panel's part of 16 KiB stays in the first-level cache
constexpr std::int64_t kBlockRows = 6 * NB_TILE_ROWS;  // of c in an item
constexpr std::int64_t kMaxPacked = 1 << 22;           // words of B that are packed at a time
constexpr auto kUpperHalf = static_cast<int>(0xffff0000U);

std::int64_t pairs_of(std::int64_t inner) {
  return (inner + 1) / 2;
}

/// Lanes [0, count) of a vector.
__mmask16 first_lanes(std::int64_t count) {
  if (count >= NB_LANES) return 0xffff;
  return static_cast<__mmask16>(count <= 0 ? 0 : (1U << count) - 1U);
}

/// Words of (even[n], odd[n]); odd may be nullptr.
__m512i interleaved(const float* even, const float* odd, __mmask16 lanes) {
  const __m512i low = _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, even));
  if (odd == nullptr) return _mm512_srli_epi32(low, 16);
  const __m512i high = _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, odd));
  return _mm512_or_si512(_mm512_srli_epi32(low, 16), _mm512_and_si512(high, _mm512_set1_epi32(kUpperHalf)));
}

/// Words of the neighbours row[0 .. 2 * NB_LANES), of which `count` numbers are valid.
__m512i neighbours(const float* row, std::int64_t count) {
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(count), row);
  const __m512 high =
      count > NB_LANES ? _mm512_maskz_loadu_ps(first_lanes(count - NB_LANES), row + NB_LANES) : _mm512_setzero_ps();
  const __m256i low_half = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(low), 16));
  const __m256i high_half = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(high), 16));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low_half), high_half, 1);
}

/// Pairs [begin, end) of `columns` columns of B [inner, columns] into rows of `width` words.
void pack_rows(const float* b, std::int64_t b_row, std::int64_t inner, std::int64_t columns, std::int64_t begin,
               std::int64_t end, std::int64_t width, std::uint32_t* packed) {
  for (std::int64_t pair = begin; pair < end; ++pair, packed += width) {
    const float* const even = b + 2 * pair * b_row;
    const float* const odd = 2 * pair + 1 < inner ? even + b_row : nullptr;
    for (std::int64_t n = 0; n < width; n += NB_LANES) {
      const __mmask16 lanes = first_lanes(columns - n);
      _mm512_storeu_si512(packed + n, interleaved(even + n, odd != nullptr ? odd + n : nullptr, lanes));
    }
  }
}

/// A panel of B = W^T for W [columns, inner]: words of W's rows, transposed in blocks of 16 x 16.
void pack_transposed(const float* w, std::int64_t w_row, std::int64_t inner, std::int64_t columns,
                     std::uint32_t* packed) {
  for (std::int64_t pair = 0; pair < pairs_of(inner); pair += NB_LANES) {
    const std::int64_t count = smaller(NB_LANES, pairs_of(inner) - pair);
    for (std::int64_t n = 0; n < kPanel; n += NB_LANES) {
      alignas(64) std::uint32_t lines[NB_LANES * NB_LANES], turned[NB_LANES * NB_LANES];
      for (std::int64_t i = 0; i < NB_LANES; ++i) {
        const bool is_there = n + i < columns;
        _mm512_store_si512(lines + i * NB_LANES, is_there ? neighbours(w + (n + i) * w_row + 2 * pair, inner - 2 * pair)
                                                          : _mm512_setzero_si512());
      }
      transpose_block(reinterpret_cast<const float*>(lines), NB_LANES, reinterpret_cast<float*>(turned), NB_LANES);
      for (std::int64_t i = 0; i < count; ++i)
        _mm512_storeu_si512(packed + (pair + i) * kPanel + n, _mm512_load_si512(turned + i * NB_LANES));
    }
  }
}

void pack_panel(const MatrixProduct& p, std::int64_t panel, std::uint32_t* packed) {
  const std::int64_t first = panel * kPanel, columns = smaller(kPanel, p.columns - first);
  if (p.transposes_b) {
    pack_transposed(p.b + first * p.b_row, p.b_row, p.inner, columns, packed);
  } else {
    pack_rows(p.b + first, p.b_row, p.inner, columns, 0, pairs_of(p.inner), kPanel, packed);
  }
}

/// Part of a block of A's rows: word (row, pair) is at words[row * row_step + pair * pair_step].
struct BlockOfA {
  alignas(64) std::uint32_t words[kBlockRows * kPartPairs];
  std::int64_t row_step = 0, pair_step = 0;

  void read(const MatrixProduct& p, std::int64_t row, std::int64_t rows, std::int64_t begin, std::int64_t end) {
    if (p.transposes_a) {
      row_step = 1;
      pair_step = kBlockRows;
      for (std::int64_t pair = begin; pair < end; ++pair) read_column_pair(p, row, rows, pair, pair - begin);
      return;
    }
    row_step = kPartPairs;
    pair_step = 1;
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* const from = p.a + (row + i) * p.a_row;
      for (std::int64_t pair = begin; pair < end; pair += NB_LANES)
        _mm512_storeu_si512(words + i * kPartPairs + pair - begin, neighbours(from + 2 * pair, p.inner - 2 * pair));
    }
  }

 private:
  void read_column_pair(const MatrixProduct& p, std::int64_t row, std::int64_t rows, std::int64_t pair,
                        std::int64_t at) {
    const float* const even = p.a + 2 * pair * p.a_row + row;
    const float* const odd = 2 * pair + 1 < p.inner ? even + p.a_row : nullptr;
    for (std::int64_t i = 0; i < rows; i += NB_LANES) {
      const __mmask16 lanes = first_lanes(rows - i);
      _mm512_mask_storeu_epi32(words + at * kBlockRows + i, lanes,
                               interleaved(even + i, odd != nullptr ? odd + i : nullptr, lanes));
    }
  }
};

/// How sums are stored.
struct Ending {
  bool accumulates, rounds;
};

__m512 rounded(__m512 v) {
  const __m256i half = (__m256i)_mm512_cvtneps_pbh(v);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

void store_sums(float* c, __m512 sum, __mmask16 lanes, Ending ending) {
  if (ending.accumulates) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, c), sum);
  _mm512_mask_storeu_ps(c, lanes, ending.rounds ? rounded(sum) : sum);
}

__m512bh words_at(const std::uint32_t* words) {
  return (__m512bh)_mm512_loadu_si512(words);
}

/// c [Rows, up to kPanel] from `pairs` pairs.
template <int Rows>
inline void product_block(std::int64_t pairs, const std::uint32_t* a, std::int64_t row_step, std::int64_t pair_step,
                          const std::uint32_t* b, float* c, std::int64_t c_row, std::int64_t columns, Ending ending) {
  __m512 sums[Rows][2];
  for (int i = 0; i < Rows; ++i) sums[i][0] = sums[i][1] = _mm512_setzero_ps();
  for (std::int64_t pair = 0; pair < pairs; ++pair, a += pair_step, b += kPanel) {
    const __m512bh first = words_at(b), second = words_at(b + NB_LANES);
    for (int i = 0; i < Rows; ++i) {
      const auto factor = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[i * row_step]));
      sums[i][0] = _mm512_dpbf16_ps(sums[i][0], factor, first);
      sums[i][1] = _mm512_dpbf16_ps(sums[i][1], factor, second);
    }
  }
  for (int i = 0; i < Rows; ++i) {
    store_sums(c + i * c_row, sums[i][0], first_lanes(columns), ending);
    if (columns > NB_LANES) store_sums(c + i * c_row + NB_LANES, sums[i][1], first_lanes(columns - NB_LANES), ending);
  }
}

void product_rows(std::int64_t rows, std::int64_t pairs, const BlockOfA& a, const std::uint32_t* b, float* c,
                  std::int64_t c_row, std::int64_t columns, Ending ending) {
  const auto block = [&]<int Rows>(std::int64_t i) {
    product_block<Rows>(pairs, a.words + i * a.row_step, a.row_step, a.pair_step, b, c + i * c_row, c_row, columns,
                        ending);
  };
  std::int64_t i = 0;
  for (; i + NB_TILE_ROWS <= rows; i += NB_TILE_ROWS) block.template operator()<NB_TILE_ROWS>(i);
  for (; i + 4 <= rows; i += 4) block.template operator()<4>(i);
  for (; i < rows; ++i) block.template operator()<1>(i);
}

/// Panels [begin, end) of rows [row, row + kBlockRows) of c.
void multiply_rows(const MatrixProduct& p, bool rounds, std::int64_t row, std::int64_t begin, std::int64_t end,
                   const std::uint32_t* packed) {
  const std::int64_t rows = smaller(kBlockRows, p.rows - row), pairs = pairs_of(p.inner);
  BlockOfA a;
  for (std::int64_t k = 0; k < pairs; k += kPartPairs) {
    const std::int64_t part = smaller(kPartPairs, pairs - k);
    a.read(p, row, rows, k, k + part);
    const Ending ending{.accumulates = p.accumulates || k > 0, .rounds = rounds && k + part == pairs};
    for (std::int64_t panel = begin; panel < end; ++panel)
      product_rows(rows, part, a, packed + (panel * pairs + k) * kPanel, p.c + row * p.c_row + panel * kPanel, p.c_row,
                   smaller(kPanel, p.columns - panel * kPanel), ending);
  }
}

}  // namespace

void multiply(const MatrixProduct& p, bool rounds, ThreadPool& threads) {
  const std::int64_t panels = (p.columns + kPanel - 1) / kPanel, row_blocks = (p.rows + kBlockRows - 1) / kBlockRows;
  const std::int64_t panel_words = kPanel * pairs_of(p.inner);
  const std::int64_t at_once = larger(1, smaller(panels, kMaxPacked / larger(panel_words, 1)));
  auto* const buffer = reinterpret_cast<std::uint32_t*>(scratch(ScratchUse::kPackedMatrix, at_once * panel_words));
  for (std::int64_t begin = 0; begin < panels; begin += at_once) {
    const std::int64_t end = smaller(begin + at_once, panels);
    std::uint32_t* const packed = buffer - begin * panel_words;  // so that panel `begin` is the first of the buffer
    threads.parallel_for(end - begin, [&](std::int64_t i) { pack_panel(p, begin + i, buffer + i * panel_words); });
    // Few rows: the panels are divided too.
    const std::int64_t parts = smaller(end - begin, larger(1, 4 * threads.size() / row_blocks));
    threads.parallel_for(row_blocks * parts, [&](std::int64_t item) {
      const std::int64_t part = item % parts, row = item / parts * kBlockRows;
      multiply_rows(p, rounds, row, begin + (end - begin) * part / parts, begin + (end - begin) * (part + 1) / parts,
                    packed);
    });
  }
}

}  // namespace nanobench::core::avx512_bf16

#else  // another kind of processor: never called

#include "core/base/error.h"

namespace nanobench::core::avx512_bf16 {

void multiply(const MatrixProduct&, bool, ThreadPool&) {
  throw Error(ErrorCode::kInternal, "this build has no AVX512-BF16 kernels");
}

}  // namespace nanobench::core::avx512_bf16

#endif
