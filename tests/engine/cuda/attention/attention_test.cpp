// Attention on tensor cores against float64, forward and backward, under every kind of mask.
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "attention_reference.h"
#include "core/base/error.h"
#include "engine/cuda/attention.h"
#include "tests/engine/cuda/device_array.h"
#include "tests/engine/cuda/kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

struct AttentionCase {
  int length;
  int heads;
  int kv_heads;
  int head_dim;
  AttentionWindow window = AttentionWindow::kToken;
  int window_tokens = 0;
  double separators = 0.0;  ///< their share of the tokens
  float size = 1.0f;        ///< standard deviation of q: large ones make few weights dominate
  bool nearest_first = false;
};

using Case = std::tuple<DeviceAttentionProducts, AttentionCase>;

constexpr auto kWarp = DeviceAttentionProducts::kWarp;
constexpr auto kWarpgroup = DeviceAttentionProducts::kWarpgroup;

void PrintTo(const AttentionCase& c, std::ostream* out) {
  *out << "T " << c.length << " H " << c.heads << "/" << c.kv_heads << " E " << c.head_dim << " window "
       << static_cast<int>(c.window) << ":" << c.window_tokens << " separators " << c.separators;
}

/// Random numbers that bf16 holds exactly, in both forms.
struct Input {
  Input(std::size_t size, unsigned seed, float deviation)
      : exact(random_bf16(size, seed, static_cast<double>(deviation))), numbers(exact) {}
  Doubles exact;
  DeviceArray<bf16> numbers;
};

/// All that one case reads.
struct Problem {
  explicit Problem(const AttentionCase& c, DeviceAttentionProducts by)
      : shape{c.length, c.heads, c.kv_heads, c.head_dim},
        products(by),
        nearest_first(c.nearest_first),
        scale(1.0f / std::sqrt(static_cast<float>(c.head_dim))),
        q(size(c.heads), 1, c.size),
        k(size(c.kv_heads), 2, 1.0f),
        v(size(c.kv_heads), 3, 1.0f),
        dy(size(c.heads), 4, 1.0f),
        tokens(drawn_tokens(c)),
        first_key(static_cast<std::size_t>(c.length)),
        last_query(static_cast<std::size_t>(c.length)),
        window_tokens(std::vector<std::int32_t>{c.window_tokens}) {
    AttentionMaskInputs mask;
    mask.tokens = tokens.data();
    mask.length = c.length;
    mask.window = c.window;
    mask.window_tokens = window_tokens.data();
    attention_mask(mask, first_key.data(), last_query.data(), nullptr);
  }

  static std::vector<std::int32_t> drawn_tokens(const AttentionCase& c) {
    std::mt19937 random(5);
    std::bernoulli_distribution opens(c.separators);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(c.length));
    for (std::int32_t& token : tokens) token = opens(random) ? 50256 : 1;
    return tokens;
  }
  std::size_t size(int heads) const {
    return static_cast<std::size_t>(shape.length) * static_cast<std::size_t>(heads * shape.head_dim);
  }
  DeviceAttentionInputs inputs() const {
    return {.q = q.numbers.data(),
            .k = k.numbers.data(),
            .v = v.numbers.data(),
            .mask = {first_key.data(), last_query.data()},
            .scale = scale,
            .nearest_first = nearest_first,
            .products = products};
  }
  AttentionNumbers exact() const {
    const std::vector<std::int32_t> first = first_key.numbers();
    return {q.exact, k.exact, v.exact, dy.exact, {first.begin(), first.end()}, static_cast<double>(scale)};
  }

  DeviceAttentionShape shape;
  DeviceAttentionProducts products;
  bool nearest_first;
  float scale;
  Input q, k, v, dy;
  DeviceArray<std::int32_t> tokens, first_key, last_query, window_tokens;
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

  bool has_whole_guards() const {
    return y.has_whole_guards() && log_sums.has_whole_guards() && row_sums.has_whole_guards() &&
           dq.has_whole_guards() && dk.has_whole_guards() && dv.has_whole_guards();
  }
  bool has_same_bits(const Outputs& o) const {
    return y.has_same_bits(o.y) && log_sums.has_same_bits(o.log_sums) && dq.has_same_bits(o.dq) &&
           dk.has_same_bits(o.dk) && dv.has_same_bits(o.dv);
  }

  DeviceArray<bf16> y;
  DeviceArray<float> log_sums, row_sums;
  DeviceArray<bf16> dq, dk, dv;
};

