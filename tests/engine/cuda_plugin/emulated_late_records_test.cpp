// The settings of records #22 to #41 on an emulated GPU, against the same run on the CPU.
#include <gtest/gtest.h>

#include "tests/engine/cuda_plugin/emulated_run.h"

namespace nanobench::core::testing {
namespace {

constexpr const char* kLate = R"({
  "model": {"merged_qkvo": "wide", "mlp_fc_transposed": true, "attention_gate_dim": 12, "smear_gate_dim": 12,
            "logit_softcap": 15, "logit_softcap_form": "sigmoid", "backout_layer": 1, "unet_skip_gate": "sigmoid", "mlp_skip_layers": [0], "attention_scale": 0.2,
            "attention_scale_growth": 0.2, "rope": {"window_scaling": "yarn"}},
  "attention": {"window": {"granularity": "token_inclusive", "half_layers": [1],
                           "schedule": {"type": "list", "tokens_list": [16, 48, 96], "start_tokens": null,
                                        "end_tokens": null, "offset_tokens": null, "quantum_tokens": null,
                                        "rounding": null},
                           "final_validation_tokens": 112}},
  "optimizer": {"hidden_matrices": {"orthogonalizer": "polar_express", "ns_eps": 1e-6, "ns_dtype": "bfloat16",
                                    "second_moment_beta2": 0.95},
                "scalars": {"step_every": 2, "eps_position": "uncorrected"},
                "embeddings": {"step_every": 2}},
  "precision": {"cross_entropy": "bfloat16"},
  "schedule": {"num_steps": 5, "extension_steps": 1}, "run": {"stop_after": 6, "val_every": 6, "loss_reduction": "sum"},
  "data": {"loader": {"position": "global", "alignment": "documents", "max_document_length": 64}}})";

std::vector<double> losses_on_cpu(const RunSpec& spec) {
  std::vector<double> losses;
  for (const RunEvent& event : train_to_the_end(spec).events) {
    if (const auto* eval = std::get_if<EvalEvent>(&event)) losses.push_back(eval->loss);
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
  }
  return losses;
}

TEST(EmulatedLateRecords, TrainAsOnTheCpu) {
  const TinyRun run;
  const RunSpec spec = spec_of(run, kLate);
  const Trained trained = train(spec);
  const std::vector<double> expected = losses_on_cpu(spec);
  ASSERT_EQ(trained.losses.size(), 8U);
  ASSERT_EQ(expected.size(), 8U);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(trained.losses[i], expected[i], 0.03) << i;
  EXPECT_EQ(trained.environment.at("muon"), "GPU kernels, operations") << "the gates are too small for the kernels";
  EXPECT_EQ(trained.environment.at("adam"), "GPU kernels");
  EXPECT_EQ(trained.environment.at("no_kernel_for"), "none");
}

/// Blocks from record #42 on are computed op by op; the head's kernel takes what they leave.
TEST(EmulatedLateRecords, TheHeadHasItsKernelWhereBlocksHaveNone) {
  const TinyRun run;
  RunSpec spec = spec_of(run, kLate);
  Json json(to_json(spec.config));
  json.merge_patch(parse_json(R"({"model": {"residual_scaling": "block", "x0_lambdas": false},
                                  "init": {"resid_lambda": 1.0}})",
                              "patch"));
  spec.config = read_train_config(json, "patched");
  const Trained trained = train(spec);
  const std::vector<double> expected = losses_on_cpu(spec);
  ASSERT_EQ(trained.losses.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(trained.losses[i], expected[i], 0.03) << i;
  EXPECT_EQ(trained.environment.at("no_kernel_for"), "blocks");
}

TEST(EmulatedLateRecords, AGraphIsRefusedWhereTheWindowChangesMoreThanTheMask) {
  const TinyRun run;
  RunSpec spec = spec_of(run, kLate);
  spec.config.gpu.step_graph = true;
  const Trained trained = train(spec);
  EXPECT_FALSE(trained.has_replayed);
  ASSERT_EQ(trained.warnings.size(), 1U);
}

}  // namespace
}  // namespace nanobench::core::testing
