#include "core/config/parameter_list.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nanobench::core {
namespace {

const ParameterShape* parameter_list_find(const std::vector<ParameterShape>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const ParameterShape& p) { return p.name == name; });
  return found == list.end() ? nullptr : &*found;
}

TEST(ParameterList, NamesEachParameterOnce) {
  TrainConfig config;
  config.model.bias = true;
  config.model.norm = NormType::kLayer;
  config.model.position = PositionEncoding::kLearned;
  std::vector<std::string> names;
  for (const ParameterShape& parameter : parameter_list(config)) names.push_back(parameter.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(ParameterList, AJoinedMatrixIsSplitAsTheOptimiserTakesIt) {
  TrainConfig config;
  config.model.qkv_rows = QkvRows::kStacked;
  const std::string name = "blocks.0.attn.c_attn.weight";
  const std::vector<ParameterShape> split = parameter_list(config);
  ASSERT_NE(parameter_list_find(split, name), nullptr);
  EXPECT_EQ(parameter_list_find(split, name)->matrices, 3);
  EXPECT_EQ(parameter_list_find(split, name)->matrix_rows(), config.model.model_dim);
  config.optimizer.hidden_matrices.split_qkv = false;
  EXPECT_EQ(parameter_list_find(parameter_list(config), name)->matrices, 1);
  EXPECT_EQ(parameter_list_find(parameter_list(config), "blocks.0.attn.c_q.weight"), nullptr);
}

TEST(ParameterList, ATiedHeadAndALayerWithoutAttentionHaveNoParametersOfTheirOwn) {
  TrainConfig config;
  config.model.tied_head = true;
  const std::vector<ParameterShape> list = parameter_list(config);
  EXPECT_EQ(parameter_list_find(list, "lm_head.weight"), nullptr);
  EXPECT_EQ(parameter_list_find(list, "blocks.7.attn.c_proj.weight"), nullptr);  // record 17 leaves this attention out
  EXPECT_NE(parameter_list_find(list, "blocks.7.mlp.c_fc.weight"), nullptr);
}

TEST(ParameterList, CountsTheHiddenMatricesBySize) {
  const ModelConfig model;
  const std::int64_t square = model.model_dim * model.model_dim;
  using Counts = std::map<std::vector<std::int64_t>, std::int64_t>;
  EXPECT_EQ(hidden_matrix_counts(model), (Counts{{{square}, 44}, {{4 * square}, 24}}));
  EXPECT_EQ(hidden_matrix_counts(model, MuonGroups::kShape),
            (Counts{{{768, 768}, 44}, {{768, 3072}, 12}, {{3072, 768}, 12}}));
}

}  // namespace
}  // namespace nanobench::core
