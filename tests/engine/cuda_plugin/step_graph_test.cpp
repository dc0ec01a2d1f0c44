// The micro-step as a graph: what an emulated GPU replays has the losses and gradients of one operation after the
// other, bit for bit, whatever the window; where it cannot be had, the run says why and trains the same.
#include "engine/train/step_graph.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <set>

#include "core/config/schedule.h"
#include "engine/kernels/engine_context.h"
#include "tests/engine/cuda_plugin/emulated_run.h"

namespace nanobench::core::testing {
namespace {

constexpr std::int64_t kStepGraphLength = 128;
constexpr int kSeparator = 60;

/// A process that forks may have one thread only.
void use_one_thread() {
  at::set_num_threads(1);
  EngineContext::current().set_threads(1, std::nullopt);
}

struct Sequence {
  std::vector<std::uint16_t> raw;
  at::Tensor tokens, targets;
};

Sequence sequence(int seed, const TrainConfig& config) {
  Sequence made;
  const at::Tensor ids = (at::arange(kStepGraphLength + 1) * (2 * seed + 7)).remainder(59);
  for (std::int64_t i = 20 + seed; i <= kStepGraphLength; i += 37 + seed) ids[i].fill_(kSeparator);
  for (std::int64_t i = 0; i < kStepGraphLength; ++i)
    made.raw.push_back(static_cast<std::uint16_t>(ids[i].item<int>()));
  const bool is_int32 = config.data.loader.token_dtype == TokenDtype::kInt32;
  made.tokens = ids.narrow(0, 0, kStepGraphLength).to(is_int32 ? at::kInt : at::kLong);
  made.targets = ids.narrow(0, 1, kStepGraphLength);
  return made;
}

std::shared_ptr<const AttentionPlan> host_plan(const Sequence& input, const AttentionConfig& config,
                                               std::optional<std::int64_t> window) {
  const BlockMask mask(input.raw, {.block_size = config.block_size,
                                   .document_mask = config.document_mask,
                                   .document_separator = config.document_separator,
                                   .granularity = config.window.granularity,
                                   .window_tokens = window});
  return std::make_shared<const AttentionPlan>(mask, at::kFloat, plan_options(config));
}

std::vector<at::Tensor> step_graph_gradients_of(const GPT& model) {
  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : model.parameters().all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    gradients.push_back(gradient.defined() ? gradient.clone() : gradient);
  }
  return gradients;
}

void expect_equal(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected, const GPT& model) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string& name = model.parameters().all()[i].name;
    ASSERT_EQ(got[i].defined(), expected[i].defined()) << name;
    if (got[i].defined()) {
      EXPECT_TRUE(at::equal(got[i], expected[i])) << name;
    }
  }
}

/// What changes from step to step in training: the window, the sequences, and the parameters.
struct Step {
  std::optional<std::int64_t> window;
  int seed;
};
const std::vector<Step> kStepGraphSteps = {{16, 1}, {96, 2}, {std::nullopt, 3}, {32, 1}};

void nudge(GPT& model) {
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : model.parameters().all()) parameter.tensor.mul_(1.01);
}

/// Two sequences a step, by a graph and by operations, on two models that change alike.
void compare_steps(const TrainConfig& config) {
  use_one_thread();
  const EmulatedPlugin plugin;
  const RunDevice device = plugin.open(config.gpu);
  GPT model(config, at::kFloat), expected_model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  expected_model.parameters().initialize(config, 1);
  const std::vector<at::Tensor> initial = model.parameters().values();
  StepGraph graph(model, config, 0.5, plugin.table());
  for (std::size_t i = 0; i < initial.size(); ++i)
    EXPECT_TRUE(at::equal(initial[i], model.parameters().all()[i].tensor)) << "recording leaves parameters alone";
  std::set<double> losses;
  for (const Step& step : kStepGraphSteps) {
    SCOPED_TRACE("window " + std::to_string(step.window.value_or(0)));
    graph.zero_gradients();
    expected_model.parameters().zero_gradients();
    for (const int seed : {step.seed, step.seed + 4}) {
      const Sequence input = sequence(seed, config);
      const auto half = half_window_tokens(config.attention, step.window);
      const at::Tensor expected = expected_model.loss({.tokens = input.tokens,
                                                       .targets = input.targets,
                                                       .plan = host_plan(input, config.attention, step.window),
                                                       .half_plan = host_plan(input, config.attention, half),
                                                       .listed_plan = nullptr});
      expected.backward(at::full({}, 0.5));
      const double loss =
          graph.run(input.tokens, input.targets, {.whole = step.window, .half = half, .listed = {}}).item<double>();
      EXPECT_EQ(loss, expected.item<double>());
      losses.insert(loss);
    }
    expect_equal(step_graph_gradients_of(model), step_graph_gradients_of(expected_model), expected_model);
    nudge(model);
    nudge(expected_model);
  }
  EXPECT_EQ(losses.size(), 2 * kStepGraphSteps.size()) << "every sequence has its own";
}

