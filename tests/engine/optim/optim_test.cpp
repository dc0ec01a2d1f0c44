// Optimiser settings that the golden cases do not have: weight decay, clipping, master weights, schedules, forms.
#include <gtest/gtest.h>

#include <cmath>

#include "core/config/schedule.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/orthogonalize.h"
#include "engine/optim/adam.h"
#include "engine/optim/muon.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/optimizer_set.h"
#include "engine/optim/sharded_muon.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

TEST(Adam, DecayIsDecoupledAndBothImplementationsAgree) {
  at::manual_seed(1);
  const at::Tensor start = at::randn({6, 5}, at::kDouble);
  at::Tensor fused = start.clone().requires_grad_(true), plain = fused.detach().clone().requires_grad_(true);
  OptimizerGroupConfig config{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.3};
  Adam one({fused}, config);
  config.fused = false;
  Adam two({plain}, config);
  at::Tensor expected = start.clone(), m = at::zeros_like(start), v = at::zeros_like(start);
  for (int t = 1; t <= 5; ++t) {
    const at::Tensor g = at::randn({6, 5}, at::kDouble);
    fused.mutable_grad() = g.clone();
    plain.mutable_grad() = g.clone();
    one.step(0.5);
    two.step(0.5);
    m = 0.9 * m + 0.1 * g;
    v = 0.95 * v + 0.05 * g * g;
    expected = expected * (1 - 0.05 * 0.3) -
               0.05 * (m / (1 - std::pow(0.9, t))) / (at::sqrt(v / (1 - std::pow(0.95, t))) + 1e-8);
    EXPECT_LE(relative_error(fused, expected), 1e-13) << t;
    EXPECT_LE(relative_error(plain, expected), 1e-13) << t;
  }
}

Parameters two_parameters() {
  Parameters parameters;
  for (const char* name : {"a", "b"}) {
    at::Tensor tensor = parameters.add({.name = name, .values = {1.0}}, {4}, at::kDouble);
    tensor.mutable_grad() = at::full({4}, name[0] == 'a' ? 3.0 : 4.0, at::kDouble);
  }
  return parameters;
}

TEST(GradientClip, GlobalNormShrinksAllAlikeAndOnlyWhenTooLong) {
  Parameters parameters = two_parameters();  // norms 6 and 8: together 10
  clip_gradients(parameters, {.type = GradientClipType::kGlobalNorm, .max_norm = 5.0});
  EXPECT_NEAR(parameters.all()[0].tensor.grad()[0].item<double>(), 1.5, 1e-6);
  EXPECT_NEAR(parameters.all()[1].tensor.grad()[0].item<double>(), 2.0, 1e-6);
  Parameters short_ones = two_parameters();
  clip_gradients(short_ones, {.type = GradientClipType::kGlobalNorm, .max_norm = 11.0});
  EXPECT_EQ(short_ones.all()[0].tensor.grad()[0].item<double>(), 3.0);
}

TEST(GradientClip, PerParameterMakesEachAUnitVector) {
  Parameters parameters = two_parameters();
  clip_gradients(parameters, {.type = GradientClipType::kPerParameter});
  for (const Parameter& parameter : parameters.all())
    EXPECT_NEAR(parameter.tensor.grad().norm().item<double>(), 1.0, 1e-6) << parameter.name;
}

TEST(MasterWeights, KeepWhatRoundingWouldLose) {
  Parameters parameters;
  at::Tensor p = parameters.add({.name = "p", .values = {1.0}}, {4096}, at::kFloat);
  p.detach().fill_(1.0);
  MasterWeights masters({p}, ParameterStorage::kBfloat16Stochastic, 3);
  for (int step = 0; step < 8; ++step) {  // an eighth of a bfloat16 place each time
    masters.unround();
    p.detach().add_(1.0f / 1024);
    masters.round();
    EXPECT_TRUE(at::equal(p.detach(), round_to_bfloat16(p.detach())));
  }
  EXPECT_TRUE(p.detach().eq(1.0f + 1.0f / 128).all().item<bool>());  // all of it arrived
}