Outputs run(const Problem& p, std::uint64_t seed) {
  draw_order(seed);
  Outputs out(p);
  attention_forward(p.shape, p.inputs(), out.y.data(), out.log_sums.data(), nullptr);
  const AttentionGradients gradients{p.dy.numbers.data(), out.y.data(),  out.log_sums.data(), out.row_sums.data(),
                                     out.dq.data(),       out.dk.data(), out.dv.data()};
  attention_backward(p.shape, p.inputs(), gradients, nullptr);
  return out;
}

/// `got` from number `begin` on.
void expect_within(const Doubles& got, const Bounded& expected, const std::string& name, std::size_t begin = 0) {
  int outside = 0;
  std::string first;
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double value = got[begin + i];
    if (std::fabs(value - expected.value[i]) <= expected.bound[i]) continue;  // NaN is outside
    if (outside++ == 0) {
      first = "number " + std::to_string(begin + i) + " is " + std::to_string(value) + ", expected " +
              std::to_string(expected.value[i]) + " within " + std::to_string(expected.bound[i]);
    }
  }
  EXPECT_EQ(outside, 0) << name << ": " << first;
}

class CudaAttention : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == kWarpgroup && !has_warpgroups()) GTEST_SKIP() << "a GPU without wgmma";
  }
};

TEST_P(CudaAttention, IsWithinTheRoundingOfTheReferenceInEveryOrderOfThreads) {
  const auto& [products, attention_case] = GetParam();
  const Problem problem(attention_case, products);
  kernel_counts();
  const Outputs out = run(problem, 1);
  if (const auto counts = kernel_counts()) {
    EXPECT_EQ(counts->matrix_conflicts, 0U);
    EXPECT_GT(counts->branches, 0U);
    EXPECT_EQ(counts->divergences, 0U) << "a tile is masked or not for all queries of a warp";
  }
  ASSERT_EQ(out.y.size(), problem.q.exact.size());
  const AttentionReference reference = attention_reference(problem.shape, problem.exact());
  expect_within(out.y.values(), reference.y, "y");
  expect_within(out.log_sums.values(), reference.log_sums, "log_sums");
  expect_within(out.dv.values(), reference.dv, "dv");
  expect_within(out.dk.values(), reference.dk, "dk");
  expect_within(out.dq.values(), reference.dq, "dq");
  EXPECT_TRUE(out.has_whole_guards());
  EXPECT_TRUE(run(problem, 2).has_same_bits(out));
}

/// Each case by both kinds of products.
auto by_both(std::initializer_list<AttentionCase> cases) {
  return testing::Combine(testing::Values(kWarp, kWarpgroup), testing::ValuesIn(std::vector<AttentionCase>(cases)));
}

constexpr auto kToken = AttentionWindow::kToken;
constexpr auto kClipped = AttentionWindow::kTokenBlockClipped;
constexpr auto kBlock = AttentionWindow::kBlock;

INSTANTIATE_TEST_SUITE_P(Causal, CudaAttention,
                         by_both({AttentionCase{256, 1, 1, 64}, AttentionCase{256, 2, 2, 128},
                                  AttentionCase{300, 1, 1, 128}, AttentionCase{1, 2, 1, 64},
                                  AttentionCase{65, 1, 1, 16}, AttentionCase{130, 1, 1, 48},
                                  AttentionCase{190, 2, 2, 96}, AttentionCase{129, 1, 1, 32}}));
INSTANTIATE_TEST_SUITE_P(SharedKeys, CudaAttention,
                         by_both({AttentionCase{200, 3, 1, 64}, AttentionCase{192, 4, 2, 128, kToken, 50}}));
INSTANTIATE_TEST_SUITE_P(Windows, CudaAttention,
                         by_both({AttentionCase{512, 1, 1, 64, kToken, 100}, AttentionCase{512, 1, 1, 128, kToken, 1},
                                  AttentionCase{400, 1, 1, 64, kToken, 65}, AttentionCase{512, 1, 1, 64, kClipped, 192},
                                  AttentionCase{640, 1, 1, 64, kBlock, 128}, AttentionCase{640, 1, 1, 128, kBlock, 256},
                                  AttentionCase{500, 1, 1, 64, kBlock, 256}}));
INSTANTIATE_TEST_SUITE_P(
    Documents, CudaAttention,
    by_both({AttentionCase{512, 2, 2, 64, kToken, 0, 0.01}, AttentionCase{600, 1, 1, 128, kBlock, 256, 0.006},
             AttentionCase{384, 1, 1, 64, kToken, 90, 0.05}, AttentionCase{256, 1, 1, 64, kToken, 0, 1.0}}));
INSTANTIATE_TEST_SUITE_P(NearestFirst, CudaAttention,
                         by_both({AttentionCase{420, 1, 1, 128, kBlock, 256, 0.006, 1.0f, true},
                                  AttentionCase{500, 2, 1, 64, kToken, 0, 0.0, 1.0f, true}}));
