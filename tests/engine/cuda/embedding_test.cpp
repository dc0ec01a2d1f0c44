#include "engine/cuda/embedding.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

struct Case {
  std::size_t length, width, rows;
  std::size_t tables = 3;
};
class Embedding : public ::testing::TestWithParam<Case> {};
// 130 places and more: a token that occurs more than 64 times. 17 tables: two launches.
INSTANTIATE_TEST_SUITE_P(Shapes, Embedding,
                         ::testing::Values(Case{40, 768, 11}, Case{1, 8, 3}, Case{130, 136, 5}, Case{57, 13, 257},
                                           Case{33, 300, 1}, Case{64, 8, 1}, Case{65, 8, 1}, Case{200, 260, 2},
                                           Case{300, 24, 40, 17}));

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

/// Tables of several widths; the first has gaps between its rows, and the last one's numbers are not aligned.
struct Layout {
  std::size_t width, stride, skew;
};
Layout layout_of(const Case& c, std::size_t table) {
  const std::size_t width = table == 1 ? (c.width + 1) / 2 : c.width;
  return {.width = width, .stride = table == 0 ? width + 24 : width, .skew = table + 1 == c.tables ? 1U : 0U};
}

TEST_P(Embedding, LooksUpRowsOfSeveralTables) {
  const Case& c = GetParam();
  const std::vector<std::int32_t> tokens = tokens_of(c);
  std::vector<Doubles> values;
  std::vector<std::unique_ptr<DeviceArray<float>>> memory;
  std::vector<std::unique_ptr<DeviceArray<bf16>>> outputs;
  std::vector<EmbeddingTable> tables;
  for (std::size_t i = 0; i < c.tables; ++i) {
    const Layout layout = layout_of(c, i);
    values.push_back(random_floats(c.rows * layout.stride, i));
    memory.push_back(std::make_unique<DeviceArray<float>>(values.back(), layout.skew));
    outputs.push_back(std::make_unique<DeviceArray<bf16>>(c.length * layout.width, layout.skew));
    tables.push_back({.rows = memory.back()->data(),
                      .stride = static_cast<std::int64_t>(layout.stride),
                      .width = static_cast<std::int64_t>(layout.width),
                      .output = outputs.back()->data()});
  }
  const DeviceArray<std::int32_t> device_tokens(tokens);
  embedding_forward(static_cast<std::int64_t>(c.length), device_tokens.data(), tables, nullptr);
  for (std::size_t i = 0; i < c.tables; ++i) {
    const Layout layout = layout_of(c, i);
    Doubles want;
    for (const std::int32_t token : tokens)
      for (std::size_t j = 0; j < layout.width; ++j)
        want.push_back(to_nearest_bf16(values[i][static_cast<std::size_t>(token) * layout.stride + j]));
    EXPECT_EQ(outputs[i]->values(), want) << "table " << i;
    EXPECT_TRUE(outputs[i]->has_whole_guards());
  }
}

/// Tokens in ascending order, and the positions they come from.
struct SortedTokens {
  std::vector<std::int64_t> order;
  std::vector<std::int32_t> sorted;
  DeviceArray<std::int32_t> tokens;
  DeviceArray<std::int64_t> positions;

  explicit SortedTokens(const std::vector<std::int32_t>& text)
      : order(order_of(text)), sorted(sorted_by(order, text)), tokens(sorted), positions(order) {}

  static std::vector<std::int64_t> order_of(const std::vector<std::int32_t>& text) {
    std::vector<std::int64_t> order(text.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {},
                             [&](std::int64_t position) { return text[static_cast<std::size_t>(position)]; });
    return order;
  }
  static std::vector<std::int32_t> sorted_by(const std::vector<std::int64_t>& order,
                                             const std::vector<std::int32_t>& text) {
    std::vector<std::int32_t> sorted;
    for (const std::int64_t position : order) sorted.push_back(text[static_cast<std::size_t>(position)]);
    return sorted;
  }
};

