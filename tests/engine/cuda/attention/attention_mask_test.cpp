// Masks computed on the device against BlockMask, and against their definition where BlockMask refuses the length.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/data/block_mask.h"
#include "engine/cuda/attention.h"
#include "tests/engine/cuda/device_array.h"

namespace nanobench::core::cuda {
namespace {

constexpr std::int32_t kSeparator = 7;

struct MaskCase {
  int length;
  AttentionWindow window;
  int window_tokens;
  bool has_documents;
  double separators;  ///< their share of the tokens
};

void PrintTo(const MaskCase& c, std::ostream* out) {
  *out << "T " << c.length << " window " << static_cast<int>(c.window) << ":" << c.window_tokens << " separators "
       << c.separators << (c.has_documents ? " between documents" : "");
}

std::vector<std::int32_t> random_tokens(int length, double separators) {
  std::mt19937 random(static_cast<unsigned>(length));
  std::bernoulli_distribution opens(separators);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
  for (std::int32_t& token : tokens) token = opens(random) ? kSeparator : 100;
  return tokens;
}

struct Mask {
  explicit Mask(std::size_t length) : first_key(length), last_query(length) {}
  DeviceArray<std::int32_t> first_key;
  DeviceArray<std::int32_t> last_query;
};

Mask device_mask(const MaskCase& c, const std::vector<std::int32_t>& tokens) {
  Mask mask(tokens.size());
  const DeviceArray<std::int32_t> device_tokens(tokens), window(std::vector<std::int32_t>{c.window_tokens});
  AttentionMaskInputs in;
  in.tokens = device_tokens.data();
  in.length = c.length;
  in.document_mask = c.has_documents;
  in.document_separator = kSeparator;
  in.window = c.window;
  in.window_tokens = window.data();
  attention_mask(in, mask.first_key.data(), mask.last_query.data(), nullptr);
  return mask;
}

std::vector<std::int64_t> expected_first_key(const MaskCase& c, const std::vector<std::int32_t>& tokens) {
  const std::vector<std::uint16_t> narrow(tokens.begin(), tokens.end());
  BlockMaskOptions options;
  options.block_size = c.length % 128 == 0 ? 128 : c.length;  // other lengths have windows by token only
  options.document_mask = c.has_documents;
  options.document_separator = kSeparator;
  options.granularity = c.window == AttentionWindow::kToken   ? WindowGranularity::kToken
                        : c.window == AttentionWindow::kBlock ? WindowGranularity::kBlock
                                                              : WindowGranularity::kTokenBlockClipped;
  if (c.window_tokens > 0) options.window_tokens = c.window_tokens;
  return BlockMask(narrow, options).first_key();
}

class AttentionMaskOnDevice : public testing::TestWithParam<MaskCase> {};

TEST_P(AttentionMaskOnDevice, IsTheBlockMask) {
  const MaskCase& c = GetParam();
  const std::vector<std::int32_t> tokens = random_tokens(c.length, c.separators);
  const std::vector<std::int64_t> expected = expected_first_key(c, tokens);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    draw_order(seed);
    const Mask mask = device_mask(c, tokens);
    const std::vector<std::int32_t> first_key = mask.first_key.numbers(), last_query = mask.last_query.numbers();
    int wrong_first = 0;
    int wrong_last = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      wrong_first += first_key[i] != expected[i];
      while (last + 1 < tokens.size() && expected[last + 1] <= static_cast<std::int64_t>(i)) ++last;
      wrong_last += last_query[i] != static_cast<std::int32_t>(last);
    }
    EXPECT_EQ(wrong_first, 0);
    EXPECT_EQ(wrong_last, 0);
    EXPECT_TRUE(mask.first_key.has_whole_guards());
    EXPECT_TRUE(mask.last_query.has_whole_guards());
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, AttentionMaskOnDevice,
                         testing::Values(MaskCase{256, AttentionWindow::kToken, 0, false, 0.1},
                                         MaskCase{256, AttentionWindow::kToken, 64, false, 0.0},
                                         MaskCase{640, AttentionWindow::kToken, 100, true, 0.01},
                                         MaskCase{1000, AttentionWindow::kToken, 77, true, 0.02},
                                         MaskCase{1, AttentionWindow::kToken, 5, true, 1.0},
                                         MaskCase{640, AttentionWindow::kTokenBlockClipped, 64, true, 0.01},
                                         MaskCase{640, AttentionWindow::kTokenBlockClipped, 200, true, 0.005},
                                         MaskCase{640, AttentionWindow::kBlock, 128, true, 0.01},
                                         MaskCase{1024, AttentionWindow::kBlock, 384, true, 0.002},
                                         // Documents that begin many chunks of the scan before their queries.
                                         MaskCase{6144, AttentionWindow::kBlock, 0, true, 0.0004},
                                         MaskCase{6144, AttentionWindow::kBlock, 1792, true, 0.0004}));

TEST(AttentionMaskOnDevice, ReadsTheWindowWhenItRuns) {
  MaskCase c{512, AttentionWindow::kBlock, 128, false, 0.0};
  const std::vector<std::int32_t> tokens = random_tokens(c.length, 0.0);
  EXPECT_EQ(device_mask(c, tokens).first_key.numbers()[511], 384);
  c.window_tokens = 256;
  EXPECT_EQ(device_mask(c, tokens).first_key.numbers()[511], 256);
}

TEST(AttentionMaskOnDevice, NoPointerIsNoWindow) {
  AttentionMaskInputs in;
  in.length = 300;
  in.document_mask = false;
  Mask mask(300);
  attention_mask(in, mask.first_key.data(), mask.last_query.data(), nullptr);
  EXPECT_EQ(mask.first_key.numbers()[299], 0);
  EXPECT_EQ(mask.last_query.numbers()[0], 299);
}

TEST(AttentionMaskOnDevice, RefusesNoTokens) {
  EXPECT_THROW(attention_mask({}, nullptr, nullptr, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
