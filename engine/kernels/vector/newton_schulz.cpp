// newton_schulz_update for one instruction set.
//
// With the short side first, a matrix X is [m, n]. We store Q = X^T in panels of kPanel columns, [n, kPanel] each, one
// after another, with zeros after column m. All products then read and write panels, and nothing is packed:
//   A = X X^T = Q^T Q        tile (i, j): column panels i and j of Q
//   P = a I + b A + c A A    the same with A, which is its own transpose
//   X <- P X, or Q <- Q P    rows of Q times panels of P
// A is [m, m], also in panels. Zeros after column m stay zero throughout (P's diagonal holds a there, but Q holds
// zero).
//
// Matrices of at least 2:1 take up to three steps at once. A, P and P of the next step are polynomials of the first A,
// so they commute: the next A is P A P, M accumulates the product of the Ps, and the long X is multiplied once, by M.
// Tried and rejected: all five steps at once (a fifth faster at 4:1). Rounding errors in A's smallest eigenvalues grow
// by a factor of 11.9 per step, and the short directions of a gradient with a dominant one become 50 times less exact.
// After three steps A is recomputed from X, and the error is that of single steps.
#include "engine/kernels/newton_schulz.h"

#include <cstdint>

#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"
//
#include "engine/kernels/vector/transpose.inl"

namespace {

/// Coefficients of an iteration.
struct Factors {
  float a, b, c;
};

Factors factors_of(const NewtonSchulzSettings& settings, std::int64_t iteration) {
  const Quintic& quintic = quintic_of(settings.is_polar_express, iteration);
  return {static_cast<float>(quintic.a), static_cast<float>(quintic.b), static_cast<float>(quintic.c)};
}

constexpr std::int64_t kPanel = 2 * NB_LANES;
constexpr std::int64_t kTile = kPanel * kPanel;
constexpr std::int64_t kInner = NB_LANES >= 16 ? 128 : 256;  // a panel's part of 16 KiB stays in the first-level cache
constexpr std::int64_t kChunk = 8 * NB_TILE_ROWS * (NB_LANES >= 16 ? 1 : 2);  // rows of Q in an item: 96
static_assert(kChunk % NB_LANES == 0 && kChunk % 4 == 0);
/// Max workspace, in floats, of a matrix that one thread processes alone: it fits in the cache or nearly so.
constexpr std::int64_t kOwnSize = 1 << 20;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Sizes of a matrix and of its iterations' workspace.
struct Sizes {
  std::int64_t m = 0, n = 0;          ///< short and long side
  std::int64_t panels = 0, rows = 0;  ///< of Q, the rows a multiple of 4
  std::int64_t chunks = 0;            ///< of rows

  std::int64_t panel_size() const { return rows * kPanel; }
  std::int64_t x_size() const { return panels * panel_size(); }
  std::int64_t gram_size() const { return panels * panels * kTile; }
  std::int64_t tiles() const { return panels * (panels + 1) / 2; }  ///< of a lower triangle
  std::int64_t pieces() const { return panels * chunks; }           ///< of Q
  /// In floats: two Q, A, then P, M and a product, or by terms a third Q, and the squares of the pieces.
  std::int64_t workspace(bool by_terms) const {
    return 2 * x_size() + gram_size() + (by_terms ? x_size() : 3 * gram_size()) + divide_up(2 * pieces(), 16) * 16;
  }
};

Sizes sizes_of(const NewtonSchulzMatrix& matrix) {
  Sizes sizes = {.m = smaller(matrix.rows, matrix.columns), .n = larger(matrix.rows, matrix.columns)};
  sizes.panels = divide_up(sizes.m, kPanel);
  sizes.rows = divide_up(sizes.n, 4) * 4;
  sizes.chunks = divide_up(sizes.rows, kChunk);
  return sizes;
}

/// A matrix in progress, in its workspace.
struct MatrixWork {
  const NewtonSchulzMatrix* matrix = nullptr;
  Sizes sizes;
  float* x = nullptr;         ///< Q
  float* next = nullptr;      ///< Q of the next iteration
  float* gram = nullptr;      ///< A
  float* other = nullptr;     ///< P, or by terms Q A
  float* joined = nullptr;    ///< M
  float* spare = nullptr;     ///< a product on its way
  double* squares = nullptr;  ///< of each piece

