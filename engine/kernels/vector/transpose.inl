// Transposes in vector registers for one instruction set; include after simd.inl.

/// Lanes First, First + 1, ... of `a` and of `b`, alternating.
template <int First, int... Lane>
inline Vec interleaved(Vec a, Vec b, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(a, b, (First + Lane / 2 + Lane % 2 * NB_LANES)...);
}

/// One round of a perfect shuffle: rows 2 i and 2 i + 1 of the result hold rows i and i + NB_LANES / 2, with lanes
/// alternating. After log2(NB_LANES) rounds the rows are columns.
inline void shuffle_round(const Vec* from, Vec* to) {
  constexpr std::make_integer_sequence<int, NB_LANES> kLanes;
  for (int i = 0; i < NB_LANES / 2; ++i) {
    to[2 * i] = interleaved<0>(from[i], from[i + NB_LANES / 2], kLanes);
    to[2 * i + 1] = interleaved<NB_LANES / 2>(from[i], from[i + NB_LANES / 2], kLanes);
  }
}

/// to [NB_LANES, NB_LANES] = from^T, rows `*_row` floats apart; they do not overlap.
inline void transpose_block(const float* from, std::int64_t from_row, float* to, std::int64_t to_row) {
  Vec a[NB_LANES], b[NB_LANES];
  for (int i = 0; i < NB_LANES; ++i) a[i] = load(from + i * from_row);
  for (int n = NB_LANES; n > 1; n /= 4) {
    shuffle_round(a, b);
    if (n == 2) {
      for (int i = 0; i < NB_LANES; ++i) a[i] = b[i];
    } else {
      shuffle_round(b, a);
    }
  }
  for (int i = 0; i < NB_LANES; ++i) store(to + i * to_row, a[i]);
}
