#include "engine/cuda/qkv_heads.h"

#include <array>

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

constexpr double kEps = 1.0 / 128;

struct Case {
  std::size_t length, heads, kv_heads, dim;
  HeadNorm norm = HeadNorm::kBeforeRotation;
  HeadValueBlend blend = HeadValueBlend::kPair;
  bool is_rotary = true;
  bool rounds_rotation = false;
  bool is_joined = true;  ///< one projection [T, 3 C]
};

/// The formulas in float64, of one head of q or k, or of all values.
struct Reference {
  Case c;
  Doubles cos, sin;
  std::array<double, 2> weights{0.625, -0.75};
  Rounding rounded = to_nearest_bf16;

  explicit Reference(const Case& from) : c(from) {
    for (std::size_t t = 0; t < c.length; ++t) {
      for (std::size_t j = 0; j < c.dim / 2; ++j) {
        // Half of the pairs stand still, as with half_truncate.
        const double angle = j < c.dim / 4 ? 3.0 * static_cast<double>(t) / static_cast<double>(j + 1) : 0.0;
        cos.push_back(static_cast<double>(static_cast<float>(std::cos(angle))));
        sin.push_back(static_cast<double>(static_cast<float>(std::sin(angle))));
      }
    }
  }

  double inverse(const Doubles& x) const {
    double squares = 0.0;
    for (const double number : x) squares += number * number;
    return 1.0 / std::sqrt(squares / static_cast<double>(c.dim) + kEps);
  }
  Doubles normed(const Doubles& x) const {
    Doubles y(x);
    for (double& number : y) number = rounded(number * inverse(x));
    return y;
  }
  Doubles norm_gradient(const Doubles& x, const Doubles& dy) const {
    const double scale = inverse(x);
    double projection = 0.0;
    for (std::size_t i = 0; i < c.dim; ++i) projection += dy[i] * x[i];
    Doubles dx(c.dim);
    for (std::size_t i = 0; i < c.dim; ++i)
      dx[i] = rounded(dy[i] * scale - x[i] * scale * scale * scale * projection / static_cast<double>(c.dim));
    return dx;
  }
  Doubles turned(const Doubles& x, std::size_t t, double sign) const {
    if (!c.is_rotary) return x;
    const Rounding each = c.rounds_rotation ? rounded : unrounded;
    const std::size_t half = c.dim / 2;
    Doubles y(c.dim);
    for (std::size_t j = 0; j < half; ++j) {
      const double co = cos[t * half + j], si = sin[t * half + j];
      y[j] = rounded(each(x[j] * co) + sign * each(x[j + half] * si));
      y[j + half] = rounded(each(x[j + half] * co) - sign * each(x[j] * si));
    }
    return y;
  }
  Doubles placed(const Doubles& x, std::size_t t) const {
    if (c.norm == HeadNorm::kBeforeRotation) return turned(normed(x), t, 1.0);
    const Doubles y = turned(x, t, 1.0);
    return c.norm == HeadNorm::kAfterRotation ? normed(y) : y;
  }
  Doubles unplaced(const Doubles& x, const Doubles& dy, std::size_t t) const {
    if (c.norm == HeadNorm::kAfterRotation) return turned(norm_gradient(turned(x, t, 1.0), dy), t, -1.0);
    const Doubles d = turned(dy, t, -1.0);
    return c.norm == HeadNorm::kBeforeRotation ? norm_gradient(x, d) : d;
  }

  double value_weight() const {
    if (c.blend == HeadValueBlend::kNone) return 1.0;
    return c.blend == HeadValueBlend::kLerp ? 1.0 - weights[0] : weights[0];
  }
  double embedding_weight() const {
    if (c.blend == HeadValueBlend::kPair) return weights[1];
    return c.blend == HeadValueBlend::kLerp ? weights[0] : 0.0;
  }
  double blended(double v, double e) const { return rounded(value_weight() * v + embedding_weight() * e); }
};

/// Rows of the three projections, contiguous; or one after the other in rows of all.
struct Projections {
  std::size_t rows, q_width, kv_width;
  bool is_joined;
  DeviceArray<bf16> q, k, v;