TEST(StepGraph, HasTheLossesAndGradientsOfOneOperationAfterTheOther) {
  const TinyRun run;
  compare_steps(spec_of(run, R"({"attention": {"window": {"half_layers": [1, 3]}}})").config);
}

TEST(StepGraph, TakesTokenWindowsAndTokensOf32Bits) {
  const TinyRun run;
  compare_steps(spec_of(run, R"({"attention": {"window": {"granularity": "token_block_clipped"}},
                                 "data": {"loader": {"token_dtype": "int32"}}})")
                    .config);
}

TEST(StepGraph, LeavesGradientsUndefinedWhereThereIsNone) {
  use_one_thread();
  const TinyRun run;
  // Layer 1 has no table, so its lambda mixes nothing in; table 1 is that of layer 2, which has no attention.
  const TrainConfig config = spec_of(run, R"({"model": {"value_embeddings": {"mix": "lerp"}}})").config;
  const EmulatedPlugin plugin;
  const RunDevice device = plugin.open(config.gpu);
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  const StepGraph graph(model, config, 0.5, plugin.table());
  int defined = 0;
  std::set<std::string> undefined;
  for (const Parameter& parameter : model.parameters().all()) {
    if (!parameter.tensor.grad().defined()) {
      undefined.insert(parameter.name);
      continue;
    }
    EXPECT_EQ(parameter.tensor.grad().abs().sum().item<double>(), 0.0) << parameter.name;
    ++defined;
  }
  EXPECT_EQ(undefined, (std::set<std::string>{"blocks.1.attn.lamb", "value_embeds.embed.1.weight"}));
  EXPECT_GT(defined, 10);
}

TEST(DeviceMask, IsTheMaskOfTheHostForEveryWindow) {
  const TinyRun run;
  for (const char* granularity : {"token", "token_block_clipped", "block"}) {
    const TrainConfig config =
        spec_of(run, std::string(R"({"attention": {"window": {"granularity": ")") + granularity + "\"}}}").config;
    const EmulatedPlugin plugin;
    const RunDevice device = plugin.open(config.gpu);
    at::Tensor tokens = at::zeros({kStepGraphLength}, at::kInt);
    at::Tensor window = at::zeros({1}, at::kInt);
    const DeviceMask mask(config.attention, tokens, window);
    for (const Step& step : kStepGraphSteps) {
      const Sequence input = sequence(step.seed, config);
      tokens.copy_(input.tokens);
      window.fill_(step.window.value_or(0));
      mask.fill();
      const auto expected = host_plan(input, config.attention, step.window);
      EXPECT_TRUE(at::equal(mask.plan()->ranges().first_key, expected->ranges().first_key)) << granularity;
      EXPECT_TRUE(at::equal(mask.plan()->ranges().last_query, expected->ranges().last_query)) << granularity;
    }
  }
}

RunSpec with_graph(RunSpec spec, bool has_graph = true) {
  spec.config.gpu.step_graph = has_graph;
  return spec;
}

TEST(StepGraph, ARunHasTheSameLossesWithIt) {
  const TinyRun run;
  const RunSpec spec = spec_of(run, R"({"run": {"warmup_iterations": 1}})");
  const Trained without = train(with_graph(spec, false));
  const Trained with = train(with_graph(spec));
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_EQ(with.losses.size(), 5U);
  EXPECT_EQ(with.environment.at("graph"), "captured");
  EXPECT_EQ(without.environment.at("graph"), "off");
  EXPECT_TRUE(with.has_replayed);
  EXPECT_FALSE(without.has_replayed);
  EXPECT_TRUE(with.warnings.empty());
}

/// All groups through the GPU's kernels.
constexpr const char* kKernelOptimizers = R"({
  "optimizer": {"embeddings": {"fused": true}, "lm_head": {"fused": true}, "scalars": {"fused": true},
                "hidden_matrices": {"ns_dtype": "bfloat16"}},
  "run": {"warmup_iterations": 1}})";