TEST(MasterWeights, CutOffTowardZeroAndKeepTheRest) {
  constexpr float kPlace = 1.0f / 128;  // of bfloat16 from 1 to 2
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor p = at::tensor({1.0f, -1.0f, 1.0f + 0.75f * kPlace}, at::kFloat).to(dtype);
    MasterWeights masters({p}, ParameterStorage::kBfloat16Truncated, /*seed=*/0);
    EXPECT_TRUE(at::equal(p, at::tensor({1.0f, -1.0f, 1.0f + kPlace}, at::kFloat).to(dtype))) << "starts rounded";
    const auto add = [&](double places) {
      masters.unround();
      p.add_(at::tensor({1.0f, -1.0f, 1.0f}, at::kFloat).to(dtype), places * kPlace);
      masters.round();
    };
    add(0.75);
    EXPECT_TRUE(at::equal(p, at::tensor({1.0f, -1.0f, 1.0f + kPlace}, at::kFloat).to(dtype))) << "nothing rounds up";
    add(0.5);
    EXPECT_TRUE(at::equal(p, at::tensor({1.0f + kPlace, -1.0f - kPlace, 1.0f + 2 * kPlace}, at::kFloat).to(dtype)))
        << "the lower halves add up";
  }
}

TEST(Schedule, CosineGoesFromWarmUpToTheFloor) {
  const ScheduleConfig schedule{
      .num_steps = 100, .learning_rate = {.shape = LearningRateShape::kCosine, .warmup_steps = 10, .floor = 0.2}};
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 0), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 9), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 10), 1.0);
  EXPECT_NEAR(learning_rate_factor(schedule, 55), 0.6, 1e-12);  // half way
  EXPECT_NEAR(learning_rate_factor(schedule, 100), 0.2, 1e-12);
  // llm.c's rate of step 10000 of 19560 with 700 warm-up steps and peak 6e-4, by its formula.
  const ScheduleConfig official{.num_steps = 19560,
                                .learning_rate = {.shape = LearningRateShape::kCosine, .warmup_steps = 700}};
  EXPECT_NEAR(6e-4 * learning_rate_factor(official, 10000), 6e-4 * 0.5 * (1 + std::cos(M_PI * 9300.0 / 18860.0)),
              1e-15);
}

TEST(Schedule, ACooldownLongerThanTheRunBeginsBelowOne) {
  const ScheduleConfig schedule{.num_steps = 10, .learning_rate = {.cooldown_steps = 20}};
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 0), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 9), 0.05);
}

TEST(NewtonSchulz, BothFormsAreTheSamePolynomial) {
  at::manual_seed(2);
  const at::Tensor g = at::randn({3, 12, 20}, at::kDouble);
  NewtonSchulzOptions options;
  const at::Tensor grouped = newton_schulz(g, options);
  options.form = NewtonSchulzForm::kTerms;
  EXPECT_LE(relative_error(newton_schulz(g, options), grouped), 1e-12);
  options.dtype = NewtonSchulzDtype::kBfloat16;
  const at::Tensor terms = newton_schulz(g.to(at::kFloat), options);
  EXPECT_LE(relative_error(terms, grouped), 0.1);
  options.norm = NewtonSchulzNorm::kExact;
  EXPECT_LE(relative_error(newton_schulz(g.to(at::kFloat), options), grouped), 0.1);
  EXPECT_FALSE(at::equal(newton_schulz(g.to(at::kFloat), options), terms));
}

/// One Muon step on a stacked (3 D, D) parameter.
at::Tensor stacked_update(std::int64_t matrices, const at::Tensor& gradient, OptimizerGroupConfig config) {
  at::Tensor parameter = at::zeros_like(gradient).requires_grad_(true);
  parameter.mutable_grad() = gradient.clone();
  Muon muon({{parameter, matrices}}, config);
  muon.step(1.0, 0.0);
  return parameter.detach();
}

