// Attention on emulated tensor cores against float64, forward and backward, under every kind of mask.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "attention_reference.h"
#include "core/cuda/kernels/attention.h"
#include "core/cuda/kernels/platform.cuh"
#include "guarded_buffer.h"

namespace nanobench::core::cuda {
namespace {

using emulation::GuardedBuffer;

struct AttentionCase {
  int length;
  int heads;
  int kv_heads;
  int head_dim;
  AttentionWindow window = AttentionWindow::kToken;
  int window_tokens = 0;
  double separators = 0.0;  ///< their share of the tokens
  float size = 1.0f;        ///< standard deviation of q: large ones make few weights dominate
};

void PrintTo(const AttentionCase& c, std::ostream* out) {
  *out << "T " << c.length << " H " << c.heads << "/" << c.kv_heads << " E " << c.head_dim << " window "
       << static_cast<int>(c.window) << ":" << c.window_tokens << " separators " << c.separators;
}

/// Random numbers that bf16 holds exactly, in both forms.
struct Input {
  Input(std::size_t size, unsigned seed, float deviation) : numbers(size), exact(size) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, deviation);
    for (std::size_t i = 0; i < size; ++i) {
      numbers[i] = to_bf16(normal(random));
      exact[i] = static_cast<double>(to_float(numbers[i]));
    }
  }
  GuardedBuffer<bf16> numbers;
  std::vector<double> exact;
};

/// All that one case reads.
struct Problem {
  explicit Problem(const AttentionCase& c)
      : shape{c.length, c.heads, c.kv_heads, c.head_dim},
        scale(1.0f / std::sqrt(static_cast<float>(c.head_dim))),
        q(size(c.heads), 1, c.size),
        k(size(c.kv_heads), 2, 1.0f),
        v(size(c.kv_heads), 3, 1.0f),
        dy(size(c.heads), 4, 1.0f),
        tokens(static_cast<std::size_t>(c.length)),
        first_key(static_cast<std::size_t>(c.length)),
        last_query(static_cast<std::size_t>(c.length)),
        window_tokens(c.window_tokens) {
    std::mt19937 random(5);
    std::bernoulli_distribution opens(c.separators);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = opens(random) ? 50256 : 1;
    AttentionMaskInputs mask;
    mask.tokens = tokens.data();
    mask.length = c.length;
    mask.window = c.window;
    mask.window_tokens = &window_tokens;
    attention_mask(mask, first_key.data(), last_query.data(), nullptr);
  }

  std::size_t size(int heads) const {
    return static_cast<std::size_t>(shape.length) * static_cast<std::size_t>(heads * shape.head_dim);
  }
  AttentionInputs inputs() const {
    return {q.numbers.data(), k.numbers.data(), v.numbers.data(), {first_key.data(), last_query.data()}, scale};
  }
  AttentionReference reference() const {
    AttentionNumbers numbers{q.exact, k.exact, v.exact, dy.exact, {}, static_cast<double>(scale)};
    for (std::size_t i = 0; i < first_key.size(); ++i) numbers.first_key.push_back(first_key[i]);
    return attention_reference(shape, numbers);
  }

  AttentionShape shape;
  float scale;
  Input q, k, v, dy;
  GuardedBuffer<std::int32_t> tokens, first_key, last_query;
  std::int32_t window_tokens;
};

/// All that one run of the kernels writes.
struct Outputs {
  explicit Outputs(const Problem& p)
      : y(p.q.exact.size()),
        log_sums(static_cast<std::size_t>(p.shape.length) * static_cast<std::size_t>(p.shape.heads)),
        row_sums(log_sums.size()),
        dq(p.q.exact.size()),
        dk(p.k.exact.size()),
        dv(p.v.exact.size()) {}

  bool zones_are_whole() const {
    return y.zones_are_whole() && log_sums.zones_are_whole() && row_sums.zones_are_whole() && dq.zones_are_whole() &&
           dk.zones_are_whole() && dv.zones_are_whole();
  }
  bool has_same_bits(const Outputs& o) const {
    return y.has_same_bits(o.y) && log_sums.has_same_bits(o.log_sums) && dq.has_same_bits(o.dq) &&
           dk.has_same_bits(o.dk) && dv.has_same_bits(o.dv);
  }

  GuardedBuffer<bf16> y;
  GuardedBuffer<float> log_sums, row_sums;
  GuardedBuffer<bf16> dq, dk, dv;
};

Outputs run(const Problem& p, std::uint64_t seed) {
  emulation::set_seed(seed);
  Outputs out(p);
  attention_forward(p.shape, p.inputs(), out.y.data(), out.log_sums.data(), nullptr);
  const AttentionGradients gradients{p.dy.numbers.data(), out.y.data(),  out.log_sums.data(), out.row_sums.data(),
                                     out.dq.data(),       out.dk.data(), out.dv.data()};
  attention_backward(p.shape, p.inputs(), gradients, nullptr);
  return out;
}

