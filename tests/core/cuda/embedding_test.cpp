#include "core/cuda/kernels/embedding.h"

#include <memory>

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

struct Case {
  std::size_t length, width, rows;
};
class Embedding : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Shapes, Embedding,
                         ::testing::Values(Case{40, 768, 11}, Case{1, 8, 3}, Case{130, 136, 5}, Case{57, 13, 257},
                                           Case{33, 300, 1}));

/// Some tokens often, some never.
std::vector<std::int32_t> tokens_of(const Case& c) {
  std::mt19937_64 engine(1);
  std::vector<std::int32_t> tokens(c.length);
  for (std::int32_t& token : tokens) {
    const auto drawn = static_cast<std::int32_t>(engine() % c.rows);
    token = engine() % 3 == 0 ? drawn : std::min(drawn, 2);
  }
  return tokens;
}

template <class Number, class Token>
void expect_look_up(const Case& c) {
  constexpr std::size_t kTables = 3;
  const std::vector<std::int32_t> drawn = tokens_of(c);
  const std::vector<Token> tokens(drawn.begin(), drawn.end());
  EmbeddingTables<Number> tables{kTables, static_cast<std::int64_t>(c.width), {}, {}};
  std::vector<Doubles> values;
  std::vector<std::unique_ptr<DeviceArray<Number>>> memory;
  std::vector<std::unique_ptr<DeviceArray<bf16>>> outputs;
  for (std::size_t i = 0; i < kTables; ++i) {
    values.push_back(random_floats(c.rows * c.width, i));
    memory.push_back(std::make_unique<DeviceArray<Number>>(values.back(), i));
    outputs.push_back(std::make_unique<DeviceArray<bf16>>(c.length * c.width));
    tables.tables[i] = memory.back()->data();
    tables.outputs[i] = outputs.back()->data();
  }
  const DeviceArray<Token> device_tokens(tokens);
  embedding_forward(static_cast<std::int64_t>(c.length), device_tokens.data(), tables, nullptr);
  for (std::size_t i = 0; i < kTables; ++i) {
    Doubles want;
    for (const Token token : tokens)
      for (std::size_t j = 0; j < c.width; ++j)
        want.push_back(to_nearest_bf16(values[i][static_cast<std::size_t>(token) * c.width + j]));
    EXPECT_EQ(outputs[i]->values(), want);
    EXPECT_TRUE(outputs[i]->has_whole_guards());
  }
}

TEST_P(Embedding, LooksUpRowsOfSeveralTables) {
  expect_look_up<bf16, std::int32_t>(GetParam());
  expect_look_up<bf16, std::int64_t>(GetParam());
  expect_look_up<float, std::int32_t>(GetParam());
  expect_look_up<float, std::int64_t>(GetParam());
}

TEST_P(Embedding, PositionsAreSortedByToken) {
  const std::vector<std::int32_t> tokens = tokens_of(GetParam());
  const TokenOrder sorted = token_order(tokens, static_cast<std::int64_t>(GetParam().rows));
  ASSERT_EQ(sorted.order.size(), tokens.size());
  ASSERT_EQ(sorted.starts.size(), sorted.tokens.size() + 1);
  std::vector<bool> seen(tokens.size());
  for (std::size_t s = 0; s < sorted.tokens.size(); ++s) {
    EXPECT_TRUE(s == 0 || sorted.tokens[s] > sorted.tokens[s - 1]);
    EXPECT_LT(sorted.starts[s], sorted.starts[s + 1]);
    for (std::int32_t i = sorted.starts[s]; i < sorted.starts[s + 1]; ++i) {
      const auto position = static_cast<std::size_t>(sorted.order[static_cast<std::size_t>(i)]);
      EXPECT_EQ(tokens[position], sorted.tokens[s]);
      EXPECT_FALSE(seen[position]);
      seen[position] = true;
      EXPECT_TRUE(i == sorted.starts[s] ||
                  sorted.order[static_cast<std::size_t>(i) - 1] < sorted.order[static_cast<std::size_t>(i)]);
    }
  }
  EXPECT_EQ(sorted.starts.back(), static_cast<std::int32_t>(tokens.size()));
}

/// A TokenOrder as the kernel takes it.
struct Segments {
  DeviceArray<std::int32_t> order, starts, tokens, count;
  TokenSegments pointers;