  Projections(const Case& c, const Doubles& values_q, const Doubles& values_k, const Doubles& values_v)
      : rows(c.length),
        q_width(c.heads * c.dim),
        kv_width(c.kv_heads * c.dim),
        is_joined(c.is_joined),
        q(is_joined ? c.length * (q_width + 2 * kv_width) : c.length * q_width),
        k(is_joined ? 0 : c.length * kv_width),
        v(is_joined ? 0 : c.length * kv_width) {
    if (values_q.empty()) return;
    fill(0, values_q);
    fill(1, values_k);
    fill(2, values_v);
  }
  std::size_t stride(int part) const { return is_joined ? q_width + 2 * kv_width : part == 0 ? q_width : kv_width; }
  std::size_t width(int part) const { return part == 0 ? q_width : kv_width; }
  /// Where the rows of a part begin in its memory.
  std::size_t begin(int part) const { return !is_joined || part == 0 ? 0 : part == 1 ? q_width : q_width + kv_width; }
  DeviceArray<bf16>& memory(int part) { return is_joined || part == 0 ? q : part == 1 ? k : v; }
  void fill(int part, const Doubles& values) {
    std::vector<bf16> numbers = memory(part).numbers();
    for (std::size_t i = 0; i < values.size(); ++i)
      set_value(numbers[begin(part) + i / width(part) * stride(part) + i % width(part)], values[i]);
    memory(part).write(numbers);
  }
  template <class Number>
  HeadRows<Number> rows_of(int part) {
    return {memory(part).data() + begin(part), static_cast<std::int64_t>(stride(part))};
  }
  QkvProjections pointers() { return {rows_of<const bf16>(0), rows_of<const bf16>(1), rows_of<const bf16>(2)}; }
  Doubles values(int part) {
    const Doubles numbers = memory(part).values();
    Doubles values;
    for (std::size_t i = 0; i < rows * width(part); ++i)
      values.push_back(numbers[begin(part) + i / width(part) * stride(part) + i % width(part)]);
    return values;
  }
  bool has_whole_guards() const { return q.has_whole_guards() && k.has_whole_guards() && v.has_whole_guards(); }
};

/// Everything a case needs on the device.
struct Problem {
  Reference reference;
  Doubles q, k, v, e;
  Projections in;
  DeviceArray<float> cos, sin, weights;
  DeviceArray<bf16> embedding;
  QkvHeadsShape shape;
  QkvHeadsOptions options;

  explicit Problem(const Case& c)
      : reference(c),
        q(random_bf16(c.length * c.heads * c.dim, 1)),
        k(random_bf16(c.length * c.kv_heads * c.dim, 2, 0.25)),
        v(random_bf16(c.length * c.kv_heads * c.dim, 3)),
        e(random_bf16(c.length * c.kv_heads * c.dim, 4)),
        in(c, q, k, v),
        cos(reference.cos),
        sin(reference.sin),
        weights(Doubles{reference.weights[0], reference.weights[1]}),
        embedding(e),
        shape{static_cast<std::int64_t>(c.length), static_cast<std::int64_t>(c.heads),
              static_cast<std::int64_t>(c.kv_heads), static_cast<std::int64_t>(c.dim)} {
    options = {.norm = c.norm,
               .eps = static_cast<float>(kEps),
               .cos = c.is_rotary ? cos.data() : nullptr,
               .sin = c.is_rotary ? sin.data() : nullptr,
               .rounds_rotation = c.rounds_rotation,
               .blend = c.blend,
               .value_weights = weights.data(),
               .value_embedding = {embedding.data(), static_cast<std::int64_t>(c.kv_heads * c.dim)}};
  }
  /// `function` of each head of `heads` heads a token, one after the other.
  template <class Function>
  Doubles of_heads(std::size_t heads, const Function& function) const {
    Doubles all;
    const std::size_t dim = reference.c.dim;
    for (std::size_t begin = 0; begin < reference.c.length * heads * dim; begin += dim) {
      const Doubles one = function(begin, begin / (heads * dim));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  Doubles head(const Doubles& all, std::size_t begin) const {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
    return {from, from + static_cast<std::ptrdiff_t>(reference.c.dim)};
  }
};

class QkvHeads : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Cases, QkvHeads,
    ::testing::Values(Case{5, 6, 6, 128}, Case{7, 3, 1, 64, HeadNorm::kAfterRotation, HeadValueBlend::kLerp},
                      Case{33, 2, 2, 16, HeadNorm::kNone, HeadValueBlend::kFirstOnly, true, true, false},
                      Case{3, 5, 2, 48, HeadNorm::kBeforeRotation, HeadValueBlend::kPair, true, true},
                      Case{4, 1, 1, 256, HeadNorm::kAfterRotation, HeadValueBlend::kNone, true, true},
                      Case{9, 2, 1, 32, HeadNorm::kNone, HeadValueBlend::kNone, false, false, false},
                      Case{3281, 1, 2, 144}));  // more heads than blocks leave sums of

TEST_P(QkvHeads, ForwardPlacesHeadsAndBlendsValues) {
  Problem s(GetParam());
  const Reference& r = s.reference;
  DeviceArray<bf16> q(s.q.size()), k(s.k.size()), v(s.v.size());
  qkv_heads_forward(s.shape, s.in.pointers(), s.options, {q.data(), k.data(), v.data()}, nullptr);
  const auto placed = [&](const Doubles& x) {
    return [&](std::size_t begin, std::size_t t) { return r.placed(s.head(x, begin), t); };
  };
  // Sums of the rotation may cancel: an earlier number rounded elsewhere shows by more than its last place.
  expect_rounded(q.values(), s.of_heads(r.c.heads, placed(s.q)), "q", 1.0 / 64, 0.02, 0.02);
  expect_rounded(k.values(), s.of_heads(r.c.kv_heads, placed(s.k)), "k", 1.0 / 64, 0.02, 0.02);
  Doubles want(s.v.size());
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = r.blended(s.v[i], s.e[i]);
  expect_rounded(v.values(), want, "v");
  EXPECT_TRUE(q.has_whole_guards() && k.has_whole_guards() && v.has_whole_guards());
}

/// Gradients that come in, and those that go out.
struct Gradients {
  Doubles dq, dk, dv;
  DeviceArray<bf16> q_heads, k_heads, v_heads;
  Projections out;
  DeviceArray<bf16> embedding;
  DeviceArray<float> weights{2}, workspace;