  /// X is the matrix's transpose, so Q is read directly from the matrix; otherwise Q is read transposed. A square
  /// matrix works either way: O(G^T) = O(G)^T.
  bool is_tall() const { return matrix->rows >= matrix->columns; }
};

MatrixWork work_of(const NewtonSchulzMatrix& matrix, float* workspace, bool by_terms) {
  MatrixWork work = {.matrix = &matrix, .sizes = sizes_of(matrix), .x = workspace};
  work.next = work.x + work.sizes.x_size();
  work.gram = work.next + work.sizes.x_size();
  work.other = work.gram + work.sizes.gram_size();
  work.joined = work.other + work.sizes.gram_size();
  work.spare = work.joined + work.sizes.gram_size();
  work.squares = reinterpret_cast<double*>(work.other + (by_terms ? work.sizes.x_size() : 3 * work.sizes.gram_size()));
  return work;
}

/// Piece i of Q: part of a panel.
struct Piece {
  std::int64_t column, width;  ///< of Q: `width` of kPanel are the matrix's
  std::int64_t begin, end;     ///< rows of Q
  std::int64_t offset;         ///< of its first float

  Piece(const Sizes& sizes, std::int64_t i) {
    const std::int64_t panel = i / sizes.chunks;
    column = panel * kPanel;
    width = smaller(kPanel, sizes.m - column);
    begin = i % sizes.chunks * kChunk;
    end = smaller(begin + kChunk, sizes.rows);
    offset = panel * sizes.panel_size() + begin * kPanel;
  }
};

Vec load_part(const float* p, std::int64_t count) {
  if (count >= NB_LANES) return load(p);
  float padded[NB_LANES] = {};
  for (std::int64_t i = 0; i < count; ++i) padded[i] = p[i];
  return load(padded);
}

void store_part(float* p, Vec v, std::int64_t count) {
  if (count >= NB_LANES) return store(p, v);
  float padded[NB_LANES];
  store(padded, v);
  for (std::int64_t i = 0; i < count; ++i) p[i] = padded[i];
}

/// a + weight (b - a), from the nearer end: exact for weights 0 and 1.
inline Vec lerp(Vec a, Vec b, float weight) {
  return weight < 0.5f ? a + weight * (b - a) : b - (b - a) * (1.0f - weight);
}

/// Applies momentum to `count` gradients and updates the buffer.
inline Vec read_update(const NewtonSchulzMatrix& matrix, const NewtonSchulzSettings& settings, std::int64_t at,
                       std::int64_t count) {
  const Vec g = matrix.gradient != nullptr ? load_part(matrix.gradient + at, count) : Vec{};
  if (matrix.momentum == nullptr) return g;
  const auto momentum = static_cast<float>(settings.momentum);
  Vec buffer = load_part(matrix.momentum + at, count);
  buffer = settings.accumulates ? momentum * buffer + g : lerp(buffer, g, static_cast<float>(1.0 - settings.momentum));
  store_part(matrix.momentum + at, buffer, count);
  if (!settings.is_nesterov) return buffer;
  return settings.accumulates ? g + momentum * buffer : lerp(g, buffer, momentum);
}

/// Sum of squares of few enough terms for float32 sums, continued in double precision.
struct Squares {
  Vec sum = {};
  double total = 0.0;

