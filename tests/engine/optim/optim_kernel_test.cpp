// The optimisers' kernels against LibTorch's operations: several steps of the same training.
#include <gtest/gtest.h>

#include "engine/kernels/thread_pool.h"
#include "engine/optim/adam.h"
#include "engine/optim/muon.h"
#include "tests/engine/golden_support.h"
#include "tests/engine/reference_ops.h"

namespace nanobench::core::testing {
namespace {

/// Sizes as in a model: matrices of several shapes, a merged parameter and a stacked one.
std::vector<MuonParameter> muon_parameters() {
  at::manual_seed(5);
  std::vector<MuonParameter> parameters;
  const std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> shapes = {
      {{48, 48}, 1},     {{48, 192}, 1}, {{192, 48}, 1}, {{3, 48, 48}, 3},
      {{3 * 48, 48}, 3}, {{17, 40}, 1},  {{48, 48}, 1},  {{1, 8}, 1}};
  for (const auto& [shape, matrices] : shapes) parameters.push_back({at::randn(shape).requires_grad_(true), matrices});
  return parameters;
}

void train(Muon& muon, std::vector<MuonParameter>& parameters) {
  at::manual_seed(6);
  for (int step = 0; step < 4; ++step) {
    for (MuonParameter& parameter : parameters) {
      at::Tensor gradient = at::randn(parameter.tensor.sizes());
      if (step == 2 && gradient.dim() == 2) gradient = at::randn({gradient.size(1), gradient.size(0)}).t();
      parameter.tensor.mutable_grad() = gradient;
    }
    if (step == 1) parameters.front().tensor.mutable_grad() = at::Tensor();
    muon.step(1.0 - 0.1 * step, 0.85 + 0.03 * step);
  }
}

template <class Make>
auto by_reference_ops(Make&& make) {
  const ReferenceOps reference_ops;
  return make();
}

void expect_both_paths_agree(const OptimizerGroupConfig& config) {
  std::vector<MuonParameter> one = muon_parameters(), two = muon_parameters();
  Muon kernel(one, config), reference = by_reference_ops([&] { return Muon(two, config); });
  EXPECT_TRUE(kernel.uses_kernel());
  EXPECT_FALSE(reference.uses_kernel());
  train(kernel, one);
  train(reference, two);
  const std::vector<MuonParameter> start = muon_parameters();
  for (std::size_t i = 0; i < one.size(); ++i) {
    const at::Tensor moved = one[i].tensor.detach() - start[i].tensor.detach();
    EXPECT_LE(relative_error(moved, two[i].tensor.detach() - start[i].tensor.detach()), 2e-5) << "parameter " << i;
    EXPECT_LE(relative_error(kernel.momentum_buffer(i), reference.momentum_buffer(i)), 1e-6) << "parameter " << i;
  }
}

OptimizerGroupConfig optim_kernel_muon_config() {
  return {.type = OptimizerType::kMuon, .lr = 0.05, .ns_dtype = NewtonSchulzDtype::kCompute};
}

TEST(MuonKernel, AgreesWithTheReferenceInEveryForm) {
  for (const NewtonSchulzForm form : {NewtonSchulzForm::kGrouped, NewtonSchulzForm::kTerms}) {
    for (const MomentumForm momentum : {MomentumForm::kLerp, MomentumForm::kAccumulate}) {
      for (const bool nesterov : {false, true}) {
        for (const ScaleApplication application : {ScaleApplication::kRate, ScaleApplication::kUpdate}) {
          OptimizerGroupConfig config = optim_kernel_muon_config();
          config.ns_form = form;
          config.momentum_form = momentum;
          config.nesterov = nesterov;
          config.scale_application = application;
          config.update_scale = UpdateScale::kSqrtLargestSide;
          expect_both_paths_agree(config);
        }
      }
    }
  }
}

TEST(MuonKernel, LeavesWhatItCannotDoToTheReference) {
  std::vector<OptimizerGroupConfig> configs(2, optim_kernel_muon_config());
  configs[0].orthogonalizer = Orthogonalizer::kSvd;
  configs[1].ns_dtype = NewtonSchulzDtype::kBfloat16;
  for (const OptimizerGroupConfig& config : configs) EXPECT_FALSE(Muon(muon_parameters(), config).uses_kernel());
  EXPECT_FALSE(Muon({{at::randn({4, 4}, at::kDouble)}}, optim_kernel_muon_config()).uses_kernel());
  EXPECT_FALSE(Muon({{at::randn({4, 6}).t()}}, optim_kernel_muon_config()).uses_kernel());
}

TEST(MuonKernel, OneParameterAloneGetsTheBitsThatItGetsAmongOthers) {
  std::vector<MuonParameter> parameters = muon_parameters(), alone = muon_parameters();
  const OptimizerGroupConfig config = optim_kernel_muon_config();
  at::manual_seed(8);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].tensor.mutable_grad() = at::randn(parameters[i].tensor.sizes());
    alone[i].tensor.mutable_grad() = parameters[i].tensor.grad().clone();
  }
  EngineContext context;
  context.set_threads(3);
  Muon(parameters, config).step(0.5, 0.9);
  context.set_threads(1);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Muon({alone[i]}, config).step(0.5, 0.9);
    EXPECT_TRUE(at::equal(alone[i].tensor, parameters[i].tensor)) << i;
  }
}