INSTANTIATE_TEST_SUITE_P(LargeScores, CudaAttention, by_both({AttentionCase{256, 1, 1, 128, kToken, 0, 0.0, 40.0f}}));

/// The official model's length and heads, of which the reference takes some rows and keys.
class CudaAttentionOfWholeSequences : public CudaAttention {};

TEST_P(CudaAttentionOfWholeSequences, SampledRowsAndKeysAreWithinTheRoundingOfTheReference) {
  const auto& [products, c] = GetParam();
  const Problem problem(c, products);
  const Outputs out = run(problem, 1);
  EXPECT_TRUE(out.has_whole_guards());
  EXPECT_TRUE(run(problem, 2).has_same_bits(out));
  const Doubles y = out.y.values(), log_sums = out.log_sums.values();
  const Doubles dq = out.dq.values(), dk = out.dk.values(), dv = out.dv.values();
  const AttentionNumbers numbers = problem.exact();
  constexpr int kRows = 64, kKeys = 6;
  std::mt19937 random(6);
  const auto drawn = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const auto at = [&](int token, int head, int heads) {
    return static_cast<std::size_t>((token * heads + head) * c.head_dim);
  };
  struct Place {
    int token, head;
  };
  std::vector<Place> queries, keys;
  for (int i = 0; i < kRows; ++i) {
    const int query = i == 0 ? c.length - 1 : drawn(c.length);
    queries.push_back({query, drawn(c.heads)});
  }
  for (int i = 0; i < kKeys; ++i) {
    const int key = drawn(c.length);
    keys.push_back({key, drawn(c.kv_heads)});
  }
  std::vector<std::optional<AttentionRow>> rows(queries.size());
  std::vector<std::optional<AttentionKey>> expected_keys(keys.size());
  in_parallel(keys.size() + queries.size(), [&](std::size_t i) {
    if (i < keys.size()) {
      expected_keys[i] = attention_key(problem.shape, numbers, keys[i].token, keys[i].head);
    } else {
      const Place& at_row = queries[i - keys.size()];
      rows[i - keys.size()] = attention_row(problem.shape, numbers, at_row.token, at_row.head);
    }
  });
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto [query, head] = queries[i];
    const std::string name = " of query " + std::to_string(query) + ", head " + std::to_string(head);
    expect_within(y, rows[i]->y, "y" + name, at(query, head, c.heads));
    expect_within(dq, rows[i]->dq, "dq" + name, at(query, head, c.heads));
    expect_within(log_sums, rows[i]->log_sum, "log_sum" + name, static_cast<std::size_t>(head * c.length + query));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [key, head] = keys[i];
    const std::string name = " of key " + std::to_string(key) + ", head " + std::to_string(head);
    expect_within(dk, expected_keys[i]->dk, "dk" + name, at(key, head, c.kv_heads));
    expect_within(dv, expected_keys[i]->dv, "dv" + name, at(key, head, c.kv_heads));
  }
}

std::vector<AttentionCase> whole_sequences() {
  if (!is_gpu()) return {{700, 2, 1, 128, kBlock, 384, 0.002}};
  std::vector<AttentionCase> cases;
  cases.push_back({65536, 6, 6, 128, kBlock, 1792, 0.0005});
  cases.push_back({16384, 6, 6, 128, kBlock, 128, 0.0005});
  cases.push_back({16384, 6, 6, 128, kToken, 1024, 0.0});
  cases.push_back({16384, 6, 6, 128, kClipped, 640, 0.0005});
  cases.push_back({16384, 6, 6, 128, kToken, 0, 0.001});  // documents alone
  cases.push_back({16384, 6, 2, 128, kBlock, 896, 0.001});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Official, CudaAttentionOfWholeSequences,
                         testing::Combine(testing::Values(kWarp, kWarpgroup), testing::ValuesIn(whole_sequences())));

TEST(CudaAttentionChecks, RefusesShapesAndScalesItCannotDo) {
  const DeviceAttentionInputs in;
  float unused = 0.0f;
  for (const DeviceAttentionShape& shape :
       {DeviceAttentionShape{0, 1, 1, 64}, DeviceAttentionShape{16, 3, 2, 64}, DeviceAttentionShape{16, 1, 1, 40},
        DeviceAttentionShape{16, 1, 1, 144}, DeviceAttentionShape{16, 1, 0, 64}}) {
    EXPECT_THROW(attention_forward(shape, in, nullptr, &unused, nullptr), Error);
    EXPECT_THROW(attention_backward(shape, in, {}, nullptr), Error);
  }
  DeviceAttentionInputs negative;
  negative.scale = -1.0f;
  EXPECT_THROW(attention_forward({16, 1, 1, 64}, negative, nullptr, &unused, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