  void add(Vec v) { sum += v * v; }
  void flush() {
    for (int i = 0; i < NB_LANES; ++i) total += static_cast<double>(sum[i]);
    sum = Vec{};
  }
};

/// Rows of Q in matrix layout, [n, m].
void read_tall(const MatrixWork& work, const NewtonSchulzSettings& settings, const Piece& piece, Squares& squares) {
  float* out = work.x + piece.offset;
  for (std::int64_t k = piece.begin; k < piece.end; ++k, out += kPanel) {
    const bool is_inside = k < work.sizes.n;
    for (std::int64_t c = 0; c < kPanel; c += NB_LANES) {
      Vec v = {};
      if (is_inside && c < piece.width)
        v = read_update(*work.matrix, settings, k * work.sizes.m + piece.column + c, piece.width - c);
      store(out + c, v);
      squares.add(v);
    }
    if (k % 16 == 15) squares.flush();
  }
}

/// A piece in the layout of a matrix [m, n]: its columns are stored as rows.
struct alignas(64) TurnedPiece {
  float values[kPanel * kChunk];

  float* at(std::int64_t column, std::int64_t k) { return values + column * kChunk + k; }
};

/// Columns of the matrix, [m, n], become rows of Q.
void read_wide(const MatrixWork& work, const NewtonSchulzSettings& settings, const Piece& piece, Squares& squares) {
  TurnedPiece turned;
  const std::int64_t rows = piece.end - piece.begin;
  for (std::int64_t c = 0; c < kPanel; ++c) {
    for (std::int64_t k = 0; k < rows; k += NB_LANES) {
      const std::int64_t left = work.sizes.n - piece.begin - k;
      Vec v = {};
      if (c < piece.width && left > 0)
        v = read_update(*work.matrix, settings, (piece.column + c) * work.sizes.n + piece.begin + k, left);
      store(turned.at(c, k), v);
      squares.add(v);
    }
    squares.flush();
  }
  const std::int64_t whole = rows / NB_LANES * NB_LANES;
  float* const out = work.x + piece.offset;
  for (std::int64_t k = 0; k < whole; k += NB_LANES)
    for (std::int64_t c = 0; c < kPanel; c += NB_LANES)
      transpose_block(turned.at(c, k), kChunk, out + k * kPanel + c, kPanel);
  for (std::int64_t k = whole; k < rows; ++k)
    for (std::int64_t c = 0; c < kPanel; ++c) out[k * kPanel + c] = *turned.at(c, k);
}

void read_piece(const MatrixWork& work, const NewtonSchulzSettings& settings, std::int64_t i) {
  const Piece piece(work.sizes, i);
  Squares squares;
  if (work.is_tall()) {
    read_tall(work, settings, piece, squares);
  } else {
    read_wide(work, settings, piece, squares);
  }
  squares.flush();
  work.squares[i] = squares.total;
}

void normalize_piece(const MatrixWork& work, const NewtonSchulzSettings& settings, std::int64_t i) {
  double total = 0.0;
  for (std::int64_t j = 0; j < work.sizes.pieces(); ++j) total += work.squares[j];
  const double norm = __builtin_sqrt(total) * (settings.is_polar_express ? kPolarExpressNorm : 1.0);
  const auto factor = static_cast<float>(1.0 / (norm + settings.eps));
  const Piece piece(work.sizes, i);
  float* const x = work.x + piece.offset;
  for (std::int64_t j = 0; j < (piece.end - piece.begin) * kPanel; j += NB_LANES) store(x + j, load(x + j) * factor);
}

/// c [Rows, Columns vectors] (+)= sum over o < outer, k < inner of
/// a[o a_outer + i RowStep + k InnerStep] b[(o inner + k) kPanel ...], rows of c kPanel apart.
template <int Rows, int Columns, int RowStep, int InnerStep, bool Accumulate>
inline void panel_block(std::int64_t outer, std::int64_t inner, const float* a, std::int64_t a_outer, const float* b,
                        float* c) {
  Vec sums[Rows][Columns];
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) sums[i][j] = Accumulate ? load(c + i * kPanel + j * NB_LANES) : Vec{};
  for (std::int64_t o = 0; o < outer; ++o, a += a_outer) {
    const float* factors = a;
    for (std::int64_t k = 0; k < inner; ++k, factors += InnerStep, b += kPanel) {
      Vec row[Columns];
      for (int j = 0; j < Columns; ++j) row[j] = load(b + j * NB_LANES);
      for (int i = 0; i < Rows; ++i) {
        const Vec factor = broadcast(factors[i * RowStep]);
        for (int j = 0; j < Columns; ++j) sums[i][j] += factor * row[j];
      }
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) store(c + i * kPanel + j * NB_LANES, sums[i][j]);
}

/// All columns for any multiple of 4 rows; rows left over from blocks of NB_TILE_ROWS are processed in fours.
template <int RowStep, int InnerStep, bool Accumulate>
inline void panel_rows(std::int64_t rows, std::int64_t outer, std::int64_t inner, const float* a, std::int64_t a_outer,
                       const float* b, float* c) {
  constexpr int kRows = NB_TILE_ROWS;
  std::int64_t i = 0;
  for (; rows - i == kRows || rows - i >= kRows + 4; i += kRows)
    panel_block<kRows, 2, RowStep, InnerStep, Accumulate>(outer, inner, a + i * RowStep, a_outer, b, c + i * kPanel);
  for (; i + 4 <= rows; i += 4)
    panel_block<4, 2, RowStep, InnerStep, Accumulate>(outer, inner, a + i * RowStep, a_outer, b, c + i * kPanel);
}

/// tile [kPanel, kPanel] (+)= left^T right for two panels of `inner` rows; of a tile that is symmetric without the
/// upper right quarter.
template <bool Accumulate>
inline void multiply_part(const float* left, const float* right, std::int64_t inner, bool is_symmetric, float* tile) {
  constexpr std::int64_t kHalf = NB_LANES;
  std::int64_t row = 0;
  if (is_symmetric) {
    panel_block<kHalf, 1, 1, kPanel, Accumulate>(1, inner, left, 0, right, tile);
    row = kHalf;
  }
  panel_rows<1, kPanel, Accumulate>(kPanel - row, 1, inner, left + row, 0, right, tile + row * kPanel);
}

/// tile [kPanel, kPanel] = left^T right for two panels of `inner` rows.
void multiply_panels(const float* left, const float* right, std::int64_t inner, bool is_symmetric, float* tile) {
  for (std::int64_t k = 0; k < inner; k += kInner) {
    const std::int64_t part = smaller(kInner, inner - k);
    if (k == 0) {
      multiply_part<false>(left, right, part, is_symmetric, tile);
    } else {
      multiply_part<true>(left + k * kPanel, right + k * kPanel, part, is_symmetric, tile);
    }
  }
  if (is_symmetric) transpose_block(tile + NB_LANES * kPanel, kPanel, tile + NB_LANES, kPanel);
}

/// Tile i of a lower triangle, column by column.
struct LowerTile {
  std::int64_t row, column;
  std::int64_t offset, mirrored;  ///< in a matrix of panels