std::vector<at::Tensor> adam_parameters() {
  at::manual_seed(9);
  std::vector<at::Tensor> parameters;
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{300, 100}, {1}, {12}, {2}, {7, 5}, {}})
    parameters.push_back(at::randn(shape).requires_grad_(true));
  return parameters;
}

void train(Adam& adam, std::vector<at::Tensor>& parameters) {
  at::manual_seed(10);
  for (int step = 0; step < 4; ++step) {
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::randn(parameter.sizes());
    if (step == 1) parameters[1].mutable_grad() = at::Tensor();
    if (step == 2) parameters[0].mutable_grad() = at::randn({100, 300}).t();
    adam.step(1.0 - 0.1 * step);
  }
}

TEST(AdamKernel, AgreesWithTheReference) {
  for (const double weight_decay : {0.0, 0.1}) {
    for (const StoredPrecision storage : {StoredPrecision::kFloat32, StoredPrecision::kBfloat16}) {
      const OptimizerGroupConfig config{.lr = 0.02, .eps = 1e-8, .weight_decay = weight_decay};
      std::vector<at::Tensor> one = adam_parameters(), two = adam_parameters();
      Adam kernel(one, config, storage), reference = by_reference_ops([&] { return Adam(two, config, storage); });
      EXPECT_TRUE(kernel.uses_kernel());
      EXPECT_FALSE(reference.uses_kernel());
      train(kernel, one);
      train(reference, two);
      // Where the last bit differs, one number in a thousand is rounded to the other neighbour, 2^-8 away.
      const double tolerance = storage == StoredPrecision::kFloat32 ? 1e-6 : 5e-4;
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_LE(relative_error(one[i], two[i]), tolerance) << i;
        EXPECT_LE(relative_error(kernel.first_moments()[i], reference.first_moments()[i]), tolerance) << i;
        EXPECT_LE(relative_error(kernel.second_moments()[i], reference.second_moments()[i]), tolerance) << i;
      }
    }
  }
}

TEST(AdamKernel, LeavesWhatItCannotDoToTheReference) {
  OptimizerGroupConfig config{.lr = 0.02};
  EXPECT_FALSE(Adam({at::randn({3}, at::kDouble)}, config).uses_kernel());
  EXPECT_FALSE(Adam({at::randn({3, 4}).t()}, config).uses_kernel());
  config.fused = false;
  EXPECT_FALSE(Adam({at::randn({3})}, config).uses_kernel());
}

}  // namespace
}  // namespace nanobench::core::testing