TEST(Muon, StackedQkvIsSplitOrTakenWhole) {
  at::manual_seed(3);
  const at::Tensor gradient = at::randn({24, 8}, at::kDouble);
  const OptimizerGroupConfig config{.type = OptimizerType::kMuon, .lr = 1.0, .ns_dtype = NewtonSchulzDtype::kCompute};
  const at::Tensor whole = stacked_update(1, gradient, config), split = stacked_update(3, gradient, config);
  EXPECT_LE(relative_error(whole, -std::sqrt(3.0) * newton_schulz(gradient, {})), 1e-12);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_LE(relative_error(split.narrow(0, 8 * i, 8), -newton_schulz(gradient.narrow(0, 8 * i, 8), {})), 1e-12);
  }
}

TEST(Muon, ScaleInTheUpdateIsRoundedWithIt) {
  at::manual_seed(4);
  const at::Tensor gradient = at::randn({8, 12});
  OptimizerGroupConfig config{.type = OptimizerType::kMuon, .lr = 1.0, .update_scale = UpdateScale::kSqrtLargestSide};
  const at::Tensor in_rate = stacked_update(1, gradient, config);
  config.scale_application = ScaleApplication::kUpdate;
  const at::Tensor in_update = stacked_update(1, gradient, config);
  EXPECT_TRUE(at::equal(in_update, round_to_bfloat16(in_update)));
  EXPECT_FALSE(at::equal(in_rate, in_update));
  EXPECT_LE(relative_error(in_update, in_rate), 1.0 / 256);
}

/// A step after restore() gives the bits of the step after state().
template <class Make>
void expect_restorable(Make&& make) {
  at::manual_seed(5);
  at::Tensor parameter = at::randn({16, 16}).requires_grad_(true);
  const std::vector<at::Tensor> gradients = {at::randn({16, 16}), at::randn({16, 16})};
  const std::unique_ptr<Optimizer> optimizer = make(parameter);
  const auto step = [&](const at::Tensor& gradient) {
    parameter.mutable_grad() = gradient.clone();
    optimizer->step(0.5, 0.9);
  };
  step(gradients[0]);
  const at::Tensor before = parameter.detach().clone();
  const OptimizerState state = optimizer->state();
  step(gradients[1]);
  const at::Tensor expected = parameter.detach().clone();
  parameter.detach().copy_(before);
  step(gradients[1]);
  EXPECT_FALSE(at::equal(parameter.detach(), expected)) << "the state does not matter";
  parameter.detach().copy_(before);
  optimizer->restore(state);
  step(gradients[1]);
  EXPECT_TRUE(at::equal(parameter.detach(), expected));
}

TEST(Optimizer, StateCanBePutBack) {
  SingleProcess alone;
  const auto muon_config = OptimizerGroupConfig{.type = OptimizerType::kMuon, .lr = 0.1};
  expect_restorable([&](const at::Tensor& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Adam>(std::vector<at::Tensor>{p}, OptimizerGroupConfig{.lr = 0.1});
  });
  expect_restorable([&](const at::Tensor& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Muon>(std::vector<MuonParameter>{{p}}, muon_config);
  });
  expect_restorable([&](const at::Tensor& p) -> std::unique_ptr<Optimizer> {
    return std::make_unique<ShardedMuon>(std::vector<MuonParameter>{{p}}, muon_config, DistributedConfig{}, alone);
  });
}

TEST(MuonRate, TheScaleOfTheShapeIsInOneFactor) {
  OptimizerGroupConfig config{.type = OptimizerType::kMuon, .lr = 0.5, .update_scale = UpdateScale::kSqrtLargestSide};
  EXPECT_DOUBLE_EQ(muon_rate(config, 4, 16).at(0.5), 1.0);
  EXPECT_DOUBLE_EQ(muon_rate(config, 4, 16).update_scale, 1.0);
  config.scale_application = ScaleApplication::kUpdate;
  EXPECT_DOUBLE_EQ(muon_rate(config, 4, 16).at(0.5), 0.25);
  EXPECT_DOUBLE_EQ(muon_rate(config, 4, 16).update_scale, 4.0);
}

}  // namespace
}  // namespace nanobench::core::testing
