// The health of training: norms against the golden gradients and against plain loops, and what it leaves alone.
#include "engine/train/training_health.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/golden_training.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

using Metrics = std::map<std::string, double>;

/// The samples of a run, by step.
std::map<std::int64_t, Metrics> samples_of(const EventLog& log) {
  std::map<std::int64_t, Metrics> samples;
  for (const RunEvent& event : log.events) {
    if (const auto* one = std::get_if<SamplesEvent>(&event)) samples[one->step] = one->values;
  }
  return samples;
}

RunSpec with_health(RunSpec spec, std::optional<std::int64_t> every) {
  spec.metrics = {AskedMetric::kHealth};
  spec.health_every = every;
  return spec;
}

/// Adds the square of a norm to all, to its group, and to its group's layer.
void add_square(Metrics& squares, const std::string& metric, ParameterGroup group, const std::string& name,
                double norm) {
  static const std::map<ParameterGroup, std::string> kGroups = {{ParameterGroup::kEmbeddings, "embeddings"},
                                                                {ParameterGroup::kLmHead, "lm_head"},
                                                                {ParameterGroup::kHiddenMatrices, "hidden_matrices"},
                                                                {ParameterGroup::kScalars, "scalars"}};
  const std::string whole = metric + "/" + kGroups.at(group);
  const bool is_of_layer = name.rfind("blocks.", 0) == 0;
  const std::string layer = is_of_layer ? name.substr(7, name.find('.', 7) - 7) : "shared";
  for (const std::string& key : {metric, whole, whole + "/" + layer}) squares[key] += norm * norm;
}

Metrics roots(Metrics squares) {
  for (auto& [name, value] : squares) value = std::sqrt(value);
  return squares;
}

std::map<std::string, ParameterGroup> groups_of(const TrainConfig& config) {
  std::map<std::string, ParameterGroup> groups;
  for (const ParameterShape& shape : parameter_list(config)) groups[shape.name] = shape.group;
  return groups;
}

class HealthOfGoldenRun : public ::testing::TestWithParam<std::string> {};

