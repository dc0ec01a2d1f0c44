// Matrix products over packed operands for one instruction set; include after simd.inl.
//
// B is packed in panels of kPanel columns, [inner, kPanel] each, with zeros after the last column. The inner block then
// reads it in order, whatever its original strides (otherwise rows a power of two apart share few cache sets). A is
// read in place if its rows are contiguous, and packed block by block if it is a transpose. Every element of C is one
// sum over `inner` in ascending order, in parts of kInner: its bits depend neither on the block of rows nor on the
// thread that computes it.

constexpr std::int64_t kPanel = 2 * NB_LANES;
constexpr std::int64_t kInner = NB_LANES >= 16 ? 128 : 256;  // a 16 KiB part of a panel stays in the first-level cache
constexpr std::int64_t kTransposedRows = 6 * NB_TILE_ROWS;   // rows of A packed at a time

inline std::int64_t panel_count(std::int64_t columns) {
  return (columns + kPanel - 1) / kPanel;
}

/// Number of floats in packed B.
inline std::int64_t packed_size(std::int64_t inner, std::int64_t columns) {
  return panel_count(columns) * kPanel * inner;
}

/// Packs rows [begin, end) of panel `p` of B, whose element (k, n) is transform(b[k * b_row + n], k).
template <class Transform>
inline void pack_rows(const float* b, std::int64_t b_row, std::int64_t inner, std::int64_t columns, std::int64_t p,
                      std::int64_t begin, std::int64_t end, float* packed, Transform&& transform) {
  const std::int64_t first = p * kPanel, width = smaller(kPanel, columns - first);
  float* out = packed + first * inner + begin * kPanel;
  for (std::int64_t k = begin; k < end; ++k, out += kPanel) {
    const float* row = b + k * b_row + first;
    if (width == kPanel) {
      store(out, transform(load(row), k));
      store(out + NB_LANES, transform(load(row + NB_LANES), k));
      continue;
    }
    float padded[kPanel] = {};
    for (std::int64_t n = 0; n < width; ++n) padded[n] = row[n];
    store(out, transform(load(padded), k));
    store(out + NB_LANES, transform(load(padded + NB_LANES), k));
  }
}

inline Vec unchanged(Vec v, std::int64_t) {
  return v;
}

typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));