  explicit Segments(const Case& c) : Segments(c, token_order(tokens_of(c), static_cast<std::int64_t>(c.rows))) {}
  Segments(const Case& c, const TokenOrder& sorted)
      : order(sorted.order),
        starts(sorted.starts),
        tokens(sorted.tokens),
        count(std::vector{static_cast<std::int32_t>(sorted.tokens.size())}) {
    pointers = {.order = order.data(),
                .starts = starts.data(),
                .tokens = tokens.data(),
                .count = count.data(),
                .most = static_cast<std::int64_t>(std::min(c.length, c.rows))};
  }
};

/// float64 sums onto what the table holds.
Doubles table_after(const Case& c, const Doubles& before, const Doubles& d, const Rounding& rounded) {
  Doubles table = before;
  const std::vector<std::int32_t> tokens = tokens_of(c);
  for (std::size_t t = 0; t < c.length; ++t)
    for (std::size_t j = 0; j < c.width; ++j)
      table[static_cast<std::size_t>(tokens[t]) * c.width + j] += rounded(d[t * c.width + j]);
  return table;
}

template <class Gradient>
void expect_gradients(const Case& c, bool rounds_d) {
  const Segments segments(c);
  const Doubles d = sizeof(Gradient) == 4 ? random_floats(c.length * c.width, 2) : random_bf16(c.length * c.width, 2);
  const Doubles before = random_bf16(c.rows * c.width, 3);
  DeviceArray<Gradient> gradient(d);
  DeviceArray<float> floats(before);
  DeviceArray<bf16> rounded(before);
  const auto width = static_cast<std::int64_t>(c.width);
  embedding_backward(segments.pointers, width, gradient.data(), rounds_d, floats.data(), nullptr);
  embedding_backward(segments.pointers, width, gradient.data(), rounds_d, rounded.data(), nullptr);
  Doubles want = table_after(c, before, d, rounds_d ? to_nearest_bf16 : unrounded);
  expect_near(floats.values(), want, 1e-6, "float32 table");
  for (double& x : want) x = to_nearest_bf16(x);
  expect_rounded(rounded.values(), want, "bfloat16 table", 1.0 / 128, 0.01, 1e-5);
  EXPECT_TRUE(floats.has_whole_guards() && rounded.has_whole_guards());
}

TEST_P(Embedding, BackwardAddsUpThePositionsOfEachToken) {
  expect_gradients<float>(GetParam(), false);
  expect_gradients<float>(GetParam(), true);
  expect_gradients<bf16>(GetParam(), false);
}

TEST(EmbeddingGradient, ReferenceIsTheGradientOfTheLookUp) {
  const Case c{6, 3, 4};
  Doubles table = random_numbers(c.rows * c.width, 4);
  const Doubles d = random_numbers(c.length * c.width, 5);
  const std::vector<std::int32_t> tokens = tokens_of(c);
  const auto loss = [&] {
    double sum = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i)
      sum += d[i] * table[static_cast<std::size_t>(tokens[i / c.width]) * c.width + i % c.width];
    return sum;
  };
  const Doubles gradient = table_after(c, Doubles(table.size(), 0.0), d, unrounded);
  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(difference_quotient(loss, table[i]), gradient[i], 1e-8);
}

TEST(EmbeddingGradient, OrderOfBlocksChangesNoBit) {
  const Case c{300, 264, 7};
  const Segments segments(c);
  DeviceArray<float> gradient(random_floats(c.length * c.width, 6));
  expect_same_in_every_order([&] {
    DeviceArray<float> table(Doubles(c.rows * c.width, 0.0));
    embedding_backward(segments.pointers, 264, gradient.data(), false, table.data(), nullptr);
    return table.contents();
  });
}

TEST(TokenOrder, RefusesTokensOutsideTheVocabulary) {
  const std::int32_t beyond[] = {0, 5}, negative[] = {-1};
  EXPECT_THROW(token_order(beyond, 5), Error);
  EXPECT_THROW(token_order(negative, 5), Error);
  EXPECT_TRUE(token_order({}, 5).tokens.empty());
}

TEST(EmbeddingTables, RefusesMoreThanItCanPass) {
  EmbeddingTables<float> tables{kMaxTables + 1, 8, {}, {}};
  const std::int32_t token = 0;
  EXPECT_THROW(embedding_forward(1, &token, tables, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
