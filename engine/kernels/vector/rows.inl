// Rows of activations: norms, blends, and the division of T rows into parts; include after gemm.inl.

/// Rows that a thread takes through a kernel at a time: few, so that they and one panel of weights share the
/// first-level cache, but more if the weights are large and come from farther away. Sums over rows are taken part by
/// part, so this number affects the results; it depends only on the shape.
inline std::int64_t rows_of_part(std::int64_t width) {
  constexpr std::int64_t kFew = 24, kMany = 96, kLargeWidth = 512;
  static_assert(kFew % NB_TILE_ROWS == 0 && kMany % NB_TILE_ROWS == 0);
  return width < kLargeWidth ? kFew : kMany;
}

inline std::int64_t part_count(std::int64_t rows, std::int64_t width) {
  return (rows + rows_of_part(width) - 1) / rows_of_part(width);
}

/// Calls body(begin, count, part) for parts of the rows.
template <class Body>
inline void for_row_parts(std::int64_t rows, std::int64_t width, ThreadPool& threads, Body&& body) {
  const std::int64_t at_once = rows_of_part(width);
  threads.parallel_for(part_count(rows, width), [&](std::int64_t part) {
    const std::int64_t begin = part * at_once;
    body(begin, smaller(at_once, rows - begin), part);
  });
}

/// Row stride of working memory, in floats: rows a large power of two apart would share cache sets.
inline std::int64_t padded_stride(std::int64_t width) {
  return width % 256 == 0 ? width + 16 : width;
}

inline float inner_product(const float* a, const float* b, std::int64_t width) {
  Vec sum{};
  for (std::int64_t j = 0; j < width; j += NB_LANES) sum += load(a + j) * load(b + j);
  return horizontal_sum(sum);
}

/// 1 / sqrt(mean(x^2) + eps).
inline float inverse_rms(const float* x, std::int64_t width, float eps) {
  return 1.0f / __builtin_sqrtf(inner_product(x, x, width) / static_cast<float>(width) + eps);
}

inline void scale_row(const float* x, float factor, std::int64_t width, float* y) {
  for (std::int64_t j = 0; j < width; j += NB_LANES) store(y + j, load(x + j) * factor);
}

/// dx = base + inverse (dy - n mean(dy n)) for n = inverse x; `base` may be dx itself, or null for zero.
inline void rms_norm_row_backward(const float* x, float inverse, const float* dy, const float* base, std::int64_t width,
                                  float* dx) {
  const float projection = inverse * inverse * inverse * inner_product(dy, x, width) / static_cast<float>(width);
  for (std::int64_t j = 0; j < width; j += NB_LANES) {
    const Vec d = load(dy + j) * inverse - load(x + j) * projection;
    store(dx + j, base == nullptr ? d : load(base + j) + d);
  }
}

inline void blend_row(const ResidualBlend& blend, std::int64_t at, std::int64_t width, float* x) {
  for (std::int64_t j = 0; j < width; j += NB_LANES) {
    Vec sum = load(blend.x + at + j);
    if (blend.skip != nullptr) sum += load(blend.skip + at + j) * blend.skip_weight;
    sum *= blend.x_weight;
    if (blend.x0 != nullptr) sum += load(blend.x0 + at + j) * blend.x0_weight;
    store(x + j, sum);
  }
}

/// Sums over rows of the products that are the gradients of a blend's weights.
struct BlendSums {
  float x_weight = 0.0f, x0_weight = 0.0f, skip_weight = 0.0f;
};

/// Backward pass of the blended row `at`, from its dx.
inline void blend_row_backward(const ResidualBlend& blend, std::int64_t at, std::int64_t width, const float* dx,
                               const ResidualBlendGradients& out, BlendSums& sums) {
  Vec of_x{}, of_x0{}, of_skip{};
  for (std::int64_t j = 0; j < width; j += NB_LANES) {
    const Vec d = load(dx + j);
    const Vec inner = d * blend.x_weight;
    Vec x = load(blend.x + at + j);
    if (blend.skip != nullptr) {
      const Vec skip = load(blend.skip + at + j);
      of_skip += inner * skip;
      x += skip * blend.skip_weight;
      if (out.skip != nullptr) store(out.skip + at + j, inner * blend.skip_weight);
    }
    of_x += d * x;
    if (blend.x0 != nullptr) {
      of_x0 += d * load(blend.x0 + at + j);
      if (out.x0 != nullptr) store(out.x0 + at + j, d * blend.x0_weight);
    }
    if (out.x != nullptr) store(out.x + at + j, inner);
  }
  sums.x_weight += horizontal_sum(of_x);
  sums.x0_weight += horizontal_sum(of_x0);
  sums.skip_weight += horizontal_sum(of_skip);
}

/// Adds up the sums sums_of(part), part by part.
template <class SumsOf>
inline void add_blend_sums(std::int64_t parts, SumsOf&& sums_of, const ResidualBlendGradients& out) {
  double x = 0.0, x0 = 0.0, skip = 0.0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const BlendSums sums = sums_of(i);
    x += sums.x_weight, x0 += sums.x0_weight, skip += sums.skip_weight;
  }
  if (out.x_weight != nullptr) *out.x_weight = x;
  if (out.x0_weight != nullptr) *out.x0_weight = x0;
  if (out.skip_weight != nullptr) *out.skip_weight = skip;
}