  explicit Gradients(const Problem& s)
      : dq(random_bf16(s.q.size(), 5)),
        dk(random_bf16(s.k.size(), 6)),
        dv(random_bf16(s.v.size(), 7)),
        q_heads(dq),
        k_heads(dk),
        v_heads(dv),
        out(s.reference.c, {}, {}, {}),
        embedding(s.v.size()),
        workspace(kQkvHeadsWorkspace) {}
  QkvHeadsGradients pointers() {
    return {.q_heads = q_heads.data(),
            .k_heads = k_heads.data(),
            .v_heads = v_heads.data(),
            .q = out.rows_of<bf16>(0),
            .k = out.rows_of<bf16>(1),
            .v = out.rows_of<bf16>(2),
            .value_embedding = embedding.data(),
            .value_weights = weights.data(),
            .workspace = workspace.data()};
  }
};

TEST_P(QkvHeads, BackwardGivesAllGradients) {
  Problem s(GetParam());
  const Reference& r = s.reference;
  Gradients g(s);
  qkv_heads_backward(s.shape, s.in.pointers(), s.options, g.pointers(), nullptr);
  const auto unplaced = [&](const Doubles& x, const Doubles& d) {
    return [&](std::size_t begin, std::size_t t) { return r.unplaced(s.head(x, begin), s.head(d, begin), t); };
  };
  expect_rounded(g.out.values(0), s.of_heads(r.c.heads, unplaced(s.q, g.dq)), "dq", 1.0 / 64, 0.03, 0.05);
  expect_rounded(g.out.values(1), s.of_heads(r.c.kv_heads, unplaced(s.k, g.dk)), "dk", 1.0 / 64, 0.03, 0.05);
  Doubles dv(s.v.size()), de(s.v.size());
  double sums[2] = {};
  const bool is_lerp = r.c.blend == HeadValueBlend::kLerp;
  for (std::size_t i = 0; i < dv.size(); ++i) {
    dv[i] = to_nearest_bf16(r.value_weight() * g.dv[i]);
    de[i] = to_nearest_bf16(r.embedding_weight() * g.dv[i]);
    sums[0] += g.dv[i] * (is_lerp ? s.e[i] - s.v[i] : s.v[i]);
    sums[1] += g.dv[i] * s.e[i];
  }
  EXPECT_EQ(g.out.values(2), dv);  // products that float32 holds, and one rounding
  EXPECT_EQ(g.embedding.values(), de);
  const double noise = 1e-5 * static_cast<double>(dv.size()) + 1e-4;
  const bool is_none = r.c.blend == HeadValueBlend::kNone;
  EXPECT_NEAR(is_none ? sums[0] : g.weights.values()[0], sums[0], noise);
  EXPECT_NEAR(r.c.blend == HeadValueBlend::kPair ? g.weights.values()[1] : sums[1], sums[1], noise);
  EXPECT_EQ(g.weights.is_untouched(0), is_none);
  EXPECT_EQ(g.weights.is_untouched(1), is_none || is_lerp);
  EXPECT_TRUE(g.out.has_whole_guards() && g.embedding.has_whole_guards() && g.weights.has_whole_guards() &&
              g.workspace.has_whole_guards());
}

TEST_P(QkvHeads, ReferenceGradientIsThatOfItsFormulas) {
  Reference r(GetParam());
  r.rounded = unrounded;
  Doubles x = random_numbers(r.c.dim, 9);
  const Doubles dy = random_numbers(r.c.dim, 10);
  const std::size_t t = r.c.length - 1;
  const auto loss = [&] {
    const Doubles y = r.placed(x, t);
    double sum = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  const Doubles dx = r.unplaced(x, dy, t);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(difference_quotient(loss, x[i]), dx[i], 1e-8);

  double v = 0.3, e = -0.7;
  const auto value = [&] { return r.blended(v, e); };
  const bool is_lerp = r.c.blend == HeadValueBlend::kLerp;
  EXPECT_NEAR(difference_quotient(value, v), r.value_weight(), 1e-8);
  EXPECT_NEAR(difference_quotient(value, e), r.embedding_weight(), 1e-8);
  if (r.c.blend == HeadValueBlend::kNone) return;
  EXPECT_NEAR(difference_quotient(value, r.weights[0]), is_lerp ? e - v : v, 1e-8);
  EXPECT_NEAR(difference_quotient(value, r.weights[1]), r.c.blend == HeadValueBlend::kPair ? e : 0.0, 1e-8);
}

TEST(QkvHeads, OrderOfBlocksChangesNoBit) {
  Problem s({.length = 600, .heads = 1, .kv_heads = 2, .dim = 144});
  expect_same_in_every_order([&] {
    Gradients g(s);
    qkv_heads_backward(s.shape, s.in.pointers(), s.options, g.pointers(), nullptr);
    return joined({g.out.q.contents(), g.embedding.contents(), g.weights.contents()});
  });
}

/// v is its own embedding: the gradient of each place by itself.
TEST(QkvHeads, ValuesMayBeMixedWithThemselves) {
  Problem s({.length = 6, .heads = 2, .kv_heads = 2, .dim = 32, .blend = HeadValueBlend::kLerp});
  Gradients g(s);
  s.options.value_embedding = s.in.rows_of<const bf16>(2);
  const std::size_t count = s.v.size();
  DeviceArray<bf16> v(count);
  qkv_heads_forward(s.shape, s.in.pointers(), s.options, {.v = v.data()}, nullptr);
  qkv_heads_backward(s.shape, s.in.pointers(), s.options, g.pointers(), nullptr);
  Doubles want(count), dv(count), de(count);
  for (std::size_t i = 0; i < count; ++i) {
    want[i] = s.reference.blended(s.v[i], s.v[i]);
    dv[i] = to_nearest_bf16(s.reference.value_weight() * g.dv[i]);
    de[i] = to_nearest_bf16(s.reference.embedding_weight() * g.dv[i]);
  }
  expect_rounded(v.values(), want, "v");
  EXPECT_EQ(g.out.values(2), dv);
  EXPECT_EQ(g.embedding.values(), de);
  EXPECT_EQ(g.weights.values()[0], 0.0);
}

TEST(QkvHeads, WhatIsNotWantedIsNotWritten) {
  Problem s({.length = 3, .heads = 2, .kv_heads = 2, .dim = 32});
  DeviceArray<bf16> v(s.v.size());
  qkv_heads_forward(s.shape, s.in.pointers(), s.options, {.v = v.data()}, nullptr);
  EXPECT_FALSE(v.is_untouched(0));
  Gradients g(s);
  QkvHeadsGradients pointers = g.pointers();
  pointers.q = {}, pointers.v = {}, pointers.value_embedding = nullptr, pointers.value_weights = nullptr;
  qkv_heads_backward(s.shape, s.in.pointers(), s.options, pointers, nullptr);
  EXPECT_TRUE(g.out.q.is_untouched(0) && g.weights.is_untouched(0));
  EXPECT_FALSE(g.out.q.is_untouched(g.out.q_width));
}

TEST(QkvHeads, RefusesHeadsItCannotTake) {
  for (const std::int64_t dim : {0, 24, 272})
    EXPECT_THROW(qkv_heads_forward({1, 1, 1, dim}, {}, {}, {}, nullptr), Error);
  EXPECT_THROW(qkv_heads_backward({1 << 30, 6, 6, 128}, {}, {}, {}, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
