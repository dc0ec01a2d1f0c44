// Muon over several processes: every way of sharing the work gives the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "core/base/error.h"
#include "engine/optim/sharded_muon.h"
#include "tests/engine/distributed/process_threads.h"

namespace nanobench::core::testing {
namespace {

/// Sizes as in a model: five of one number of elements in two shapes, three of another, and one taken as three
/// matrices.
const std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> kShapes = {
    {{16, 16}, 1}, {{8, 32}, 1},  {{64, 16}, 1}, {{16, 16}, 1}, {{3, 16, 16}, 3},
    {{32, 8}, 1},  {{16, 64}, 1}, {{64, 16}, 1}, {{16, 16}, 1},
};

std::vector<MuonParameter> make_parameters() {
  std::vector<MuonParameter> parameters;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    const auto& [shape, matrices] = kShapes[i];
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const at::Tensor values = at::sin(at::arange(count).mul(0.7) + static_cast<double>(i)).view(shape);
    parameters.push_back({values.clone().requires_grad_(true), matrices});
  }
  return parameters;
}

void set_gradients(std::vector<MuonParameter>& parameters, int step) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor& tensor = parameters[i].tensor;
    const at::Tensor index = at::arange(tensor.numel()).mul(1.3);
    tensor.mutable_grad() = at::cos(index + static_cast<double>(i) + 5.0 * step).view(tensor.sizes());
  }
}

OptimizerGroupConfig muon_config() {
  return {.type = OptimizerType::kMuon, .lr = 0.05, .ns_dtype = NewtonSchulzDtype::kCompute};
}

std::vector<at::Tensor> sharded_muon_values_of(const std::vector<MuonParameter>& parameters) {
  std::vector<at::Tensor> values;
  for (const MuonParameter& parameter : parameters) values.push_back(parameter.tensor.detach().clone());
  return values;
}

std::vector<std::vector<at::Tensor>> train(int processes, const DistributedConfig& distributed,
                                           const OptimizerGroupConfig& config) {
  std::vector<std::vector<at::Tensor>> results(static_cast<std::size_t>(processes));
  NB_EXPECT_NO_FAILURE(play_processes(processes, [&](Communicator& communicator) {
    std::vector<MuonParameter> parameters = make_parameters();
    ShardedMuon muon(parameters, config, distributed, communicator);
    for (int step = 0; step < 3; ++step) {
      set_gradients(parameters, step);
      muon.step(1.0 - 0.1 * step, 0.85 + 0.01 * step);
    }
    results[static_cast<std::size_t>(communicator.rank())] = sharded_muon_values_of(parameters);
  }));
  return results;
}

std::vector<DistributedConfig> all_ways() {
  std::vector<DistributedConfig> ways(2);
  ways[0].muon = MuonSharding::kReplicated;
  ways[1].muon = MuonSharding::kAllReduce;
  for (const GatherTiming timing : {GatherTiming::kAsynchronous, GatherTiming::kBlocking}) {
    for (const GatherBuffer buffer : {GatherBuffer::kContiguous, GatherBuffer::kSeparate}) {
      DistributedConfig way;
      way.muon = MuonSharding::kAllGather;
      way.all_gather = timing;
      way.gather_buffer = buffer;
      ways.push_back(way);
      way.muon_groups = MuonGroups::kShape;
      ways.push_back(way);
    }
    DistributedConfig owners;
    owners.all_gather = timing;
    owners.gradient_sums = GradientSums::kOwners;
    ways.push_back(owners);
  }
  return ways;
}

class ShardedMuonConfigs : public ::testing::TestWithParam<OptimizerGroupConfig> {};

TEST_P(ShardedMuonConfigs, EveryWayAndEveryNumberOfProcessesGivesTheSameBits) {
  std::optional<std::vector<at::Tensor>> truth;
  for (const int processes : {1, 2, 3, 4}) {
    for (const DistributedConfig& way : all_ways()) {
      for (const std::vector<at::Tensor>& result : train(processes, way, GetParam())) {
        if (!truth) truth = result;
        for (std::size_t i = 0; i < kShapes.size(); ++i)
          EXPECT_TRUE(at::equal(result[i], (*truth)[i])) << processes << " processes, parameter " << i;
      }
    }
  }
}

/// As Muon in one process, but for the rounding of batched products.
TEST_P(ShardedMuonConfigs, AgreesWithMuonOfOneProcess) {
  std::vector<MuonParameter> parameters = make_parameters();
  Muon muon(parameters, GetParam());
  for (int step = 0; step < 3; ++step) {
    set_gradients(parameters, step);
    muon.step(1.0 - 0.1 * step, 0.85 + 0.01 * step);
  }
  const std::vector<at::Tensor> single = sharded_muon_values_of(parameters);
  const std::vector<at::Tensor> sharded = train(2, all_ways().back(), GetParam()).front();
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    EXPECT_TRUE(at::allclose(sharded[i], single[i], 1e-5, 1e-6)) << i;
    EXPECT_FALSE(at::equal(single[i], make_parameters()[i].tensor)) << "nothing was updated";
  }
}

