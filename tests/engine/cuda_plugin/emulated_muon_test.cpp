// The engine's Muon in bfloat16 through the GPU's kernels, which run emulated on the CPU: against its operations.
#include <block_runner.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/optim/muon.h"
#include "engine/optim/sharded_muon.h"
#include "tests/engine/cuda_plugin/emulated_device.h"
#include "tests/engine/golden_support.h"
#include "tests/engine/reference_ops.h"

namespace nanobench::core::testing {
namespace {

/// Matrices of five shapes, wide, tall and square, merged and stacked parameters.
std::vector<MuonParameter> muon_parameters() {
  at::manual_seed(5);
  std::vector<MuonParameter> parameters;
  const std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> shapes = {
      {{16, 16}, 1}, {{16, 64}, 1}, {{64, 16}, 1}, {{3, 16, 16}, 3}, {{3 * 16, 16}, 3}, {{16, 40}, 1}, {{8, 136}, 1}};
  for (const auto& [shape, matrices] : shapes) parameters.push_back({at::randn(shape).requires_grad_(true), matrices});
  return parameters;
}
constexpr std::size_t kBatches = 5;

void emulated_muon_set_gradients(std::vector<MuonParameter>& parameters, int step) {
  at::manual_seed(static_cast<std::uint64_t>(30 + step));
  for (MuonParameter& parameter : parameters) parameter.tensor.mutable_grad() = at::randn(parameter.tensor.sizes());
  if (step == 1) parameters[3].tensor.mutable_grad() = at::Tensor();
  if (step == 2) parameters[1].tensor.mutable_grad() = at::randn({64, 16}).t();
}

template <class Optimizer>
void emulated_muon_train(Optimizer& muon, std::vector<MuonParameter>& parameters) {
  for (int step = 0; step < 3; ++step) {
    emulated_muon_set_gradients(parameters, step);
    muon.step(1.0 - 0.1 * step, 0.85 + 0.05 * step);
  }
}

OptimizerGroupConfig muon_config() {
  return {.type = OptimizerType::kMuon, .lr = 0.05, .ns_dtype = NewtonSchulzDtype::kBfloat16};
}

struct EmulatedMuonTrained {
  std::vector<at::Tensor> moved, momentum;
};

EmulatedMuonTrained emulated_muon_train(const OptimizerGroupConfig& config, bool on_device) {
  std::vector<MuonParameter> parameters = muon_parameters();
  Muon muon(parameters, config);
  EXPECT_EQ(muon.uses_device_kernels(), on_device);
  emulated_muon_train(muon, parameters);
  EmulatedMuonTrained trained;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    trained.moved.push_back(parameters[i].tensor.detach() - muon_parameters()[i].tensor.detach());
    trained.momentum.push_back(muon.momentum_buffer(i));
  }
  return trained;
}

/// Roundings to bfloat16 flip where sums differ in their last bits, and the iterations magnify that: the kernels must
/// be as near to the exact iterations as the operations are.
void expect_as_good_as_operations(const OptimizerGroupConfig& config) {
  OptimizerGroupConfig exact_config = config;
  exact_config.ns_dtype = NewtonSchulzDtype::kCompute;
  const EmulatedMuonTrained exact = emulated_muon_train(exact_config, false),
                            expected = emulated_muon_train(config, false);
  const EmulatedDevice device;
  const EmulatedMuonTrained got = emulated_muon_train(config, true);
  for (std::size_t i = 0; i < got.moved.size(); ++i) {
    const double rounding = relative_error(expected.moved[i], exact.moved[i]);
    EXPECT_LT(rounding, 0.1) << "parameter " << i;
    EXPECT_LT(relative_error(got.moved[i], exact.moved[i]), 1.25 * rounding) << "parameter " << i;
    EXPECT_LT(relative_error(got.momentum[i], expected.momentum[i]), 1e-6) << "parameter " << i;
  }
}

struct MuonForm {
  const char* name;
  NewtonSchulzForm form;
  NewtonSchulzNorm norm;
  MomentumForm momentum;
  bool nesterov;
  ScaleApplication application;
  NewtonSchulzRounding rounding = NewtonSchulzRounding::kEachOperation;
};

class EmulatedMuonForms : public ::testing::TestWithParam<MuonForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, EmulatedMuonForms,
                         ::testing::Values(MuonForm{"record15", NewtonSchulzForm::kGrouped, NewtonSchulzNorm::kRounded,
                                                    MomentumForm::kLerp, true, ScaleApplication::kRate},
                                           MuonForm{"record8", NewtonSchulzForm::kTerms, NewtonSchulzNorm::kRounded,
                                                    MomentumForm::kAccumulate, true, ScaleApplication::kUpdate},
                                           MuonForm{"exact_norm", NewtonSchulzForm::kGrouped, NewtonSchulzNorm::kExact,
                                                    MomentumForm::kAccumulate, false, ScaleApplication::kUpdate},
                                           MuonForm{"plain_average", NewtonSchulzForm::kTerms, NewtonSchulzNorm::kExact,
                                                    MomentumForm::kLerp, false, ScaleApplication::kRate},
                                           MuonForm{"record27", NewtonSchulzForm::kGrouped, NewtonSchulzNorm::kRounded,
                                                    MomentumForm::kLerp, true, ScaleApplication::kRate,
                                                    NewtonSchulzRounding::kFused}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EmulatedMuonForms, AreAsGoodAsTheOperations) {
  const MuonForm& form = GetParam();
  OptimizerGroupConfig config = muon_config();
  config.ns_form = form.form;
  config.ns_norm = form.norm;
  config.momentum_form = form.momentum;
  config.nesterov = form.nesterov;
  config.scale_application = form.application;
  config.ns_rounding = form.rounding;
  config.update_scale = UpdateScale::kSqrtLargestSide;
  expect_as_good_as_operations(config);
}

TEST(EmulatedMuon, NoIterationsLeaveTheBitsOfTheOperations) {
  OptimizerGroupConfig config = muon_config();
  config.ns_steps = 0;
  // A rounded norm may fall on the other side, 2^-8 away, and then all of its matrix; else a number does now and then.
  for (const auto& [norm, tolerance] :
       {std::pair(NewtonSchulzNorm::kRounded, 1.0 / 256), std::pair(NewtonSchulzNorm::kExact, 1e-4)}) {
    config.ns_norm = norm;
    const EmulatedMuonTrained expected = emulated_muon_train(config, false);
    const EmulatedDevice device;
    const EmulatedMuonTrained got = emulated_muon_train(config, true);
    for (std::size_t i = 0; i < got.moved.size(); ++i)
      EXPECT_LT(relative_error(got.moved[i], expected.moved[i]), tolerance) << i;
  }
}

TEST(EmulatedMuon, AFewLaunchesForAllMatricesOfAShape) {
  const EmulatedDevice device;
  // Beside products of cuBLAS: one in an iteration, two where each operation is rounded.
  for (const auto& [rounding, of_an_iteration] :
       {std::pair(NewtonSchulzRounding::kFused, 2U), std::pair(NewtonSchulzRounding::kEachOperation, 4U)}) {
    OptimizerGroupConfig config = muon_config();
    config.ns_rounding = rounding;
    std::vector<MuonParameter> parameters = muon_parameters();
    Muon muon(parameters, config);
    emulated_muon_set_gradients(parameters, 0);
    const std::uint64_t launches = emulation::statistics().launches;
    muon.step(1.0, 0.9);
    EXPECT_EQ(emulation::statistics().launches - launches, kBatches * (3 + 5 * of_an_iteration));
  }
}

TEST(EmulatedMuon, AParameterAloneGetsWhatItGetsAmongOthers) {
  const EmulatedDevice device;
  OptimizerGroupConfig config = muon_config();
  config.scale_application = ScaleApplication::kUpdate;
  config.update_scale = UpdateScale::kSqrtLargestSide;
  std::vector<MuonParameter> together = muon_parameters(), alone = muon_parameters();
  Muon muon(together, config);
  SingleProcess process;
  ShardedMuon sharded(alone, config, {}, process);  // updates one by one, applied by operations
  EXPECT_EQ(sharded.paths(), std::set<UpdatePath>{UpdatePath::kGpuKernels});
  emulated_muon_train(muon, together);
  emulated_muon_train(sharded, alone);
  for (std::size_t i = 0; i < together.size(); ++i)
    EXPECT_LT(relative_error(alone[i].tensor, together[i].tensor), 1e-6) << i;
}

/// Where the launches of a step find what the host says.
std::set<const void*> places;

TEST(EmulatedMuon, LaunchesFindTheStepsNumbersInTheSamePlaces) {
  const EmulatedDevice device;
  CudaKernels kernels = *cuda_kernels();
  static const auto momentum = kernels.muon_momentum;
  static const auto apply = kernels.muon_apply;
  kernels.muon_momentum = [](const cuda::MuonShape& shape, const cuda::MuonMomentum& form,
                             const cuda::MuonFactors* factors, const float* const* gradients, float* buffer,
                             cuda::bf16* update, float* partials, cuda::Stream stream) {
    places.insert({factors, gradients, buffer});
    momentum(shape, form, factors, gradients, buffer, update, partials, stream);
  };
  kernels.muon_apply = [](const cuda::MuonShape& shape, const cuda::bf16* update, float scale,
                          const cuda::MuonFactors* factors, float* const* parameters, cuda::bf16* const* copies,
                          cuda::Stream stream) {
    places.insert({factors, parameters});
    apply(shape, update, scale, factors, parameters, copies, stream);
  };
  EngineContext::current().set_gpu(&kernels);
  std::vector<MuonParameter> parameters = muon_parameters();
  Muon muon(parameters, muon_config());
  std::set<const void*> first;
  for (int step = 0; step < 3; ++step) {
    emulated_muon_set_gradients(parameters, step);
    places.clear();
    muon.step(1.0 - 0.1 * step, 0.9 + 0.01 * step);
    EXPECT_EQ(places.size(), 4 * kBatches);
    if (step == 0) first = places;
    EXPECT_EQ(places, first) << step;
  }
}

TEST(EmulatedMuon, TakesBfloat16IterationsOfItsDeviceOnly) {
  EXPECT_FALSE(Muon(muon_parameters(), muon_config()).uses_device_kernels()) << "there is no GPU";
  const EmulatedDevice device;
  EXPECT_TRUE(Muon(muon_parameters(), muon_config()).uses_device_kernels());
  std::vector<OptimizerGroupConfig> configs(2, muon_config());
  configs[0].orthogonalizer = Orthogonalizer::kSvd;
  configs[1].ns_dtype = NewtonSchulzDtype::kCompute;
  for (const OptimizerGroupConfig& config : configs)
    EXPECT_FALSE(Muon(muon_parameters(), config).uses_device_kernels());
  EXPECT_FALSE(Muon({}, muon_config()).uses_device_kernels());
  EXPECT_FALSE(Muon({{at::randn({12, 16})}}, muon_config()).uses_device_kernels());
  EXPECT_FALSE(Muon({{at::randn({16, 16}, at::kDouble)}}, muon_config()).uses_device_kernels());
  EXPECT_FALSE(Muon({{at::randn({16, 8}).t()}}, muon_config()).uses_device_kernels());
  EXPECT_FALSE(
      Muon({{at::empty({16, 16}, at::TensorOptions().device(at::kMeta))}}, muon_config()).uses_device_kernels());
  const ReferenceOps reference_ops;
  EXPECT_FALSE(Muon(muon_parameters(), muon_config()).uses_device_kernels());
}

}  // namespace
}  // namespace nanobench::core::testing