double value_of(bf16 x) {
  return static_cast<double>(to_float(x));
}
double value_of(float x) {
  return static_cast<double>(x);
}

template <class T>
void expect_within(const GuardedBuffer<T>& got, const Bounded& expected, const char* name) {
  int outside = 0;
  std::string first;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = value_of(got[i]);
    if (std::fabs(value - expected.value[i]) <= expected.bound[i]) continue;  // NaN is outside
    if (outside++ == 0) {
      first = "number " + std::to_string(i) + " is " + std::to_string(value) + ", expected " +
              std::to_string(expected.value[i]) + " within " + std::to_string(expected.bound[i]);
    }
  }
  EXPECT_EQ(outside, 0) << name << ": " << first;
}

class CudaAttention : public testing::TestWithParam<AttentionCase> {};

TEST_P(CudaAttention, IsWithinTheRoundingOfTheReferenceInEveryOrderOfThreads) {
  const Problem problem(GetParam());
  emulation::statistics() = {};
  const Outputs out = run(problem, 1);
  EXPECT_EQ(emulation::statistics().matrix_conflicts, 0U);
  const AttentionReference reference = problem.reference();
  expect_within(out.y, reference.y, "y");
  expect_within(out.log_sums, reference.log_sums, "log_sums");
  expect_within(out.dv, reference.dv, "dv");
  expect_within(out.dk, reference.dk, "dk");
  expect_within(out.dq, reference.dq, "dq");
  EXPECT_TRUE(out.zones_are_whole());
  EXPECT_TRUE(run(problem, 2).has_same_bits(out));
}

constexpr auto kToken = AttentionWindow::kToken;
constexpr auto kClipped = AttentionWindow::kTokenBlockClipped;
constexpr auto kBlock = AttentionWindow::kBlock;

INSTANTIATE_TEST_SUITE_P(Causal, CudaAttention,
                         testing::Values(AttentionCase{256, 1, 1, 64}, AttentionCase{256, 2, 2, 128},
                                         AttentionCase{300, 1, 1, 128}, AttentionCase{1, 2, 1, 64},
                                         AttentionCase{65, 1, 1, 16}, AttentionCase{130, 1, 1, 48},
                                         AttentionCase{190, 2, 2, 96}, AttentionCase{129, 1, 1, 32}));
INSTANTIATE_TEST_SUITE_P(SharedKeys, CudaAttention,
                         testing::Values(AttentionCase{200, 3, 1, 64}, AttentionCase{192, 4, 2, 128, kToken, 50}));
INSTANTIATE_TEST_SUITE_P(
    Windows, CudaAttention,
    testing::Values(AttentionCase{512, 1, 1, 64, kToken, 100}, AttentionCase{512, 1, 1, 128, kToken, 1},
                    AttentionCase{400, 1, 1, 64, kToken, 65}, AttentionCase{512, 1, 1, 64, kClipped, 192},
                    AttentionCase{640, 1, 1, 64, kBlock, 128}, AttentionCase{640, 1, 1, 128, kBlock, 256},
                    AttentionCase{500, 1, 1, 64, kBlock, 256}));
INSTANTIATE_TEST_SUITE_P(Documents, CudaAttention,
                         testing::Values(AttentionCase{512, 2, 2, 64, kToken, 0, 0.01},
                                         AttentionCase{600, 1, 1, 128, kBlock, 256, 0.006},
                                         AttentionCase{384, 1, 1, 64, kToken, 90, 0.05},
                                         AttentionCase{256, 1, 1, 64, kToken, 0, 1.0}));
INSTANTIATE_TEST_SUITE_P(LargeScores, CudaAttention,
                         testing::Values(AttentionCase{256, 1, 1, 128, kToken, 0, 0.0, 40.0f}));

TEST(CudaAttentionChecks, RefusesShapesAndScalesItCannotDo) {
  const AttentionInputs in;
  float unused = 0.0f;
  for (const AttentionShape& shape :
       {AttentionShape{0, 1, 1, 64}, AttentionShape{16, 3, 2, 64}, AttentionShape{16, 1, 1, 40},
        AttentionShape{16, 1, 1, 144}, AttentionShape{16, 1, 0, 64}}) {
    EXPECT_THROW(attention_forward(shape, in, nullptr, &unused, nullptr), Error);
    EXPECT_THROW(attention_backward(shape, in, {}, nullptr), Error);
  }
  AttentionInputs negative;
  negative.scale = -1.0f;
  EXPECT_THROW(attention_forward({16, 1, 1, 64}, negative, nullptr, &unused, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
