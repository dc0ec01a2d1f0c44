// Scattered sums of gradients: each process gets the sums of what it updates, and the shares cover every parameter
// once.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "engine/distributed/gradient_scatter.h"
#include "engine/optim/parameter_slices.h"
#include "tests/engine/distributed/process_threads.h"

namespace nanobench::core::testing {
namespace {

/// Three matrices of 96 elements in two shapes, a table that divides among two and three processes, and a scalar.
Parameters scatter_parameters() {
  Parameters parameters;
  const auto add = [&](const char* name, ParameterGroup group, at::IntArrayRef shape) {
    parameters.add({.name = name, .group = group, .values = {0.0}}, shape, at::kFloat);
  };
  add("a", ParameterGroup::kHiddenMatrices, {8, 12});
  add("table", ParameterGroup::kEmbeddings, {32, 9});
  add("b", ParameterGroup::kHiddenMatrices, {12, 8});
  add("scalar", ParameterGroup::kScalars, {3});
  add("c", ParameterGroup::kHiddenMatrices, {8, 12});
  return parameters;
}

TrainConfig scatter_config(MuonGroups grouping) {
  TrainConfig config;
  config.optimizer.hidden_matrices.type = OptimizerType::kMuon;
  config.distributed.gradient_sums = GradientSums::kOwners;
  config.distributed.muon_groups = grouping;
  return config;
}

at::Tensor gradient_of(std::size_t parameter, int rank, const at::Tensor& like) {
  const at::Tensor index = at::arange(like.numel(), at::kDouble);
  return at::sin(index * 0.37 + static_cast<double>(parameter) + 3.0 * rank).to(at::kFloat).view(like.sizes());
}

at::Tensor sum_of_ranks(std::size_t parameter, int processes, const at::Tensor& like) {
  at::Tensor sum = gradient_of(parameter, 0, like);
  for (int rank = 1; rank < processes; ++rank) sum = sum + gradient_of(parameter, rank, like);
  return sum;
}

TEST(UpdateOwners, EachParameterIsInOneShare) {
  const Parameters parameters = scatter_parameters();
  const UpdateOwners by_elements = update_owners(parameters, scatter_config(MuonGroups::kElements), 2);
  EXPECT_EQ(by_elements.rounds, (std::vector<std::vector<std::size_t>>{{0, 2}, {4}}));
  const UpdateOwners by_shape = update_owners(parameters, scatter_config(MuonGroups::kShape), 2);
  EXPECT_EQ(by_shape.rounds, (std::vector<std::vector<std::size_t>>{{0, 4}, {2}}));
  EXPECT_EQ(by_shape.sliced, std::vector<std::size_t>{1});
  EXPECT_EQ(by_shape.replicated, std::vector<std::size_t>{3});
  TrainConfig adam = scatter_config(MuonGroups::kElements);
  adam.optimizer.hidden_matrices = OptimizerGroupConfig{};
  EXPECT_TRUE(update_owners(parameters, adam, 2).rounds.empty());
  EXPECT_EQ(update_owners(parameters, adam, 2).sliced, (std::vector<std::size_t>{0, 1, 2, 4}));
}

TEST(GradientScatter, EachProcessHasTheSumsOfWhatItUpdates) {
  for (const int processes : {2, 3}) {
    for (const MuonGroups grouping : {MuonGroups::kElements, MuonGroups::kShape}) {
      NB_EXPECT_NO_FAILURE(play_processes(processes, [&](Communicator& communicator) {
        const int rank = communicator.rank();
        Parameters parameters = scatter_parameters();
        const TrainConfig config = scatter_config(grouping);
        GradientScatter scatter(parameters, config, communicator);
        scatter.zero_gradients();
        for (std::size_t i = 0; i < parameters.all().size(); ++i) {
          at::Tensor& tensor = parameters.all()[i].tensor;
          tensor.mutable_grad() = gradient_of(i, rank, tensor);
        }
        scatter.after_backward(SyncPoint::kNone);
        EXPECT_EQ(communicator.counts().reduce_scatter.calls, 0);
        scatter.after_backward(SyncPoint::kStep);
        const auto sum = [&](std::size_t i) { return sum_of_ranks(i, processes, parameters.all()[i].tensor); };
        const UpdateOwners owners = update_owners(parameters, config, processes);
        for (const std::vector<std::size_t>& round : owners.rounds) {
          if (static_cast<std::size_t>(rank) >= round.size()) continue;
          const std::size_t own = round[static_cast<std::size_t>(rank)];
          EXPECT_TRUE(at::equal(parameters.all()[own].tensor.grad(), sum(own))) << own;
        }
        ParameterSlices slices(parameters, config, communicator);
        slices.bind_gradients();
        ASSERT_EQ(owners.sliced, std::vector<std::size_t>{1});
        EXPECT_TRUE(at::equal(slices.updated_part(1).grad(), sum(1).view({processes, -1})[rank]));
        EXPECT_TRUE(at::equal(parameters.all()[3].tensor.grad(), sum(3)));
      }));
    }
  }
}

TEST(ParameterSlices, ComeTogetherAfterTheStepsOfTheirGroup) {
  TrainConfig config = scatter_config(MuonGroups::kElements);
  config.optimizer.embeddings.step_every = 2;
  NB_EXPECT_NO_FAILURE(play_processes(2, [&](Communicator& communicator) {
    Parameters parameters = scatter_parameters();
    ParameterSlices slices(parameters, config, communicator);
    const at::Tensor table = parameters.all()[1].tensor.detach();
    slices.updated_part(1).fill_(communicator.rank() + 1);
    slices.gather(0);
    EXPECT_EQ(table.sum().item<float>(), 144.0F * static_cast<float>(communicator.rank() + 1)) << "not due";
    slices.gather(1);
    EXPECT_TRUE(at::equal(table.view({2, -1})[0], at::ones({144})));
    EXPECT_TRUE(at::equal(table.view({2, -1})[1], at::full({144}, 2.0F)));
    EXPECT_TRUE(slices.updated_part(0).is_same(parameters.all()[0].tensor)) << "matrices are whole";
  }));
}

TEST(ParameterSlices, AreNoneWithoutOwners) {
  SingleProcess alone;
  const Parameters parameters = scatter_parameters();
  const ParameterSlices slices(parameters, scatter_config(MuonGroups::kElements), alone);
  for (std::size_t i = 0; i < parameters.all().size(); ++i)
    EXPECT_TRUE(slices.updated_part(i).is_same(parameters.all()[i].tensor)) << i;
}

}  // namespace
}  // namespace nanobench::core::testing
