// Rows of embedding tables by the GPU's kernels, which run emulated on the CPU: against LibTorch's look-up.
#include <gtest/gtest.h>

#include "engine/ops/device_embedding.h"
#include "tests/engine/cuda_plugin/bfloat16_tensors.h"
#include "tests/engine/cuda_plugin/emulated_device.h"

namespace nanobench::core::testing {
namespace {

/// Not all of them of bfloat16 values.
at::Tensor table(at::IntArrayRef shape, std::uint64_t seed) {
  return (bfloat16_values(shape, seed).detach() * 1.01).requires_grad_(true);
}

at::Tensor text(std::int64_t length, std::int64_t rows, at::ScalarType type) {
  const at::Tensor ids = (at::arange(length) * 37).remainder(rows);
  return at::where(at::arange(length).remainder(3) == 0, at::full_like(ids, 2), ids).to(type);  // one often
}

/// As the device gives them, op by op.
std::vector<at::Tensor> looked_up_by_operations(const at::Tensor& tokens, const std::vector<JoinedTables>& tables) {
  std::vector<at::Tensor> rows;
  for (const auto& [weight, count] : tables) {
    const at::Tensor all = at::embedding(weight, tokens).to(at::kBFloat16);
    for (const at::Tensor& part : all.chunk(count, 1)) rows.push_back(part);
  }
  return rows;
}

/// Gradients of the weights, when one of given values flows back to each output but `unused`.
std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& outputs, const std::vector<JoinedTables>& tables,
                                  std::size_t unused) {
  at::Tensor loss = at::zeros({});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i != unused)
      loss = loss + (outputs[i].to(at::kFloat) * bfloat16_values(outputs[i].sizes(), 50 + i).detach()).sum();
  }
  loss.backward();
  std::vector<at::Tensor> all;
  for (const JoinedTables& joined : tables) {
    all.push_back(joined.weight.grad());
    joined.weight.mutable_grad() = at::Tensor();
  }
  return all;
}

void expect_the_same(const at::Tensor& tokens, const std::vector<JoinedTables>& tables, std::size_t unused) {
  const std::vector<at::Tensor> expected = looked_up_by_operations(tokens, tables);
  const std::vector<at::Tensor> expected_gradients = gradients(expected, tables, unused);
  const EmulatedDevice device;
  const std::vector<at::Tensor> got = device_embedding(tokens, tables);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], expected[i])) << "output " << i;
  const std::vector<at::Tensor> got_gradients = gradients(got, tables, unused);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    ASSERT_EQ(got_gradients[i].defined(), expected_gradients[i].defined()) << "table " << i;
    if (!got_gradients[i].defined()) continue;
    EXPECT_EQ(got_gradients[i].scalar_type(), at::kFloat);
    EXPECT_LT(distance(got_gradients[i], expected_gradients[i]), 1e-6) << "table " << i;  // another order of the sums
  }
}

TEST(EmulatedEmbedding, HasTheRowsAndGradientsOfLibTorchsOperations) {
  for (const at::ScalarType type : {at::kLong, at::kInt}) {
    const std::vector<JoinedTables> tables = {{.weight = table({31, 64}, 1)}, {.weight = table({40, 24}, 2)}};
    expect_the_same(text(300, 31, type), tables, 9);
    expect_the_same(text(5, 31, type), tables, 9);
  }
}

TEST(EmulatedEmbedding, JoinedTablesAreOneWeight) {
  expect_the_same(text(200, 17, at::kLong),
                  {{.weight = table({17, 16}, 3)}, {.weight = table({17, 96}, 4), .count = 3}}, 9);
}

TEST(EmulatedEmbedding, WhatNothingFlowsBackToHasNoGradient) {
  const std::vector<JoinedTables> tables = {{.weight = table({17, 16}, 5)}, {.weight = table({17, 48}, 6), .count = 2}};
  expect_the_same(text(90, 17, at::kLong), tables, 0);  // none at all
  expect_the_same(text(90, 17, at::kLong), tables, 1);  // of some columns: zero
}

TEST(EmulatedEmbedding, MoreTablesThanALaunchTakes) {
  std::vector<JoinedTables> tables;
  for (std::uint64_t i = 0; i < 18; ++i) tables.push_back({.weight = table({9, 8}, 10 + i)});
  expect_the_same(text(70, 9, at::kLong), tables, 3);
}

TEST(EmulatedEmbedding, RefusesColumnsThatAreNotWholeTables) {
  const EmulatedDevice device;
  EXPECT_THROW(device_embedding(text(4, 9, at::kLong), {{.weight = table({9, 8}, 1), .count = 3}}), c10::Error);
}

}  // namespace
}  // namespace nanobench::core::testing