/// out[k * kPanel + n] = row_n[k] for 4 x 4 numbers.
inline void transpose_quad(const float* rows, std::int64_t row, float* out) {
  const auto line = [&](std::int64_t n) { return *reinterpret_cast<const Quad*>(rows + n * row); };
  const auto put = [&](std::int64_t k, Quad v) { *reinterpret_cast<Quad*>(out + k * kPanel) = v; };
  const Quad r0 = line(0), r1 = line(1), r2 = line(2), r3 = line(3);
  const Quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  put(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

/// Packs panel `p` of B = W^T for W [columns, inner] with rows w_row apart.
inline void pack_transposed(const float* w, std::int64_t w_row, std::int64_t inner, std::int64_t columns,
                            std::int64_t p, float* packed) {
  const std::int64_t first = p * kPanel, width = smaller(kPanel, columns - first);
  const std::int64_t whole_inner = inner / 4 * 4, whole_width = width / 4 * 4;
  const float* const rows = w + first * w_row;
  float* const out = packed + first * inner;
  for (std::int64_t k = 0; k < whole_inner; k += 4)
    for (std::int64_t n = 0; n < whole_width; n += 4) transpose_quad(rows + n * w_row + k, w_row, out + k * kPanel + n);
  for (std::int64_t k = 0; k < inner; ++k) {
    const std::int64_t done = k < whole_inner ? whole_width : 0;
    for (std::int64_t n = done; n < kPanel; ++n) out[k * kPanel + n] = n < width ? rows[n * w_row + k] : 0.0f;
  }
}

/// Handles a panel with fewer than kPanel columns.
template <bool Accumulate>
inline void product_tail(std::int64_t rows, std::int64_t width, std::int64_t inner, const float* a, std::int64_t a_row,
                         std::int64_t a_inner, const float* b, float* c, std::int64_t c_row) {
  constexpr std::int64_t kRows = NB_TILE_ROWS;
  float tile[kRows * kPanel];
  for (std::int64_t i = 0; i < rows; i += kRows) {
    const std::int64_t count = smaller(kRows, rows - i);
    product_columns<2, false>(count, inner, a + i * a_row, a_row, a_inner, b, kPanel, tile, kPanel);
    for (std::int64_t r = 0; r < count; ++r) {
      float* out = c + (i + r) * c_row;
      for (std::int64_t n = 0; n < width; ++n) out[n] = (Accumulate ? out[n] : 0.0f) + tile[r * kPanel + n];
    }
  }
}

/// c (+)= A times columns [p * kPanel, ...) of packed B over inner [0, part).
template <bool Accumulate>
inline void product_panel(std::int64_t rows, std::int64_t width, std::int64_t part, const float* a, std::int64_t a_row,
                          std::int64_t a_inner, const float* b, float* c, std::int64_t c_row) {
  if (width == kPanel) {
    product_columns<2, Accumulate>(rows, part, a, a_row, a_inner, b, kPanel, c, c_row);
  } else if (width == NB_LANES) {
    product_columns<1, Accumulate>(rows, part, a, a_row, a_inner, b, kPanel, c, c_row);
  } else {
    product_tail<Accumulate>(rows, width, part, a, a_row, a_inner, b, c, c_row);
  }
}

/// A range of panels: [begin, end).
struct Panels {
  std::int64_t begin, end;
};

/// c [rows, columns] = (c +) A B over the panels: A [rows, inner] with contiguous rows a_row apart, B packed. c points
/// to the first column of the whole matrix.
template <bool Accumulate>
inline void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, const float* a, std::int64_t a_row,
                     const float* packed, float* c, std::int64_t c_row, Panels panels) {
  for (std::int64_t k = 0; k < inner; k += kInner) {
    const std::int64_t part = smaller(kInner, inner - k);
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      const float* b = packed + p * kPanel * inner + k * kPanel;
      const std::int64_t width = smaller(kPanel, columns - p * kPanel);
      if (Accumulate || k > 0) {
        product_panel<true>(rows, width, part, a + k, a_row, 1, b, c + p * kPanel, c_row);
      } else {
        product_panel<false>(rows, width, part, a + k, a_row, 1, b, c + p * kPanel, c_row);
      }
    }
  }
}

template <bool Accumulate>
inline void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, const float* a, std::int64_t a_row,
                     const float* packed, float* c, std::int64_t c_row) {
  multiply<Accumulate>(rows, columns, inner, a, a_row, packed, c, c_row, {0, panel_count(columns)});
}

/// The same with A^T for A [inner, rows], rows a_row apart; the product has at most kTransposedRows rows.
template <bool Accumulate>
inline void multiply_transposed(std::int64_t rows, std::int64_t columns, std::int64_t inner, const float* a,
                                std::int64_t a_row, const float* packed, float* c, std::int64_t c_row, Panels panels) {
  alignas(64) float block[kTransposedRows * kInner];
  for (std::int64_t k = 0; k < inner; k += kInner) {
    const std::int64_t part = smaller(kInner, inner - k);
    for (std::int64_t j = 0; j < part; ++j) {
      const float* row = a + (k + j) * a_row;
      for (std::int64_t i = 0; i < rows; ++i) block[j * kTransposedRows + i] = row[i];
    }
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      const float* b = packed + p * kPanel * inner + k * kPanel;
      const std::int64_t width = smaller(kPanel, columns - p * kPanel);
      if (Accumulate || k > 0) {
        product_panel<true>(rows, width, part, block, 1, kTransposedRows, b, c + p * kPanel, c_row);
      } else {
        product_panel<false>(rows, width, part, block, 1, kTransposedRows, b, c + p * kPanel, c_row);
      }
    }
  }
}
