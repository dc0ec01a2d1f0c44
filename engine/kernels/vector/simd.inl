// Vectors and the inner block of matrix products for one instruction set. Files of this folder include it inside the
// namespace of their path. NB_LANES is the number of floats in a vector, NB_TILE_ROWS the number of rows in the inner
// block.

// No `using`: clang would ignore the alignment.
typedef float Vec __attribute__((vector_size(NB_LANES * 4), aligned(4), may_alias));
typedef std::int32_t IntVec __attribute__((vector_size(NB_LANES * 4), aligned(4), may_alias));

// Our own versions of the smallest templates of <algorithm>: an out-of-line copy of a standard one would contain this
// file's instructions, and the linker might use it for the whole program.
inline std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
inline std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
inline void set_all(float* p, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = value;
}

inline Vec load(const float* p) {
  return *reinterpret_cast<const Vec*>(p);
}
inline void store(float* p, Vec v) {
  *reinterpret_cast<Vec*>(p) = v;
}
inline Vec broadcast(float x) {
  return x - Vec{};  // x + 0 differs from x for x = -0, so GCC would emit the addition
}
inline Vec maximum(Vec a, Vec b) {
  return a > b ? a : b;
}

/// v with lanes exchanged at the given distance, for sums and maxima over lanes by halving.
template <int Distance>
inline Vec exchanged(Vec v) {
#if NB_LANES == 16
  if constexpr (Distance == 8)
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  if constexpr (Distance == 4)
    return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  if constexpr (Distance == 2)
    return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  if constexpr (Distance == 1)
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif NB_LANES == 8
  if constexpr (Distance == 4) return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
  if constexpr (Distance == 2) return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
  if constexpr (Distance == 1) return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
#else
  static_assert(NB_LANES == 4);
  if constexpr (Distance == 2) return __builtin_shufflevector(v, v, 2, 3, 0, 1);
  if constexpr (Distance == 1) return __builtin_shufflevector(v, v, 1, 0, 3, 2);
#endif
}

inline float horizontal_sum(Vec v) {
#if NB_LANES >= 16
  v += exchanged<8>(v);
#endif
#if NB_LANES >= 8
  v += exchanged<4>(v);
#endif
  v += exchanged<2>(v);
  v += exchanged<1>(v);
  return v[0];
}
inline float horizontal_max(Vec v) {
#if NB_LANES >= 16
  v = maximum(v, exchanged<8>(v));
#endif
#if NB_LANES >= 8
  v = maximum(v, exchanged<4>(v));
#endif
  v = maximum(v, exchanged<2>(v));
  v = maximum(v, exchanged<1>(v));
  return v[0];
}

/// 2^x for x <= 0 within 2 units of the last place; 0 below -126. The polynomial is optimal for its degree on [-1/2,
/// 1/2].
inline Vec exponential2(Vec x) {
  const Vec too_small = broadcast(-126.0f);
  const IntVec is_small = x < too_small;
  const Vec kept = is_small ? too_small : x;
  const Vec magic = broadcast(12582912.0f);  // pushes the fraction out: n is the nearest whole number
  const Vec n = (kept + magic) - magic;
  const Vec f = kept - n;
  Vec p = broadcast(0.00015353361959569156f);
  p = p * f + 0.0013398873852565885f;
  p = p * f + 0.00961843691766262f;
  p = p * f + 0.055503323674201965f;
  p = p * f + 0.24022647738456726f;
  p = p * f + 0.6931471824645996f;
  p = p * f + 1.0f;
  const IntVec power = (__builtin_convertvector(n, IntVec) + 127) << 23;
  return is_small ? Vec{} : p * reinterpret_cast<const Vec&>(power);
}

/// e^x - 1 = power * rest + (power - 1), with power a power of two: neither term loses digits near x = 0.
struct ExponentialParts {
  Vec power, rest;
};

