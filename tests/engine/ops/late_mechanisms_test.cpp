// Operations of records #42 on by values that are easy to follow; whole records are in late_golden_test.cpp.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "engine/ops/bigram_hash.h"
#include "engine/ops/key_offset.h"
#include "engine/ops/late_attention.h"
#include "engine/ops/paired_heads.h"
#include "engine/ops/rotary.h"
#include "engine/ops/softcapped_cross_entropy.h"

namespace nanobench::core::testing {
namespace {

/// x[t, h, 0] = 10 t + h, and so on in steps of 100.
at::Tensor numbered_heads(std::int64_t tokens, std::int64_t heads, std::int64_t width) {
  return at::arange(tokens, at::kDouble).mul_(10).view({-1, 1, 1}) + at::arange(heads, at::kDouble).view({1, -1, 1}) +
         at::arange(width, at::kDouble).mul_(100).view({1, 1, -1});
}

TEST(PairedHeads, HalvesAreTheOrderOfMemoryAndNeighboursTakeTurns) {
  const at::Tensor x = numbered_heads(2, 6, 1);
  const auto rows = [&](HeadPairing order) {
    const at::Tensor y = paired_heads(x, order).squeeze(-1).contiguous();
    return std::vector<double>(y.data_ptr<double>(), y.data_ptr<double>() + y.numel());
  };
  EXPECT_EQ(rows(HeadPairing::kHalves), (std::vector<double>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(rows(HeadPairing::kNeighbours), (std::vector<double>{0, 2, 4, 1, 3, 5, 10, 12, 14, 11, 13, 15}));
  for (const HeadPairing order : {HeadPairing::kHalves, HeadPairing::kNeighbours})
    EXPECT_TRUE(at::equal(unpaired_heads(paired_heads(x, order), order), x));
}

TEST(KeyOffset, CopiesFromTheUnshiftedKeysAndKeepsTheFirst) {
  const at::Tensor k = numbered_heads(3, 1, 4);
  const at::Tensor half = offset_keys(k, KeyOffsetDims::kUpperHalf, KeyOffsetCopy::kShifted);
  EXPECT_TRUE(at::equal(half[2][0], at::tensor({20.0, 120.0, 210.0, 310.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(half[0], k[0]));
  const at::Tensor quarters = offset_keys(k, KeyOffsetDims::kQuarters, KeyOffsetCopy::kShifted);
  EXPECT_TRUE(at::equal(quarters[2][0], at::tensor({20.0, 110.0, 220.0, 310.0}, at::kDouble)));
  const at::Tensor spread = offset_keys(k, KeyOffsetDims::kUpperHalf, KeyOffsetCopy::kInPlace);
  EXPECT_TRUE(at::equal(spread[2][0], at::tensor({20.0, 120.0, 200.0, 300.0}, at::kDouble)));
  at::Tensor in_place = k.clone();  // one key after the other
  for (std::int64_t t = 1; t < 3; ++t) in_place[t].narrow(1, 2, 2).copy_(in_place[t - 1].narrow(1, 2, 2));
  EXPECT_TRUE(at::equal(spread, in_place));
}

/// As the header's formula has it, with all weights [H, T, T].
at::Tensor composed_by_formula(const std::vector<at::Tensor>& in, const AttentionPlan& plan, double scale) {
  const std::int64_t length = plan.length();
  const at::Tensor keys = at::arange(length), first = at::tensor(plan.first_key(), at::kLong).unsqueeze(1);
  const at::Tensor is_hidden = keys.lt(first).logical_or(keys.gt(keys.unsqueeze(1)));
  const at::Tensor logits = at::einsum("the,she->hts", {in[0], in[1]}) * scale;
  const at::Tensor weights = at::softmax(logits.masked_fill(is_hidden, -std::numeric_limits<double>::infinity()), -1);
  const at::Tensor mixture = in[3] / at::sqrt(in[3].square().mean(-1, true) + 1e-6);
  return at::einsum("gts,tg,shi->thi", {weights, mixture, in[2]}) * in[4].unsqueeze(-1);
}

TEST(ComposedHeads, AreThoseOfTheFormulaInEitherOrderOfBlocks) {
  constexpr std::int64_t kLength = 304, kHeads = 3, kWidth = 8;  // two whole tiles and a part of one
  std::vector<std::uint16_t> tokens(kLength, 1);
  tokens[0] = tokens[90] = tokens[200] = 0;
  at::manual_seed(4);
  std::vector<at::Tensor> in;
  for (int i = 0; i < 3; ++i) in.push_back(at::randn({kLength, kHeads, kWidth}, at::kDouble).requires_grad_());
  for (int i = 0; i < 2; ++i) in.push_back(at::randn({kLength, kHeads}, at::kDouble).requires_grad_());
  const at::Tensor dy = at::randn({kLength, kHeads, kWidth}, at::kDouble);
  for (const std::int64_t window : {1, 40, 200}) {
    for (const KeyBlockOrder order : {KeyBlockOrder::kAscending, KeyBlockOrder::kNearestFirst}) {
      const BlockMask mask(tokens, {.block_size = 16,
                                    .document_separator = 0,
                                    .granularity = WindowGranularity::kToken,
                                    .window_tokens = window});
      const AttentionPlan plan(mask, at::kDouble, {.block_order = order});
      const at::Tensor expected = composed_by_formula(in, plan, 0.3);
      const at::Tensor got = composed_heads(in[0], in[1], in[2], plan, 0.3, in[3], in[4], 1e-6);
      EXPECT_TRUE(at::allclose(got, expected, 1e-12, 1e-13)) << window;
      const auto gradients_of = [&](const at::Tensor& y) {
        y.backward(dy);
        std::vector<at::Tensor> gradients;
        for (at::Tensor& input : in) gradients.push_back(std::exchange(input.mutable_grad(), at::Tensor()));
        return gradients;
      };
      const std::vector<at::Tensor> right = gradients_of(expected), own = gradients_of(got);
      for (std::size_t i = 0; i < in.size(); ++i)
        EXPECT_TRUE(at::allclose(own[i], right[i], 1e-11, 1e-12)) << window << ", input " << i;
    }
  }
}

TEST(Rotation, AdjacentPairsAreHalvesInAnotherOrder) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({5, 2, 8}, at::kDouble);
  const RotaryTables tables = rotary_tables({.half_truncate = false}, 8, at::arange(10), at::kDouble);
  const at::Tensor order = at::tensor({0, 2, 4, 6, 1, 3, 5, 7}, at::kLong);
  const at::Tensor adjacent = rotate_late(x, tables, {.pairing = RopePairing::kAdjacent});
  EXPECT_TRUE(at::allclose(adjacent.index_select(2, order), rotate(x.index_select(2, order), tables), 0, 1e-15));
  EXPECT_FALSE(at::allclose(adjacent, rotate(x, tables), 0, 1e-3));
}

TEST(Rotation, PairedHeadsHaveTwoPositionsAToken) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({3, 4, 8}, at::kDouble);
  const RotaryTables tables = rotary_tables({.half_truncate = false}, 8, at::arange(6), at::kDouble);
  const at::Tensor turned = rotate_late(x, tables, {.has_paired_heads = true});
  const at::Tensor sequence = at::zeros({6, 1, 8}, at::kDouble);  // head 3 of token 2 at its position, 2 * 2 + 1
  sequence[5][0].copy_(x[2][3]);
  EXPECT_TRUE(at::allclose(turned[2][3], rotate(sequence, tables)[5][0], 0, 1e-15));
}

TEST(BigramHash, WrapsAroundAndReservesTheLastRow) {
  const at::Tensor tokens = at::tensor({50256, 11, 262, 50000, 3}, at::kLong);
  BigramConfig config{.rows = 251520};
  EXPECT_TRUE(at::equal(bigram_rows(tokens, config), at::tensor({251519, 75369, 3826, 230483, 67672}, at::kLong)));
  config.previous_of_first = BigramStart::kOwn;
  EXPECT_TRUE(at::equal(bigram_rows(tokens.to(at::kInt), config),
                        at::tensor({251519, 141340, 3826, 230483, 67672}, at::kLong)));
  EXPECT_TRUE(at::equal(bigram_sign_rows(tokens, 8192), at::tensor({0, 1115, 269, 598, 851}, at::kLong)));
}

TEST(OwnValues, LeaveTheOutputByTheirShare) {
  const at::Tensor y = at::tensor({3.0, 4.0}, at::kDouble).view({1, 1, 2});
  const at::Tensor v = at::tensor({2.0, 0.0}, at::kDouble).view({1, 1, 2});
  const at::Tensor all = without_own_values(y, v, at::full({1}, 100.0, at::kDouble));
  EXPECT_TRUE(at::allclose(all.view({-1}), at::tensor({0.0, 4.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(without_own_values(y, v, at::zeros({1}, at::kDouble)), y));
}

/// Loss, and gradients of x and weight.
std::vector<at::Tensor> head(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                             const HeadOptions& options) {
  const at::Tensor a = x.clone().requires_grad_(), b = weight.clone().requires_grad_();
  const at::Tensor loss = softcapped_cross_entropy(a, b, targets, options);
  loss.backward();
  return {loss.detach(), a.grad(), b.grad()};
}

/// The same by operations of LibTorch: weights of targets that exist, and the cap with a shift.
std::vector<at::Tensor> head_by_operations(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                           const HeadOptions& options) {
  const at::Tensor a = x.clone().requires_grad_(), b = weight.clone().requires_grad_();
  const LogitCapConfig& cap = options.logit_cap;
  const at::Tensor logits = at::sigmoid((at::linear(a, b) + cap.shift) / cap.divisor) * *cap.scale;
  const at::Tensor log_probabilities = at::log_softmax(logits, -1);
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (std::size_t k = 0; k < options.target_weights.size(); ++k) {
    const std::int64_t count = targets.size(0) - static_cast<std::int64_t>(k);
    const at::Tensor index = targets.narrow(0, static_cast<std::int64_t>(k), count).unsqueeze(1);
    loss = loss - options.target_weights[k] * log_probabilities.narrow(0, 0, count).gather(1, index).sum();
  }
  for (std::int64_t t = 0; options.prefix_weight != 0.0 && t < targets.size(0); ++t) {
    const auto prefix = options.prefixes[targets[t].item<std::int64_t>()].item<std::int64_t>();
    if (prefix >= 0) loss = loss - options.prefix_weight * log_probabilities[t][prefix];
  }
  loss = loss / static_cast<double>(targets.size(0));
  loss.backward();
  return {loss.detach(), a.grad(), b.grad()};
}

TEST(PrefixOfTheNextToken, IsATargetWhereThereIsOne) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({5, 4}, at::kDouble), weight = at::randn({6, 4}, at::kDouble);
  const at::Tensor targets = at::tensor({1, 5, 3, 0, 5}, at::kLong);
  HeadOptions options{.logit_cap = {.scale = 23.0}, .target_weights = {1.0, 0.5}};
  options.prefix_weight = 0.25;
  options.prefixes = at::tensor({-1, 0, -1, -1, 2, 4}, at::kLong);
  const std::vector<at::Tensor> expected = head_by_operations(x, weight, targets, options);
  const std::vector<at::Tensor> got = head(x, weight, targets, options);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::allclose(got[i], expected[i], 1e-12, 1e-14)) << i;
  options.prefixes = at::full({6}, -1, at::kLong);
  const std::vector<at::Tensor> without = head(x, weight, targets, options);
  options.prefix_weight = 0.0;
  const std::vector<at::Tensor> unweighted = head(x, weight, targets, options);
  for (std::size_t i = 0; i < without.size(); ++i) EXPECT_TRUE(at::allclose(without[i], unweighted[i], 0, 1e-15)) << i;
}

TEST(SeveralTargets, LeaveTheLossesOfTokensAlone) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({6, 4}, at::kDouble), weight = at::randn({9, 4}, at::kDouble);
  const at::Tensor targets = at::tensor({1, 8, 3, 3, 0, 5}, at::kLong);
  HeadOptions options{.fp8 = {}, .logit_cap = {.scale = 23.0}};
  const at::Tensor next = token_cross_entropies(x, weight, targets, options);
  EXPECT_TRUE(at::allclose(next.mean(), softcapped_cross_entropy(x, weight, targets, options), 1e-14, 0));
  options.target_weights = {1.0, 0.5, 0.25};
  options.counts_all_weights = true;
  options.prefix_weight = 0.25;
  options.prefixes = at::zeros({9}, at::kLong);
  EXPECT_TRUE(at::equal(token_cross_entropies(x, weight, targets, options), next));
  EXPECT_FALSE(at::allclose(softcapped_cross_entropy(x, weight, targets, options), next.mean(), 1e-3, 0));
}

TEST(SeveralTargets, AreWeightedAndEndWithTheSequence) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({6, 4}, at::kDouble), weight = at::randn({9, 4}, at::kDouble);
  const at::Tensor targets = at::tensor({1, 8, 3, 3, 0, 5}, at::kLong);
  HeadOptions options{.logit_cap = {.scale = 23.0}, .target_weights = {1.0, 0.5, 0.25}};
  const std::vector<at::Tensor> expected = head_by_operations(x, weight, targets, options);
  const std::vector<at::Tensor> got = head(x, weight, targets, options);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::allclose(got[i], expected[i], 1e-12, 1e-14)) << i;
  options.counts_all_weights = true;
  const std::vector<at::Tensor> all = head(x, weight, targets, options);
  EXPECT_TRUE(at::equal(all[0], got[0])) << "the loss is the same";
  EXPECT_TRUE(at::allclose(all[1].narrow(0, 0, 4), got[1].narrow(0, 0, 4), 1e-12, 1e-14));
  EXPECT_FALSE(at::allclose(all[1][5], got[1][5], 1e-3, 1e-6)) << "the last token has one target of three";
}

/// The loss of record 79: sums of the targets' weights W, hits H, sigmoid s rounded; dz = (W p - H) A s (1 - s) / C.
TEST(RoundedSigmoid, IsTheOneOfLossAndGradient) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({6, 4}), weight = at::randn({9, 4}) * 3;
  const at::Tensor targets = at::tensor({1, 8, 3, 3, 0, 5}, at::kLong);
  const HeadOptions options{.loss_rounding = LossRounding::kSigmoid, .logit_cap = {.scale = 23.0}};
  const LogitCapConfig& cap = options.logit_cap;
  const at::Tensor exact = at::sigmoid((at::linear(x, weight) + cap.shift) / cap.divisor);
  const at::Tensor s = exact.to(at::kBFloat16).to(at::kFloat);
  ASSERT_FALSE(at::allclose(s, exact, 1e-4, 0));
  const at::Tensor log_probabilities = at::log_softmax(s * 23.0, -1);
  const at::Tensor hits = at::one_hot(targets, 9).to(at::kFloat);
  const at::Tensor dz = (log_probabilities.exp() - hits) * s * (1 - s) * (23.0 / cap.divisor) / 6;
  const std::vector<at::Tensor> got = head(x, weight, targets, options);
  EXPECT_TRUE(at::allclose(got[0], -(log_probabilities * hits).sum() / 6, 1e-6, 0));
  EXPECT_TRUE(at::allclose(got[1], at::mm(dz, weight), 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(got[2], at::mm(dz.t(), x), 1e-5, 1e-7));
}

}  // namespace
}  // namespace nanobench::core::testing