  LowerTile(const Sizes& sizes, std::int64_t i) : row(i), column(0) {
    for (std::int64_t length = sizes.panels; row >= length; --length, ++column) row -= length;
    row += column;
    offset = (column * sizes.panels + row) * kTile;
    mirrored = (row * sizes.panels + column) * kTile;
  }

  bool is_diagonal() const { return row == column; }
};

void mirror(const LowerTile& tile, float* matrix) {
  if (tile.is_diagonal()) return;
  const float* const from = matrix + tile.offset;
  float* const to = matrix + tile.mirrored;
  for (std::int64_t r = 0; r < kPanel; r += NB_LANES)
    for (std::int64_t c = 0; c < kPanel; c += NB_LANES)
      transpose_block(from + r * kPanel + c, kPanel, to + c * kPanel + r, kPanel);
}

void gram_tile(const MatrixWork& work, std::int64_t i) {
  const LowerTile tile(work.sizes, i);
  const std::int64_t size = work.sizes.panel_size();
  multiply_panels(work.x + tile.row * size, work.x + tile.column * size, work.sizes.rows, tile.is_diagonal(),
                  work.gram + tile.offset);
  mirror(tile, work.gram);
}

/// A tile of the product of two symmetric [m, m] that commute, so that it is symmetric; not mirrored.
void symmetric_tile(const Sizes& sizes, const LowerTile& tile, const float* left, const float* right, float* product) {
  const std::int64_t side = sizes.panels * kPanel, size = side * kPanel;
  multiply_panels(left + tile.row * size, right + tile.column * size, side, tile.is_diagonal(), product + tile.offset);
}

/// P = a I + b A + c A A.
void polynomial_tile(const MatrixWork& work, const Factors& f, std::int64_t i) {
  const LowerTile tile(work.sizes, i);
  symmetric_tile(work.sizes, tile, work.gram, work.gram, work.other);
  const float* const gram = work.gram + tile.offset;
  float* const p = work.other + tile.offset;
  for (std::int64_t j = 0; j < kTile; j += NB_LANES) store(p + j, f.b * load(gram + j) + f.c * load(p + j));
  if (tile.is_diagonal())
    for (std::int64_t j = 0; j < kPanel; ++j) p[j * kPanel + j] += f.a;
  mirror(tile, work.other);
}

/// One piece of Q S for Q = x and a matrix S [m, m] in panels.
void multiply_piece(const Sizes& sizes, const Piece& piece, const float* x, const float* s, float* out) {
  const std::int64_t side = sizes.panels * kPanel, rows = piece.end - piece.begin;
  const float* const b = s + piece.column * side;
  constexpr std::int64_t kAtOnce = kInner / kPanel;
  for (std::int64_t p = 0; p < sizes.panels; p += kAtOnce) {
    const std::int64_t count = smaller(kAtOnce, sizes.panels - p);
    const float* const a = x + p * sizes.panel_size() + piece.begin * kPanel;
    if (p == 0) {
      panel_rows<kPanel, 1, false>(rows, count, kPanel, a, sizes.panel_size(), b, out + piece.offset);
    } else {
      panel_rows<kPanel, 1, true>(rows, count, kPanel, a, sizes.panel_size(), b + p * kTile, out + piece.offset);
    }
  }
}

void advance_piece(const MatrixWork& work, std::int64_t i) {
  multiply_piece(work.sizes, Piece(work.sizes, i), work.x, work.other, work.next);
}

void advance_joined_piece(const MatrixWork& work, std::int64_t i) {
  multiply_piece(work.sizes, Piece(work.sizes, i), work.x, work.joined, work.next);
}

void first_term_piece(const MatrixWork& work, std::int64_t i) {
  multiply_piece(work.sizes, Piece(work.sizes, i), work.x, work.gram, work.other);
}

void terms_piece(const MatrixWork& work, const Factors& f, std::int64_t i) {
  const Piece piece(work.sizes, i);
  multiply_piece(work.sizes, piece, work.other, work.gram, work.next);
  const float* const x = work.x + piece.offset;
  const float* const first = work.other + piece.offset;
  float* const out = work.next + piece.offset;
  for (std::int64_t j = 0; j < (piece.end - piece.begin) * kPanel; j += NB_LANES)
    store(out + j, f.a * load(x + j) + f.b * load(first + j) + f.c * load(out + j));
}

inline void write_values(const NewtonSchulzMatrix& matrix, Vec x, std::int64_t at, std::int64_t count) {
  const Vec update = matrix.scale * x;
  if (matrix.parameter == nullptr) {
    store_part(matrix.update + at, update, count);
  } else {
    store_part(matrix.parameter + at, load_part(matrix.parameter + at, count) - matrix.rate * update, count);
  }
}

void write_tall(const MatrixWork& work, const Piece& piece) {
  const float* x = work.x + piece.offset;
  for (std::int64_t k = piece.begin; k < smaller(piece.end, work.sizes.n); ++k, x += kPanel)
    for (std::int64_t c = 0; c < piece.width; c += NB_LANES)
      write_values(*work.matrix, load(x + c), k * work.sizes.m + piece.column + c, piece.width - c);
}

void write_wide(const MatrixWork& work, const Piece& piece) {
  TurnedPiece turned;
  const std::int64_t rows = piece.end - piece.begin, whole = rows / NB_LANES * NB_LANES;
  const float* const x = work.x + piece.offset;
  for (std::int64_t k = 0; k < whole; k += NB_LANES)
    for (std::int64_t c = 0; c < kPanel; c += NB_LANES)
      transpose_block(x + k * kPanel + c, kPanel, turned.at(c, k), kChunk);
  for (std::int64_t k = whole; k < rows; ++k)
    for (std::int64_t c = 0; c < kPanel; ++c) *turned.at(c, k) = x[k * kPanel + c];
  const std::int64_t count = smaller(piece.end, work.sizes.n) - piece.begin;
  for (std::int64_t c = 0; c < piece.width; ++c)
    for (std::int64_t k = 0; k < count; k += NB_LANES)
      write_values(*work.matrix, load(turned.at(c, k)), (piece.column + c) * work.sizes.n + piece.begin + k, count - k);
}

void write_piece(const MatrixWork& work, std::int64_t i) {
  const Piece piece(work.sizes, i);
  if (work.is_tall()) {
    write_tall(work, piece);
  } else {
    write_wide(work, piece);
  }
}

void swap(float*& a, float*& b) {
  float* const before = a;
  a = b;
  b = before;
}

/// Matrices of one size that go through the same phases. ForEach: for_each(items, body) calls body(work, i) for every
/// item i of each matrix.
template <class ForEach>
struct Iterations {
  MatrixWork* works;
  std::int64_t count;
  ForEach& for_each;

