// Weight matrices: packing for a kernel's products, and gradients; include after gemm.inl.

/// A weight matrix [rows, columns] that a kernel multiplies by: as W^T [columns, rows] in the forward pass, as W in the
/// backward pass.
struct Weight {
  const float* values;
  std::int64_t rows, columns;
  bool transposes;
  float scale;

  std::int64_t inner() const { return transposes ? columns : rows; }
  std::int64_t outer() const { return transposes ? rows : columns; }
  std::int64_t size() const { return packed_size(inner(), outer()); }
};

/// Packs `count` weights consecutively into `packed`.
inline void pack_weights(const Weight* weights, std::int64_t count, float* packed, ThreadPool& threads) {
  std::int64_t panels = 0;
  for (std::int64_t i = 0; i < count; ++i) panels += panel_count(weights[i].outer());
  threads.parallel_for(panels, [&](std::int64_t p) {
    const Weight* w = weights;
    float* out = packed;
    for (; p >= panel_count(w->outer()); ++w) {
      p -= panel_count(w->outer());
      out += w->size();
    }
    if (w->transposes) {
      pack_transposed(w->values, w->columns, w->inner(), w->outer(), p, out);
    } else {
      const float scale = w->scale;
      pack_rows(w->values, w->columns, w->rows, w->columns, p, 0, w->rows, out,
                [scale](Vec v, std::int64_t) { return v * scale; });
    }
  });
}

/// Rows of activations [length, columns], packed as the second operand of weight gradients.
struct PackedRows {
  const float* values;
  std::int64_t columns;
  const float* row_factors;  // null: none

  std::int64_t size(std::int64_t rows) const { return packed_size(rows, columns); }
};

/// The gradient dW = scale A^T B of one weight: A [length, rows], its rows a_row floats apart; B packed.
struct WeightGradient {
  const float* a;
  std::int64_t a_row;
  std::int64_t rows;
  std::int64_t b;  // index of the packed operand
  float* out;
  float scale;
  bool squares_a, transposes_out;  // out is [columns, rows]
};

constexpr std::int64_t kGradientRows = 2048;    // rows of activations packed at a time
constexpr std::int64_t kGradientColumns = 128;  // columns of an item
static_assert(kGradientColumns % kPanel == 0);

/// One item: rows [row, row + kTransposedRows) of A^T times columns [column, column + kGradientColumns) of B.
inline void weight_gradient_tile(const WeightGradient& g, const PackedRows& b, const float* packed, std::int64_t begin,
                                 std::int64_t count, std::int64_t row, std::int64_t column, float* block, float* tile) {
  const std::int64_t rows = smaller(kTransposedRows, g.rows - row),
                     columns = smaller(kGradientColumns, b.columns - column);
  for (std::int64_t k = 0; k < count; k += kInner) {
    const std::int64_t part = smaller(kInner, count - k);
    for (std::int64_t j = 0; j < part; ++j) {
      const float* from = g.a + (begin + k + j) * g.a_row + row;
      float* to = block + j * kTransposedRows;
      if (g.squares_a) {
        for (std::int64_t i = 0; i < rows; ++i) to[i] = from[i] * from[i];
      } else {
        for (std::int64_t i = 0; i < rows; ++i) to[i] = from[i];
      }
    }
    for (std::int64_t j = 0; j < columns; j += kPanel) {
      const float* panel = packed + (column + j) * count + k * kPanel;  // whole panels: the tile has their width
      if (k > 0) {
        product_columns<2, true>(rows, part, block, 1, kTransposedRows, panel, kPanel, tile + j, kGradientColumns);
      } else {
        product_columns<2, false>(rows, part, block, 1, kTransposedRows, panel, kPanel, tile + j, kGradientColumns);
      }
    }
  }
  const bool accumulates = begin > 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float& out =
          g.transposes_out ? g.out[(column + j) * g.rows + row + i] : g.out[(row + i) * b.columns + column + j];
      const float value = tile[i * kGradientColumns + j] * g.scale;
      out = accumulates ? out + value : value;
    }
  }
}

/// Packs rows [begin, begin + rows) of the operands, one operand after another.
inline void pack_operands(const PackedRows* operands, std::int64_t count, std::int64_t begin, std::int64_t rows,
                          float* packed, ThreadPool& threads) {
  constexpr std::int64_t kRun = 256;  // rows of an item
  const std::int64_t runs = (rows + kRun - 1) / kRun;
  std::int64_t panels = 0;
  for (std::int64_t i = 0; i < count; ++i) panels += panel_count(operands[i].columns);
  threads.parallel_for(panels * runs, [&](std::int64_t item) {
    std::int64_t p = item / runs;
    const PackedRows* b = operands;
    float* out = packed;
    for (; p >= panel_count(b->columns); ++b) {
      p -= panel_count(b->columns);
      out += b->size(rows);
    }
    const std::int64_t first = item % runs * kRun, last = smaller(first + kRun, rows);
    const float* factors = b->row_factors == nullptr ? nullptr : b->row_factors + begin;
    pack_rows(b->values + begin * b->columns, b->columns, rows, b->columns, p, first, last, out,
              [factors](Vec v, std::int64_t k) { return factors == nullptr ? v : v * factors[k]; });
  });
}

/// Computes all gradients, over activations of `length` rows.
inline void weight_gradients(const WeightGradient* gradients, std::int64_t count, const PackedRows* operands,
                             std::int64_t operand_count, std::int64_t length, ThreadPool& threads) {
  std::int64_t size = 0;
  for (std::int64_t i = 0; i < operand_count; ++i) size += operands[i].size(smaller(kGradientRows, length));
  float* const buffer = scratch(ScratchUse::kPackedMatrix, size);
  const auto items_of = [&](const WeightGradient& g) {
    const std::int64_t columns = operands[g.b].columns;
    return (g.rows + kTransposedRows - 1) / kTransposedRows * ((columns + kGradientColumns - 1) / kGradientColumns);
  };
  std::int64_t items = 0;
  for (std::int64_t i = 0; i < count; ++i) items += items_of(gradients[i]);
  for (std::int64_t begin = 0; begin < length; begin += kGradientRows) {
    const std::int64_t rows = smaller(kGradientRows, length - begin);
    pack_operands(operands, operand_count, begin, rows, buffer, threads);
    threads.parallel_for(items, [&](std::int64_t item) {
      const WeightGradient* g = gradients;
      for (; item >= items_of(*g); ++g) item -= items_of(*g);
      const float* packed = buffer;
      for (std::int64_t i = 0; i < g->b; ++i) packed += operands[i].size(rows);
      const std::int64_t row_blocks = (g->rows + kTransposedRows - 1) / kTransposedRows;
      alignas(64) float block[kTransposedRows * kInner];
      alignas(64) float tile[kTransposedRows * kGradientColumns];
      weight_gradient_tile(*g, operands[g->b], packed, begin, rows, item % row_blocks * kTransposedRows,
                           item / row_blocks * kGradientColumns, block, tile);
    });
  }
}
