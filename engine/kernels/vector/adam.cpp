// adam_update for one instruction set.
#include "engine/kernels/adam.h"

#include <cstdint>

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"

namespace {

constexpr std::int64_t kItem = 1 << 14;  // numbers: 256 KiB of the four arrays

/// Factors of a step.
struct StepFactors {
  float keep;           ///< of p after weight decay
  float first, second;  ///< weights of the new g and g^2
  float keep_first, keep_second;
  float rate, root;  ///< with the corrections of the bias
  float eps;
  bool lerps_from_gradient;  ///< the nearer end, as LibTorch does
};

StepFactors factors_of(const AdamSettings& s) {
  const double correction1 = 1.0 - __builtin_pow(s.beta1, static_cast<double>(s.step));
  const double correction2 = 1.0 - __builtin_pow(s.beta2, static_cast<double>(s.step));
  return {.keep = static_cast<float>(1.0 - s.rate * s.weight_decay),
          .first = static_cast<float>(1.0 - s.beta1),
          .second = static_cast<float>(1.0 - s.beta2),
          .keep_first = static_cast<float>(s.beta1),
          .keep_second = static_cast<float>(s.beta2),
          .rate = static_cast<float>(s.rate / correction1),
          .root = static_cast<float>(__builtin_sqrt(correction2)),
          .eps = static_cast<float>(s.is_eps_uncorrected ? s.eps / __builtin_sqrt(correction2) : s.eps),
          .lerps_from_gradient = 1.0 - s.beta1 >= 0.5};
}

/// The nearest bfloat16 value, as in engine/ops/bfloat16.h: a NaN keeps its upper half and gets its quiet bit.
inline Vec rounded(Vec v) {
  const IntVec bits = reinterpret_cast<const IntVec&>(v);
  const IntVec upper = bits & static_cast<std::int32_t>(0xffff0000U);
  const IntVec remainder = bits & 0xffff;
  // Above the midpoint of two neighbours, or at it with an odd lower one: the next value up, by its bits.
  const IntVec is_up = (remainder > 0x8000) | ((remainder == 0x8000) & ((bits & 0x10000) != 0));
  const IntVec is_nan = v != v;
  const IntVec nearest = upper + (is_up & ~is_nan & 0x10000);  // a NaN's bits would overflow
  const IntVec result = is_nan ? (upper | 0x00400000) : nearest;
  return reinterpret_cast<const Vec&>(result);
}

inline Vec square_root(Vec v) {
  Vec root;
  for (int i = 0; i < NB_LANES; ++i) root[i] = __builtin_sqrtf(v[i]);
  return root;
}

struct StepNumbers {
  Vec p, m, v;
};

enum class StoredRounding { kNone, kMoments, kAll };

template <StoredRounding R>
inline StepNumbers step_numbers(const StepFactors& f, StepNumbers x, Vec g) {
  if (R == StoredRounding::kAll) g = rounded(g);
  x.m = f.lerps_from_gradient ? g - (g - x.m) * f.keep_first : x.m + f.first * (g - x.m);
  x.v = x.v * f.keep_second + f.second * g * g;
  x.p = x.p * f.keep - f.rate * x.m / (square_root(x.v) / f.root + f.eps);
  if (R != StoredRounding::kNone) x = {.p = x.p, .m = rounded(x.m), .v = rounded(x.v)};
  if (R == StoredRounding::kAll) x.p = rounded(x.p);
  return x;
}

/// Updates up to NB_LANES numbers.
template <StoredRounding R>
inline void step_tail(const StepFactors& f, const AdamParameter& a, std::int64_t begin, std::int64_t count) {
  float p[NB_LANES] = {}, g[NB_LANES] = {}, m[NB_LANES] = {}, v[NB_LANES] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    p[i] = a.parameter[begin + i];
    m[i] = a.first_moment[begin + i];
    v[i] = a.second_moment[begin + i];
    g[i] = a.gradient != nullptr ? a.gradient[begin + i] : 0.0f;
  }
  const StepNumbers after = step_numbers<R>(f, {.p = load(p), .m = load(m), .v = load(v)}, load(g));
  for (std::int64_t i = 0; i < count; ++i) {
    a.parameter[begin + i] = after.p[i];
    a.first_moment[begin + i] = after.m[i];
    a.second_moment[begin + i] = after.v[i];
  }
}

template <StoredRounding R>
void step_range(const StepFactors& f, const AdamParameter& a, std::int64_t begin, std::int64_t end) {
  std::int64_t i = begin;
  for (; i + NB_LANES <= end; i += NB_LANES) {
    const Vec g = a.gradient != nullptr ? load(a.gradient + i) : Vec{};
    const StepNumbers before = {
        .p = load(a.parameter + i), .m = load(a.first_moment + i), .v = load(a.second_moment + i)};
    const StepNumbers after = step_numbers<R>(f, before, g);
    store(a.parameter + i, after.p);
    store(a.first_moment + i, after.m);
    store(a.second_moment + i, after.v);
  }
  if (i < end) step_tail<R>(f, a, i, end - i);
}

}  // namespace

void adam_update(std::span<const AdamParameter> parameters, const AdamSettings& settings, ThreadPool& threads) {
  const StepFactors factors = factors_of(settings);
  const AdamParameter* const all = parameters.data();
  const auto count = static_cast<std::int64_t>(parameters.size());
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += all[i].count;
  threads.parallel_for((total + kItem - 1) / kItem, [&](std::int64_t item) {
    const std::int64_t begin = item * kItem, end = smaller(total, begin + kItem);
    for (std::int64_t i = 0, first = 0; i < count && first < end; first += all[i++].count) {
      const std::int64_t from = larger(begin - first, 0), to = smaller(end - first, all[i].count);
      if (from >= to) continue;
      if (settings.rounds_to_bfloat16) {
        step_range<StoredRounding::kAll>(factors, all[i], from, to);
      } else if (settings.rounds_moments) {
        step_range<StoredRounding::kMoments>(factors, all[i], from, to);
      } else {
        step_range<StoredRounding::kNone>(factors, all[i], from, to);
      }
    }
  });
}

}  // namespace nanobench::core::NB_PATH