  const Sizes& sizes() const { return works->sizes; }

  void swap_in_all(float* MatrixWork::*a, float* MatrixWork::*b) const {
    for (std::int64_t i = 0; i < count; ++i) swap(works[i].*a, works[i].*b);
  }

  /// product = left right for symmetric matrices that commute.
  void multiply(float* MatrixWork::*left, float* MatrixWork::*right, float* MatrixWork::*product) const {
    for_each(sizes().tiles(), [&](const MatrixWork& work, std::int64_t i) {
      const LowerTile tile(work.sizes, i);
      symmetric_tile(work.sizes, tile, work.*left, work.*right, work.*product);
      mirror(tile, work.*product);
    });
  }

  void find_polynomial(const Factors& f) const {
    for_each(sizes().tiles(), [&](const MatrixWork& work, std::int64_t i) { polynomial_tile(work, f, i); });
  }

  void step(const Factors& f) const {
    for_each(sizes().tiles(), gram_tile);
    find_polynomial(f);
    for_each(sizes().pieces(), advance_piece);
    swap_in_all(&MatrixWork::x, &MatrixWork::next);
  }

  void step_by_terms(const Factors& f) const {
    for_each(sizes().tiles(), gram_tile);
    for_each(sizes().pieces(), first_term_piece);
    for_each(sizes().pieces(), [&](const MatrixWork& work, std::int64_t i) { terms_piece(work, f, i); });
    swap_in_all(&MatrixWork::x, &MatrixWork::next);
  }

