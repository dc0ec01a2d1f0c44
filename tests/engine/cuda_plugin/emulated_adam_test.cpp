// The engine's Adam through the GPU's kernel, which runs emulated on the CPU: against the CPU's own.
#include <block_runner.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/optim/adam.h"
#include "engine/optim/device_adam.h"
#include "tests/engine/cuda_plugin/emulated_device.h"
#include "tests/engine/golden_support.h"
#include "tests/engine/reference_ops.h"

namespace nanobench::core::testing {
namespace {

std::vector<at::Tensor> tensors(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<at::Tensor> made;
  for (const std::vector<std::int64_t>& shape : shapes) made.push_back(at::randn(shape).requires_grad_(true));
  return made;
}

/// As in a model: tables in bfloat16, a head, scalars; no two groups have a number in common.
std::vector<AdamGroup> groups() {
  at::manual_seed(11);
  return {{tensors({{40, 24}, {300, 7}}), {.lr = 0.3, .beta1 = 0.8, .eps = 1e-10}, StoredPrecision::kBfloat16},
          {tensors({{33, 16}}), {.lr = 0.02, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1}},
          {tensors({{12}, {1}, {}, {7, 5}}), {.lr = 0.04, .beta1 = 0.4, .eps = 1e-6}}};
}

std::vector<at::Tensor> all_of(const std::vector<AdamGroup>& groups) {
  std::vector<at::Tensor> all;
  for (const AdamGroup& group : groups) all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  return all;
}

/// New tensors every step; in some steps one is missing or has gaps.
void emulated_adam_set_gradients(const std::vector<AdamGroup>& groups, int step) {
  at::manual_seed(static_cast<std::uint64_t>(20 + step));
  std::vector<at::Tensor> parameters = all_of(groups);
  for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::randn(parameter.sizes());
  if (step == 1) parameters[1].mutable_grad() = at::Tensor();
  if (step == 2) parameters[2].mutable_grad() = at::randn({16, 33}).t();
}

double lr_factor(int step) {
  return 1.0 - 0.2 * step;
}

constexpr int kEmulatedAdamSteps = 4;

TEST(EmulatedAdam, StepsAllGroupsAsTheCpuDoes) {
  const std::vector<AdamGroup> expected = groups(), got = groups();
  std::vector<Adam> adams;
  for (const AdamGroup& group : expected) adams.emplace_back(group.parameters, group.config, group.storage);
  const EmulatedDevice device;
  DeviceAdam device_adam(got);
  for (int step = 0; step < kEmulatedAdamSteps; ++step) {
    emulated_adam_set_gradients(expected, step);
    emulated_adam_set_gradients(got, step);
    for (Adam& adam : adams) adam.step(lr_factor(step));
    device_adam.step(lr_factor(step));
  }
  std::size_t i = 0;
  for (std::size_t group = 0; group < got.size(); ++group) {
    // Where the last bit differs, one number in a thousand is rounded to the other neighbour, 2^-8 away.
    const double tolerance = got[group].storage == StoredPrecision::kFloat32 ? 1e-6 : 5e-4;
    for (std::size_t k = 0; k < got[group].parameters.size(); ++k, ++i) {
      EXPECT_LE(relative_error(got[group].parameters[k], expected[group].parameters[k]), tolerance) << i;
      EXPECT_LE(relative_error(device_adam.first_moments()[i], adams[group].first_moments()[k]), tolerance) << i;
      EXPECT_LE(relative_error(device_adam.second_moments()[i], adams[group].second_moments()[k]), tolerance) << i;
    }
  }
}

TEST(EmulatedAdam, BfloatGroupsHoldBfloat16Values) {
  const EmulatedDevice device;
  const std::vector<AdamGroup> trained = groups();
  DeviceAdam adam(trained);
  const auto expect_rounded = [&] {
    for (const at::Tensor& parameter : trained.front().parameters)
      EXPECT_TRUE(at::equal(parameter, parameter.to(at::kBFloat16).to(at::kFloat)));
  };
  expect_rounded();
  emulated_adam_set_gradients(trained, 0);
  adam.step(1.0);
  expect_rounded();
  EXPECT_EQ(adam.first_moments().front().scalar_type(), at::kBFloat16);
  EXPECT_EQ(adam.second_moments().back().scalar_type(), at::kFloat);
}

TEST(EmulatedAdam, AGroupAmongOthersGetsTheBitsThatItGetsAlone) {
  const EmulatedDevice device;
  const std::vector<AdamGroup> together = groups(), alone = groups();
  DeviceAdam all(together);
  std::vector<DeviceAdam> single;
  for (const AdamGroup& group : alone) single.emplace_back(std::vector<AdamGroup>{group});
  for (int step = 0; step < kEmulatedAdamSteps; ++step) {
    emulated_adam_set_gradients(together, step);
    emulated_adam_set_gradients(alone, step);
    all.step(lr_factor(step));
    for (DeviceAdam& adam : single) adam.step(lr_factor(step));
  }
  for (std::size_t i = 0; i < all_of(together).size(); ++i)
    EXPECT_TRUE(at::equal(all_of(together)[i], all_of(alone)[i])) << i;
}

TEST(EmulatedAdam, OneLaunchAStepAndAddressesAreCopiedWhenTheyChange) {
  const EmulatedDevice device;
  const std::vector<AdamGroup> trained = groups();
  DeviceAdam adam(trained);
  emulated_adam_set_gradients(trained, 0);
  for (int step = 0; step < 3; ++step) {  // gradients stay where they are
    const std::uint64_t launches = emulation::statistics().launches;
    adam.step(lr_factor(step));
    EXPECT_EQ(emulation::statistics().launches - launches, 1U);
    EXPECT_EQ(adam.copies(), 2 + step) << "factors every step, addresses once";
  }
  std::vector<at::Tensor> parameters = all_of(trained);
  const at::Tensor before = parameters[0].grad();
  parameters[0].mutable_grad() = at::ones_like(parameters[0]);
  adam.step(1.0);
  EXPECT_EQ(adam.copies(), 6);
}

/// What a captured graph does: the arguments of the first launch again, whatever the host says since then.
std::function<void()> captured;

TEST(EmulatedAdam, ACapturedLaunchFindsTheStepsNumbersInMemory) {
  const std::vector<AdamGroup> expected = groups(), got = groups();
  const EmulatedDevice device;
  DeviceAdam reference(expected);
  for (int step = 0; step < kEmulatedAdamSteps; ++step) {
    emulated_adam_set_gradients(expected, step);
    reference.step(lr_factor(step));
  }
  CudaKernels kernels = *cuda_kernels();
  static const auto run_kernel = kernels.adam_update;
  kernels.adam_update = [](const cuda::AdamTensor* tensors, std::int64_t count, std::int64_t items,
                           const cuda::AdamFactors* factors, cuda::Stream stream) {
    captured = [=] { run_kernel(tensors, count, items, factors, stream); };
  };
  EngineContext::current().set_gpu(&kernels);
  DeviceAdam adam(got);
  for (int step = 0; step < kEmulatedAdamSteps; ++step) {
    emulated_adam_set_gradients(got, step);
    if (step == 2) {  // a copy of what has gaps is part of the graph
      at::Tensor head = got[1].parameters.front();
      head.mutable_grad() = head.grad().contiguous();
    }
    adam.prepare(lr_factor(step));
    if (step == 0) adam.launch();
    captured();
  }
  for (std::size_t i = 0; i < all_of(got).size(); ++i) EXPECT_TRUE(at::equal(all_of(got)[i], all_of(expected)[i])) << i;
}

TEST(EmulatedAdam, TakesFusedFloat32GroupsOfItsDeviceOnly) {
  const AdamGroup group{tensors({{3, 4}}), {.lr = 0.1}};
  EXPECT_FALSE(fits_device_adam(group)) << "there is no GPU";
  const EmulatedDevice device;
  EXPECT_TRUE(fits_device_adam(group));
  AdamGroup separate = group;
  separate.config.fused = false;
  EXPECT_FALSE(fits_device_adam(separate));
  EXPECT_FALSE(fits_device_adam({{at::randn({3}, at::kDouble)}, group.config}));
  EXPECT_FALSE(fits_device_adam({{at::randn({3, 4}).t()}, group.config}));
  EXPECT_FALSE(fits_device_adam({{at::empty({3}, at::TensorOptions().device(at::kMeta))}, group.config}));
  const ReferenceOps reference_ops;
  EXPECT_FALSE(fits_device_adam(group));
}

}  // namespace
}  // namespace nanobench::core::testing