/// float64 sums in the rows of tokens that occur; elsewhere what was there.
Doubles gradient_of(const std::vector<std::int32_t>& tokens, const Layout& layout, const Doubles& before,
                    const Doubles& d) {
  Doubles table = before;
  for (const std::int32_t token : tokens)
    std::fill_n(table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(token) * layout.stride),
                layout.width, 0.0);
  for (std::size_t t = 0; t < tokens.size(); ++t)
    for (std::size_t j = 0; j < layout.width; ++j)
      table[static_cast<std::size_t>(tokens[t]) * layout.stride + j] += d[t * layout.width + j];
  return table;
}

TEST_P(Embedding, BackwardAddsUpThePositionsOfEachToken) {
  const Case& c = GetParam();
  const std::vector<std::int32_t> tokens = tokens_of(c);
  const SortedTokens sorted(tokens);
  std::vector<Doubles> values, before;
  std::vector<std::unique_ptr<DeviceArray<bf16>>> gradients;
  std::vector<std::unique_ptr<DeviceArray<float>>> memory;
  std::vector<EmbeddingGradient> tables;
  for (std::size_t i = 0; i < c.tables; ++i) {
    const Layout layout = layout_of(c, i);
    values.push_back(random_bf16(c.length * layout.width, 20 + i));
    before.push_back(random_floats(c.rows * layout.stride, 40 + i));
    gradients.push_back(std::make_unique<DeviceArray<bf16>>(values.back(), layout.skew));
    memory.push_back(std::make_unique<DeviceArray<float>>(before.back(), layout.skew));
    tables.push_back({.output = gradients.back()->data(),
                      .rows = memory.back()->data(),
                      .stride = static_cast<std::int64_t>(layout.stride),
                      .width = static_cast<std::int64_t>(layout.width)});
  }
  embedding_backward(static_cast<std::int64_t>(c.length), sorted.tokens.data(), sorted.positions.data(), tables,
                     nullptr);
  for (std::size_t i = 0; i < c.tables; ++i) {
    expect_near(memory[i]->values(), gradient_of(tokens, layout_of(c, i), before[i], values[i]), 1e-6,
                "table " + std::to_string(i));
    EXPECT_TRUE(memory[i]->has_whole_guards());
  }
}

TEST(EmbeddingGradient, ReferenceIsTheGradientOfTheLookUp) {
  const Case c{6, 3, 4};
  const Layout layout{.width = 3, .stride = 5, .skew = 0};
  Doubles table = random_numbers(c.rows * layout.stride, 4);
  const Doubles d = random_numbers(c.length * c.width, 5);
  const std::vector<std::int32_t> tokens = tokens_of(c);
  const auto loss = [&] {
    double sum = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i)
      sum += d[i] * table[static_cast<std::size_t>(tokens[i / c.width]) * layout.stride + i % c.width];
    return sum;
  };
  const Doubles gradient = gradient_of(tokens, layout, Doubles(table.size(), 0.0), d);
  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(difference_quotient(loss, table[i]), gradient[i], 1e-8);
}

/// Among them one token that occurs more than 64 times.
TEST(EmbeddingGradient, OrderOfBlocksChangesNoBit) {
  const Case c{300, 264, 7};
  const SortedTokens sorted(tokens_of(c));
  const DeviceArray<bf16> gradient(random_bf16(c.length * c.width, 6));
  expect_same_in_every_order([&] {
    DeviceArray<float> table(Doubles(c.rows * c.width, 0.0));
    const EmbeddingGradient tables[] = {{.output = gradient.data(), .rows = table.data(), .stride = 264, .width = 264}};
    embedding_backward(300, sorted.tokens.data(), sorted.positions.data(), tables, nullptr);
    return table.contents();
  });
}

}  // namespace
}  // namespace nanobench::core::cuda