OptimizerGroupConfig rounded_config() {
  OptimizerGroupConfig config = muon_config();
  config.ns_dtype = NewtonSchulzDtype::kBfloat16;
  config.momentum_form = MomentumForm::kAccumulate;
  config.scale_application = ScaleApplication::kUpdate;
  config.update_scale = UpdateScale::kSqrtLargestSide;
  return config;
}

OptimizerGroupConfig svd_config() {
  OptimizerGroupConfig config = muon_config();
  config.orthogonalizer = Orthogonalizer::kSvd;
  config.nesterov = false;
  return config;
}

INSTANTIATE_TEST_SUITE_P(Muon, ShardedMuonConfigs, ::testing::Values(muon_config(), rounded_config(), svd_config()));

/// Counts the collectives of process 0.
class ShardedMuonCountingCommunicator final : public Communicator {
 public:
  explicit ShardedMuonCountingCommunicator(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  double waited_ms() const override { return inner_.waited_ms(); }
  std::string name() const override { return inner_.name(); }
  std::vector<std::int64_t> sums, gathers;
  std::vector<std::size_t> outputs;

 protected:
  void run(const Collective& collective) override {
    sums.push_back(collective.tensor.numel());
    inner_.all_reduce_sum(collective.tensor);
  }
  WorkHandle start(const Collective& collective) override {
    gathers.push_back(collective.tensor.numel());
    outputs.push_back(collective.outputs.size());
    return collective.outputs.size() == 1 ? inner_.start_all_gather(collective.outputs.front(), collective.tensor)
                                          : inner_.start_all_gather(collective.outputs, collective.tensor);
  }

 private:
  Communicator& inner_;
};

TEST(ShardedMuon, CommunicatesWhatItsSettingSays) {
  for (const DistributedConfig& way : all_ways()) {
    NB_EXPECT_NO_FAILURE(play_processes(2, [&](Communicator& communicator) {
      ShardedMuonCountingCommunicator counting(communicator);
      std::vector<MuonParameter> parameters = make_parameters();
      ShardedMuon muon(parameters, muon_config(), way, counting);
      set_gradients(parameters, 0);
      muon.step(1.0, 0.9);
      const std::size_t sums = way.muon == MuonSharding::kAllReduce ? 1 : 0;
      EXPECT_EQ(counting.sums, std::vector<std::int64_t>(sums, 5 * 256 + 3 * 1024 + 768));
      if (way.muon != MuonSharding::kAllGather) {
        EXPECT_TRUE(counting.gathers.empty());
        return;
      }
      const bool gathers_matrices = way.gradient_sums == GradientSums::kOwners;
      const std::size_t outputs = way.gather_buffer == GatherBuffer::kContiguous && !gathers_matrices ? 1 : 2;
      if (way.muon_groups == MuonGroups::kElements) {
        // Five of 256 in three rounds, three of 1024 in two, one of 768.
        EXPECT_EQ(counting.gathers, (std::vector<std::int64_t>{256, 256, 256, 1024, 1024, 768}));
      } else {
        // Three of 16 x 16 in two rounds, one of 8 x 32, two of 64 x 16 in one, one of 3 x 16 x 16, 32 x 8, 16 x 64.
        EXPECT_EQ(counting.gathers, (std::vector<std::int64_t>{256, 256, 256, 1024, 768, 256, 1024}));
      }
      EXPECT_EQ(counting.outputs, std::vector<std::size_t>(counting.gathers.size(), outputs));
    }));
  }
}

TEST(ShardedMuon, RefusesRaggedGroupsByName) {
  DistributedConfig way;
  way.ragged_groups = false;
  const std::vector<std::string> failures = play_processes(
      2, [&](Communicator& communicator) { ShardedMuon(make_parameters(), muon_config(), way, communicator); });
  for (const std::string& failure : failures)
    EXPECT_EQ(failure,
              "distributed/ragged_groups is false, but the 5 parameters of 256 elements do not divide among 2 "
              "processes; set it to true or change distributed/processes");
  std::vector<MuonParameter> even = make_parameters();
  even.erase(std::remove_if(even.begin(), even.end(), [](const MuonParameter& p) { return p.tensor.numel() != 1024; }),
             even.end());
  NB_EXPECT_NO_FAILURE(
      play_processes(3, [&](Communicator& communicator) { ShardedMuon(even, muon_config(), way, communicator); }));
}

}  // namespace
}  // namespace nanobench::core::testing
