// Gates and NorMuon's normalisation by the GPU's kernels, which run emulated on the CPU: against operations.
#include <gtest/gtest.h>

#include "engine/ops/device_gates.h"
#include "engine/ops/gates.h"
#include "engine/optim/second_moment.h"
#include "tests/engine/cuda_plugin/bfloat16_tensors.h"
#include "tests/engine/cuda_plugin/emulated_device.h"

namespace nanobench::core::testing {
namespace {

constexpr double kGateEps = 0x1p-7;

using GateTensors = std::vector<at::Tensor>;
using GateOperation = std::function<at::Tensor(const GateTensors&)>;

/// The output and the gradients of the leaves, with rows as `rows` and weights as `weights`.
std::vector<at::Tensor> gates_forward_and_backward(const GateTensors& values, const std::vector<at::ScalarType>& types,
                                                   const GateOperation& operation) {
  GateTensors leaves;
  for (std::size_t i = 0; i < values.size(); ++i)
    leaves.push_back(values[i].detach().to(types[i]).clone().requires_grad_(true));
  const at::Tensor out = operation(leaves);
  out.backward(bfloat16_values(out.sizes(), 99).detach().to(out.scalar_type()));
  std::vector<at::Tensor> results = {out.detach()};
  for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad());
  return results;
}

void expect_gates_close(const GateTensors& values, const std::vector<at::ScalarType>& types,
                        const GateOperation& operation) {
  const std::vector<at::Tensor> expected =
      gates_forward_and_backward(values, std::vector(types.size(), at::kDouble), operation);
  const EmulatedDevice device;
  const std::vector<at::Tensor> got = gates_forward_and_backward(values, types, operation);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), types[i == 0 ? 0 : i - 1]) << i;
    EXPECT_LT(distance(got[i], expected[i]), got[i].scalar_type() == at::kFloat ? 1e-5 : 3e-3) << "tensor " << i;
  }
}

TEST(EmulatedGates, OfHeadsAreThoseOfFloat64Operations) {
  for (const std::int64_t length : {1, 70}) {
    const GateTensors values = {bfloat16_values({length, 2, 32}, 1), bfloat16_values({length, 64}, 2),
                                bfloat16_values({2, 12}, 3)};
    expect_gates_close(values, {at::kBFloat16, at::kBFloat16, at::kFloat}, [](const GateTensors& leaves) {
      return gated_heads(leaves[0], leaves[1], leaves[2], kGateEps);
    });
  }
}

TEST(EmulatedGates, OfTheSmearAreThoseOfFloat64Operations) {
  const GateTensors values = {bfloat16_values({70, 64}, 4), bfloat16_values({1, 12}, 5), at::scalar_tensor(0.7)};
  expect_gates_close(values, {at::kBFloat16, at::kFloat, at::kFloat},
                     [](const GateTensors& leaves) { return smear(leaves[0], leaves[1], leaves[2]); });
}

TEST(EmulatedGates, WhatTheKernelsDoNotTakeGoesByOperations) {
  const EmulatedDevice device;
  const at::Tensor rows = bfloat16_values({5, 64}, 6).to(at::kBFloat16);
  EXPECT_TRUE(fits_device_smear(rows, bfloat16_values({1, 12}, 7)));
  EXPECT_FALSE(fits_device_smear(rows, bfloat16_values({1, 33}, 7)));
  EXPECT_FALSE(fits_device_smear(rows.to(at::kFloat), bfloat16_values({1, 12}, 7)));
  EXPECT_TRUE(fits_device_head_gate(rows.view({5, 2, 32}), rows, bfloat16_values({2, 12}, 7)));
  EXPECT_FALSE(fits_device_head_gate(rows.view({5, 16, 4}), rows, bfloat16_values({16, 12}, 7)));
}

TEST(EmulatedSecondMoment, IsThatOfOperations) {
  const auto parameters = [] {
    std::vector<MuonParameter> made;
    for (const auto& [rows, columns] : {std::pair{16, 64}, std::pair{16, 64}, std::pair{64, 16}, std::pair{1, 12}})
      made.push_back({.tensor = bfloat16_values({rows, columns}, 10 + made.size())});
    made.push_back({.tensor = bfloat16_values({4, 16, 16}, 20), .matrices = 4});
    return made;
  };
  const auto train = [&](bool takes_rates) {
    const std::vector<MuonParameter> of = parameters();
    SecondMoment moment(of, 0.95, /*rounds_to_bfloat16=*/true);
    std::vector<at::Tensor> results;
    bool has_stepped = false;
    for (int step = 0; step < 3; ++step) {
      std::vector<at::Tensor> updates;
      for (std::size_t i = 0; i < of.size(); ++i)
        updates.push_back(bfloat16_values(of[i].tensor.sizes(), 100 * static_cast<std::uint64_t>(step) + i).detach());
      const std::vector<double> rates(of.size(), 0.05);
      has_stepped = moment.normalize_(updates, takes_rates ? rates : std::vector<double>());
      results.insert(results.end(), updates.begin(), updates.end());
      if (!takes_rates || has_stepped) continue;
      const at::NoGradGuard no_grad;
      for (std::size_t i = 0; i < of.size(); ++i) at::Tensor(of[i].tensor).sub_(updates[i], 0.05);
    }
    for (const MuonParameter& parameter : of) results.push_back(parameter.tensor.detach());
    results.insert(results.end(), moment.moments().begin(), moment.moments().end());
    return std::pair(results, has_stepped);
  };
  for (const bool takes_rates : {true, false}) {
    const auto [expected, by_operations] = train(takes_rates);
    EXPECT_FALSE(by_operations);
    const EmulatedDevice device;
    const auto [got, by_kernels] = train(takes_rates);
    EXPECT_EQ(by_kernels, takes_rates);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LT(distance(got[i], expected[i]), 2e-3) << i;
  }
}

}  // namespace
}  // namespace nanobench::core::testing