/// For x in [-87, 87].
inline ExponentialParts exponential_parts(Vec x) {
  // n = round(x / ln 2), using the magic number that pushes the fraction out.
  const Vec magic = broadcast(12582912.0f);
  const Vec n = (x * 1.44269504088896341f + magic) - magic;
  const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec p = broadcast(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const IntVec power = (__builtin_convertvector(n, IntVec) + 127) << 23;
  return {reinterpret_cast<const Vec&>(power), p * r * r + r};
}

/// e^x for x <= 0 within 2 units of the last place; 0 below -87.
inline Vec exponential(Vec x) {
  const Vec too_small = broadcast(-87.0f);
  const IntVec is_small = x < too_small;
  const ExponentialParts parts = exponential_parts(is_small ? too_small : x);
  return is_small ? Vec{} : parts.power * (parts.rest + 1.0f);
}

/// tanh(x) within 3 units of the last place; +-1 beyond +-20. NaN stays.
inline Vec hyperbolic_tangent(Vec x) {
  const Vec bound = broadcast(20.0f);
  const Vec kept = x > bound ? bound : x < -bound ? -bound : x;
  const ExponentialParts parts = exponential_parts(kept * 2.0f);
  const Vec grown = parts.power * parts.rest + (parts.power - 1.0f);  // e^2x - 1
  return grown / (grown + 2.0f);
}

/// 1 / (1 + e^-x) within 3 units of the last place; NaN stays.
inline Vec sigmoid(Vec x) {
  const IntVec is_negative = x < Vec{};
  const Vec small = is_negative ? x : -x;  // e^small cannot overflow
  const Vec e = x == x ? exponential(small) : x;
  return (is_negative ? e : broadcast(1.0f)) / (1.0f + e);
}

/// C[Rows x (Columns vectors)] (+)= A B. A is read as scalars with any strides, rows of B and C are contiguous.
template <int Rows, int Columns, bool Accumulate>
inline void product_block(std::int64_t inner, const float* a, std::int64_t a_row, std::int64_t a_inner, const float* b,
                          std::int64_t b_row, float* c, std::int64_t c_row) {
  Vec sums[Rows][Columns];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) {
      sums[i][j] = Vec{};
      __builtin_prefetch(c + i * c_row + j * NB_LANES, 1);  // arrives before the sums are done
    }
  }
  constexpr int kGroups = (Rows + 2) / 3;  // rows in threes: x86 addresses reach two rows beyond a pointer
  const float* group[kGroups];
  for (int g = 0; g < kGroups; ++g) group[g] = a + 3 * g * a_row;
  for (std::int64_t k = 0; k < inner; ++k) {
    Vec row[Columns];
    for (int j = 0; j < Columns; ++j) row[j] = load(b + j * NB_LANES);
    b += b_row;
    for (int i = 0; i < Rows; ++i) {
      const Vec factor = broadcast(group[i / 3][i % 3 * a_row]);
      for (int j = 0; j < Columns; ++j) sums[i][j] += factor * row[j];
    }
    for (int g = 0; g < kGroups; ++g) group[g] += a_inner;
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) {
      float* const out = c + i * c_row + j * NB_LANES;
      store(out, Accumulate ? load(out) + sums[i][j] : sums[i][j]);
    }
  }
}

template <int Columns, bool Accumulate>
inline void product_columns(std::int64_t rows, std::int64_t inner, const float* a, std::int64_t a_row,
                            std::int64_t a_inner, const float* b, std::int64_t b_row, float* c, std::int64_t c_row) {
  constexpr int kRows = NB_TILE_ROWS;
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows)
    product_block<kRows, Columns, Accumulate>(inner, a + i * a_row, a_row, a_inner, b, b_row, c + i * c_row, c_row);
  for (; i + 4 <= rows; i += 4)
    product_block<4, Columns, Accumulate>(inner, a + i * a_row, a_row, a_inner, b, b_row, c + i * c_row, c_row);
  for (; i < rows; ++i)
    product_block<1, Columns, Accumulate>(inner, a + i * a_row, a_row, a_inner, b, b_row, c + i * c_row, c_row);
}

/// C [rows, columns] (+)= A [rows, inner] B [inner, columns]; columns is a multiple of NB_LANES. A is read as scalars
/// a[i * a_row + k * a_inner], so it may be a transpose.
template <bool Accumulate>
inline void product(std::int64_t rows, std::int64_t columns, std::int64_t inner, const float* a, std::int64_t a_row,
                    std::int64_t a_inner, const float* b, std::int64_t b_row, float* c, std::int64_t c_row) {
  std::int64_t j = 0;
  for (; j + 2 * NB_LANES <= columns; j += 2 * NB_LANES)
    product_columns<2, Accumulate>(rows, inner, a, a_row, a_inner, b + j, b_row, c + j, c_row);
  for (; j < columns; j += NB_LANES)
    product_columns<1, Accumulate>(rows, inner, a, a_row, a_inner, b + j, b_row, c + j, c_row);
}