TEST(UpdateGraph, ARunHasTheSameLossesWithIt) {
  const TinyRun run;
  const RunSpec spec = spec_of(run, kKernelOptimizers);
  const Trained without = train(with_graph(spec, false));
  const Trained with = train(with_graph(spec));
  EXPECT_EQ(with.environment.at("update_graph"), "captured");
  EXPECT_EQ(with.environment.at("no_kernel_for"), "none");
  EXPECT_FALSE(without.environment.contains("update_graph"));
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_NE(with.losses[1], with.losses[3]) << "nothing was updated";
}

TEST(UpdateGraph, OptimisersThatAreNotAllKernelsAreSteppedWithout) {
  const TinyRun run;
  const RunSpec spec = spec_of(run, R"({"optimizer": {"scalars": {"fused": false}}})");
  const Trained with = train(with_graph(spec));
  EXPECT_EQ(with.environment.at("graph"), "captured");
  EXPECT_EQ(with.environment.at("update_graph"), "not captured: not all parameters are updated by the GPU's kernels");
  EXPECT_EQ(with.losses, train(with_graph(spec, false)).losses);
}

/// In what the run says of its environment, and once as a warning.
void expect_reason(RunSpec spec, const std::string& reason) {
  SCOPED_TRACE(reason);
  spec.config.schedule.num_steps = spec.config.run.stop_after = 1;
  const Trained trained = train(with_graph(spec));
  EXPECT_EQ(trained.losses, train(with_graph(spec, false)).losses);
  EXPECT_EQ(trained.environment.at("graph").find("not captured: "), 0U);
  EXPECT_NE(trained.environment.at("graph").find(reason), std::string::npos) << trained.environment.at("graph");
  ASSERT_EQ(trained.warnings.size(), 1U);
  EXPECT_EQ(trained.warnings.front(), "gpu/step_graph: " + trained.environment.at("graph"));
  EXPECT_FALSE(trained.has_replayed);
}

TEST(StepGraph, WhereItCannotBeHadARunSaysWhyAndTrainsWithout) {
  const TinyRun run;
  expect_reason(spec_of(run, R"({"precision": {"activations": "float32"}})"), "does not take this attention");
  expect_reason(
      spec_of(run, R"({"attention": {"implementation": "dense", "split_full_blocks": null, "block_order": null}})"),
      "does not take this attention");
  RunSpec traced = spec_of(run);
  traced.trace_file = ::testing::TempDir() + "/nanobench_graph_trace.json";
  expect_reason(traced, "a trace keeps");
  RunSpec profiled = spec_of(run);
  profiled.profile_file = ::testing::TempDir() + "/nanobench_graph_profile.json";
  expect_reason(profiled, "a profile times");
}

TEST(StepGraph, OnTheCpuThereIsNoneAndTheRunSaysSo) {
  const TinyRun run;
  const RunSpec spec = with_graph(spec_of(run));
  const EventLog log = train_to_the_end(spec);
  const auto& hello = std::get<HelloEvent>(log.events.front());
  EXPECT_EQ(hello.environment.at("graph"), "not captured: this run computes on the CPU");
  EXPECT_EQ(std::get<WarningEvent>(log.events.at(1)).message,
            "gpu/step_graph: not captured: this run computes on the CPU");
}

/// The emulation itself: what it must catch.
TEST(EmulatedGraph, FreezesWhatTheHostKnowsAndNotWhatTensorsHold) {
  use_one_thread();
  const SharedTensors shared;
  const at::Tensor x = at::ones({4}), y = at::zeros({4});
  double factor = 2.0;
  EmulatedGraph graph([&] { y.copy_(x * factor); });
  factor = 3.0;
  x.fill_(5.0);
  graph.replay();
  EXPECT_EQ(y[0].item<double>(), 10.0);
  x.fill_(7.0);
  graph.replay();
  EXPECT_EQ(y[3].item<double>(), 14.0);
}

TEST(EmulatedGraph, RefusesQuestionsForAValue) {
  const SharedTensors shared;
  const at::Tensor x = at::ones({4});
  try {
    const EmulatedGraph graph([&] { x.mul_(x.sum().item<double>()); });
    ADD_FAILURE() << "was recorded";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("aten::item"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nanobench::core::testing