  /// At least 2 `steps` at once, after `done`: M = P_steps ... P_2 P_1, each P from the A after the previous step;
  /// X <- M X.
  void joined_steps(const NewtonSchulzSettings& settings, std::int64_t done, std::int64_t steps) const {
    for_each(sizes().tiles(), gram_tile);
    for (std::int64_t step = 1; step <= steps; ++step) {
      find_polynomial(factors_of(settings, done + step - 1));
      if (step < steps) {
        multiply(&MatrixWork::other, &MatrixWork::gram, &MatrixWork::spare);
        multiply(&MatrixWork::spare, &MatrixWork::other, &MatrixWork::gram);
      }
      if (step == 1) {
        swap_in_all(&MatrixWork::joined, &MatrixWork::other);
      } else {
        multiply(&MatrixWork::other, &MatrixWork::joined, &MatrixWork::spare);
        swap_in_all(&MatrixWork::joined, &MatrixWork::spare);
      }
    }
    for_each(sizes().pieces(), advance_joined_piece);
    swap_in_all(&MatrixWork::x, &MatrixWork::next);
  }

  void run(const NewtonSchulzSettings& settings) const {
    for_each(sizes().pieces(), [&](const MatrixWork& work, std::int64_t i) { read_piece(work, settings, i); });
    for_each(sizes().pieces(), [&](const MatrixWork& work, std::int64_t i) { normalize_piece(work, settings, i); });
    for (std::int64_t done = 0; done < settings.steps;) {
      const std::int64_t joined = joined_newton_schulz_steps(settings, sizes().m, sizes().n, done);
      if (settings.by_terms) {
        step_by_terms(factors_of(settings, done));
      } else if (joined == 1) {
        step(factors_of(settings, done));
      } else {
        joined_steps(settings, done, joined);
      }
      done += joined;
    }
    for_each(sizes().pieces(), write_piece);
  }
};

/// One matrix in the calling thread.
void update_alone(const NewtonSchulzMatrix& matrix, const NewtonSchulzSettings& settings) {
  const std::int64_t size = sizes_of(matrix).workspace(settings.by_terms);
  MatrixWork work = work_of(matrix, scratch(ScratchUse::kNewtonSchulz, size), settings.by_terms);
  auto for_each = [&](std::int64_t items, auto&& body) {
    for (std::int64_t i = 0; i < items; ++i) body(work, i);
  };
  Iterations<decltype(for_each)>{&work, 1, for_each}.run(settings);
}

constexpr std::int64_t kMaxTogether = 64;

/// `count` matrices of one size, at most kMaxTogether; all threads share each phase.
void update_together(const NewtonSchulzMatrix* matrices, std::int64_t count, const NewtonSchulzSettings& settings,
                     ThreadPool& threads) {
  const std::int64_t size = sizes_of(*matrices).workspace(settings.by_terms);
  float* const workspace = scratch(ScratchUse::kNewtonSchulz, count * size);
  MatrixWork works[kMaxTogether];
  for (std::int64_t i = 0; i < count; ++i) works[i] = work_of(matrices[i], workspace + i * size, settings.by_terms);
  auto for_each = [&](std::int64_t items, auto&& body) {
    threads.parallel_for(count * items, [&](std::int64_t i) { body(works[i / items], i % items); });
  };
  Iterations<decltype(for_each)>{works, count, for_each}.run(settings);
}

bool have_same_size(const NewtonSchulzMatrix& a, const NewtonSchulzMatrix& b) {
  const Sizes left = sizes_of(a), right = sizes_of(b);
  return left.m == right.m && left.n == right.n;
}

/// Whether no matrix is too large for one thread, and the largest is a small part of a thread's work.
bool are_enough(const NewtonSchulzMatrix* matrices, std::int64_t count, bool by_terms, int threads) {
  double total = 0.0, largest = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Sizes sizes = sizes_of(matrices[i]);
    if (sizes.workspace(by_terms) > kOwnSize) return false;
    const auto m = static_cast<double>(sizes.m), n = static_cast<double>(sizes.n);
    const double work = m * m * (3.0 * n + m);
    total += work;
    largest = largest > work ? largest : work;
  }
  return 4.0 * largest * threads <= total;
}

}  // namespace

void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads) {
  const NewtonSchulzMatrix* const all = matrices.data();
  const auto end = static_cast<std::int64_t>(matrices.size());
  for (std::int64_t begin = 0; begin < end;) {
    if (are_enough(all + begin, end - begin, settings.by_terms, threads.size())) {
      threads.parallel_for(end - begin, [&](std::int64_t i) { update_alone(all[begin + i], settings); });
      return;
    }
    const std::int64_t wanted = divide_up(4 * threads.size(), sizes_of(all[begin]).tiles());
    std::int64_t count = 1;
    while (count < smaller(wanted, kMaxTogether) && begin + count < end &&
           have_same_size(all[begin], all[begin + count]))
      ++count;
    update_together(all + begin, count, settings, threads);
    begin += count;
  }
}

}  // namespace nanobench::core::NB_PATH
