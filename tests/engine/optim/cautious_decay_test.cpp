// Decay by the square of the rate, blockwise second moments and late untying, by the formulas of records #42 to #53.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/optim/adam.h"
#include "engine/optim/blockwise_moment.h"
#include "engine/optim/muon_rate.h"

namespace nanobench::core::testing {
namespace {

at::Tensor numbers(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kDouble);
}

/// The parameter after one step of Adam at rate 0.1; the update is 0.1 times the sign of the gradient.
at::Tensor after_adam(CautiousCondition condition, double decay) {
  at::Tensor p = numbers({1.0, 1.0, 1.0}).requires_grad_();
  p.mutable_grad() = numbers({2.0, -2.0, 0.0});
  Adam adam({p}, {.lr = 0.1, .cautious_decay = decay, .cautious_condition = condition, .eps = 0.0});
  adam.step(1.0);
  return p.detach();
}

TEST(CautiousDecay, OfAdamActsWhereTheUpdateShrinks) {
  constexpr double kShare = 0.1 * 0.1 * 3.0;
  const at::Tensor positive = after_adam(CautiousCondition::kPositive, 3.0);
  EXPECT_NEAR(positive[0].item<double>(), 1.0 - 0.1 - kShare, 1e-12);
  EXPECT_NEAR(positive[1].item<double>(), 1.0 + 0.1, 1e-12);
}

TEST(CautiousDecay, OfAdamTakesNumbersWithoutUpdateIfItIsToldSo) {
  at::Tensor p = numbers({1.0}).requires_grad_();
  Adam strict({p}, {.lr = 0.1, .cautious_decay = 3.0, .cautious_condition = CautiousCondition::kPositive});
  strict.step(1.0);
  EXPECT_DOUBLE_EQ(p.item<double>(), 1.0);
  Adam loose({p}, {.lr = 0.1, .cautious_decay = 3.0, .cautious_condition = CautiousCondition::kNotNegative});
  loose.step(1.0);
  EXPECT_DOUBLE_EQ(p.item<double>(), 1.0 - 0.1 * 0.1 * 3.0);
}

TEST(CautiousDecay, OfMuonHasTheShapesFactorOnce) {
  const at::Tensor p = at::full({4, 1}, 2.0, at::kDouble);
  const at::Tensor update = numbers({0.5, -0.5, 0.0, 0.5}).view({4, 1});
  const OptimizerGroupConfig config{.type = OptimizerType::kMuon,
                                    .lr = 0.1,
                                    .cautious_decay = 1.2,
                                    .update_scale = UpdateScale::kSqrtRowsOverColumns,
                                    .rate_multiplier = 3.0,
                                    .blockwise = true};
  apply_muon_update({.tensor = p}, update, config, /*lr_factor=*/0.5);
  constexpr double kRate = 0.05, kFactor = 2.0 * 3.0;  // sqrt(4 / 1) and the multiplier
  const double decayed = 2.0 * (1.0 - 1.2 * kRate * kRate * kFactor);
  EXPECT_NEAR(p[0].item<double>(), decayed - 0.5 * kRate * kFactor, 1e-12);
  EXPECT_NEAR(p[1].item<double>(), 2.0 + 0.5 * kRate * kFactor, 1e-12);
  EXPECT_NEAR(p[2].item<double>(), decayed, 1e-12) << "zero counts as shrinking";
}

TEST(BlockwiseMoment, KeepsTheNormOfEachMatrixAndFollowsTheChosenShape) {
  at::manual_seed(3);
  const MuonParameter wide{.tensor = at::zeros({3, 12}, at::kDouble), .matrices = 4, .matrix_columns = 3};
  OptimizerGroupConfig config{.type = OptimizerType::kMuon,
                              .ns_dtype = NewtonSchulzDtype::kCompute,
                              .second_moment_beta2 = 0.9,
                              .blockwise = true};
  BlockwiseMoment by_matrix({wide}, config);
  config.shape_of = ShapeSource::kStored;
  BlockwiseMoment by_parameter({wide}, config);
  at::Tensor a = at::randn({4, 3, 3}, at::kDouble), b = a.clone();
  const at::Tensor before = at::linalg_vector_norm(a, 2, at::IntArrayRef{1, 2});
  const at::Tensor rows = a.square().mean(-1, /*keepdim=*/true), columns = a.square().mean(-2, /*keepdim=*/true);
  by_matrix.normalize_(0, a);
  by_parameter.normalize_(0, b);
  EXPECT_TRUE(at::allclose(at::linalg_vector_norm(a, 2, at::IntArrayRef{1, 2}), before, 1e-12));
  EXPECT_TRUE(at::allclose(by_matrix.moments()[0], 0.1 * rows, 1e-12)) << "a square matrix: over each row";
  EXPECT_TRUE(at::allclose(by_parameter.moments()[0], 0.1 * columns, 1e-12)) << "stored as 3 x 12: over each column";
  EXPECT_FALSE(at::allclose(a, b, 1e-3));
}

}  // namespace
}  // namespace nanobench::core::testing