TEST_P(HealthOfGoldenRun, HasTheNormsOfTheGoldenGradients) {
  const std::filesystem::path folder = golden_case(GetParam());
  const Json expected_file = read_json_file(folder / "expected.json");
  const Json truth = expected_file.at("float64").at("gradients");
  for (const char* dtype : {"float64", "float32"}) {  // the kernels compute in float32
    double tolerance = 0.0;
    for (const auto& [kind, limit] : expected_file.at("tolerance").at(dtype).items())
      if (kind.rfind("gradients", 0) == 0) tolerance = std::max(tolerance, limit.get<double>());
    ASSERT_GT(tolerance, 0.0);
    const RunSpec spec = with_health(golden_spec(folder, dtype), 1);
    const std::map<std::string, ParameterGroup> groups = groups_of(spec.config);
    std::map<std::int64_t, Metrics> samples = samples_of(train_to_the_end(spec));
    ASSERT_EQ(samples.size(), static_cast<std::size_t>(spec.config.run.stop_after));
    for (const auto& [step, gradients] : truth.items()) {
      Metrics expected;
      for (const auto& [name, summary] : gradients.items())
        add_square(expected, "health/gradient_norm", groups.at(name), name, summary.at("l2").get<double>());
      const Metrics& got = samples.at(std::stoll(step));
      for (const auto& [name, norm] : roots(expected)) {
        ASSERT_TRUE(got.contains(name)) << name;
        EXPECT_NEAR(got.at(name), norm, tolerance * std::max(norm, 1e-3)) << dtype << " step " << step << " " << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Records, HealthOfGoldenRun, ::testing::Values("record12", "record15", "record17", "record39"),
                         [](const auto& test) { return test.param; });

double norm_by_loop(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  double sum = 0.0;
  for (std::int64_t i = 0; i < flat.numel(); ++i) sum += std::pow(flat.const_data_ptr<double>()[i], 2);
  return std::sqrt(sum);
}

/// A model whose gradients are set by hand.
struct HandMadeStep {
  HandMadeStep(const TrainConfig& given, at::ScalarType dtype) : config(given), model(config, dtype) {
    model.parameters().initialize(config, 1);
    optimizers.emplace(model.parameters(), config, 1, alone);
    at::manual_seed(7);
    for (Parameter& parameter : model.parameters().all())
      parameter.tensor.mutable_grad() =
          0.1 * at::randn(parameter.tensor.sizes(), parameter.tensor.options().requires_grad(false));
  }
  TrainConfig config;
  SingleProcess alone;
  GPT model;
  std::optional<OptimizerSet> optimizers;
};

void expect_ratios_by_loop(const TrainConfig& config, at::ScalarType dtype, double tolerance) {
  HandMadeStep made(config, dtype);
  TrainingHealth health(1, 10, made.model.parameters(), *made.optimizers);
  const std::vector<at::Tensor> before = made.optimizers->weights();
  std::vector<at::Tensor> copies;
  for (const at::Tensor& weight : before) copies.push_back(weight.clone());
  health.before_update();
  made.optimizers->gather_gradients(0);
  made.optimizers->step(0);
  const Metrics got = health.after_update();
  const std::vector<at::Tensor> after = made.optimizers->weights();
  Metrics weights, changes;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Parameter& parameter = made.model.parameters().all()[i];
    add_square(weights, "health/update_ratio", parameter.group, parameter.name, norm_by_loop(copies[i]));
    add_square(changes, "health/update_ratio", parameter.group, parameter.name, norm_by_loop(after[i] - copies[i]));
  }
  std::size_t ratios = 0;
  for (const auto& [name, square] : weights) {
    EXPECT_EQ(got.contains(name), square > 0.0) << name;
    if (square == 0.0) continue;
    EXPECT_NEAR(got.at(name), std::sqrt(changes.at(name) / square), tolerance) << name;
    EXPECT_GT(got.at(name), 0.0) << name;
    ++ratios;
  }
  EXPECT_GT(ratios, 8U);
}

TEST(TrainingHealth, HasTheUpdatesOfAllGroupsOverTheirWeights) {
  const TinyRun run;
  TrainConfig config = run.spec(1).config;
  for (const bool is_fused : {true, false}) {
    for (OptimizerGroupConfig* group :
         {&config.optimizer.embeddings, &config.optimizer.lm_head, &config.optimizer.scalars})
      group->fused = is_fused;
    expect_ratios_by_loop(config, at::kDouble, 1e-12);
    expect_ratios_by_loop(config, at::kFloat, 1e-6);
  }
  config.precision.parameters = ParameterStorage::kBfloat16Stochastic;
  expect_ratios_by_loop(config, at::kFloat, 1e-6);
}

/// Adam's first update without decay is rate * g / (|g| + eps) for each number.
TEST(TrainingHealth, AnAdamsFirstUpdateIsItsRateForEachNumber) {
  const TinyRun run;
  HandMadeStep made(run.spec(1).config, at::kDouble);
  TrainingHealth health(1, 10, made.model.parameters(), *made.optimizers);
  health.before_update();
  double square = 0.0, numbers = 0.0;
  for (const Parameter& parameter : made.model.parameters().all()) {
    if (parameter.group != ParameterGroup::kLmHead) continue;
    square += std::pow(norm_by_loop(parameter.tensor), 2);
    numbers += static_cast<double>(parameter.tensor.numel());
  }
  ASSERT_GT(square, 0.0);
  made.optimizers->step(0);
  const double rate = made.config.optimizer.lm_head.lr;
  EXPECT_NEAR(health.after_update().at("health/update_ratio/lm_head"), rate * std::sqrt(numbers / square), 1e-5 * rate);
}

TEST(TrainingHealth, TheFlowIsTheSmallestLayersGradientPerWeightOverTheLargest) {
  const TinyRun run;
  HandMadeStep made(run.spec(1).config, at::kDouble);
  for (Parameter& parameter : made.model.parameters().all()) {
    const bool is_of_layer_3 = parameter.name.rfind("blocks.3.", 0) == 0;
    parameter.tensor.mutable_grad().fill_(is_of_layer_3 ? 0.5 : 2.0);
  }
  TrainingHealth health(1, 10, made.model.parameters(), *made.optimizers);
  health.before_update();
  EXPECT_DOUBLE_EQ(health.after_update().at("health/gradient_flow"), 0.25);
}

TEST(TrainingHealth, IsSampledAtTheStepsThatWereAskedForAndAtTheLast) {
  const TinyRun run;  // four steps, a validation at every second
  const auto steps = [&](std::optional<std::int64_t> every) {
    std::set<std::int64_t> at;
    for (const auto& [step, values] : samples_of(train_to_the_end(with_health(run.spec(1), every)))) at.insert(step);
    return at;
  };
  EXPECT_EQ(steps(std::nullopt), (std::set<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(steps(1), (std::set<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(steps(3), (std::set<std::int64_t>{0, 3}));
  EXPECT_TRUE(samples_of(train_to_the_end(run.spec(1))).empty());
}

TEST(TrainingHealth, ChangesNoBitOfTheTraining) {
  const TinyRun run;
  for (const KernelChoice kernels : {KernelChoice::kFused, KernelChoice::kReference}) {
    RunSpec spec = run.spec(1);
    spec.kernels = kernels;
    EXPECT_EQ(step_losses(with_health(spec, 1)), step_losses(spec));
  }
}

TEST(TrainingHealth, IsTheSameInSeveralProcessesThatSumAllGradients) {
  const TinyRun run;
  RunSpec two = run.spec(2);
  two.config.distributed.gradient_sums = GradientSums::kAllProcesses;
  const std::map<std::int64_t, Metrics> alone = samples_of(train_to_the_end(with_health(run.spec(1), 1)));
  const std::map<std::int64_t, Metrics> together = samples_of(train_to_the_end(with_health(two, 1)));
  ASSERT_EQ(together.size(), alone.size());
  for (const auto& [name, value] : alone.at(0)) EXPECT_NEAR(together.at(0).at(name), value, 1e-4 * value) << name;
}

TEST(TrainingHealth, IsRefusedWhereNoProcessHasAllGradients) {
  const TinyRun run;
  RunSpec spec = with_health(run.spec(2), 1);
  spec.config.distributed.gradient_sums = GradientSums::kOwners;
  const std::vector<std::string> failures = play_processes(2, [&](Communicator& communicator) {
    NullMetricSink nowhere;
    CpuTrainer(spec, nowhere, kNeverStop, communicator).run();
  });
  ASSERT_FALSE(failures.empty());
  EXPECT_NE(failures.front().find("/distributed/gradient_sums"), std::string::npos) << failures.front();
}

}  // namespace
}  // namespace nanobench::core::testing
