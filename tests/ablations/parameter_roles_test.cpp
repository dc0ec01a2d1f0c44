// Roles and groups of the parameters of every record: what the optimisers, storage and costs do with a parameter
// follows from them, and its name, which files and settings of families use, must say the same.
#include "core/config/parameter_list.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ParameterGroup;
using core::ParameterRole;
using core::ParameterShape;

ParameterRole role_by_name(const std::string& name) {
  if (name == "embed.weight") return ParameterRole::kTokenTable;
  if (name == "lm_head.weight") return ParameterRole::kHead;
  if (name == "skip_gate.weight") return ParameterRole::kSkipGate;
  if (name.ends_with("_gate.weight")) return ParameterRole::kGate;
  if (name.starts_with("skip_")) return ParameterRole::kSkip;
  if (name.ends_with("attn.qkvo_w")) return ParameterRole::kMergedAttention;
  if (name.ends_with("mlp.c_fc.weight")) return ParameterRole::kMlpUp;
  if (name.ends_with("mlp.c_proj.weight")) return ParameterRole::kMlpDown;
  const bool is_matrix = name.find(".attn.c_") != std::string::npos && name.ends_with(".weight");
  return is_matrix || name.ends_with("attn.qkv_w") ? ParameterRole::kAttention : ParameterRole::kOther;
}

TEST(ParameterRoles, AreThoseThatTheNamesOfEveryRecordSay) {
  std::set<ParameterRole> seen;
  for (const Record* record : embedded_catalogue().records()) {
    const core::TrainConfig config = resolve(embedded_catalogue(), {.record = record->id}).config;
    for (const ParameterShape& parameter : core::parameter_list(config)) {
      EXPECT_EQ(static_cast<int>(parameter.role), static_cast<int>(role_by_name(parameter.name)))
          << record->id << " " << parameter.name;
      seen.insert(parameter.role);
    }
  }
  EXPECT_EQ(seen.size(), 10U) << "every role";
}

TEST(ParameterRoles, AFamilyIsOfTheGroupOfItsParameters) {
  for (const Record* record : embedded_catalogue().records()) {
    core::TrainConfig config = resolve(embedded_catalogue(), {.record = record->id}).config;
    const std::vector<ParameterShape> parameters = core::parameter_list(config);
    config.optimizer.families.clear();
    for (const ParameterShape& parameter : parameters) {
      EXPECT_EQ(&config.optimizer.group_of_family(core::family_of(parameter.name)),
                &core::settings_of(config.optimizer, parameter.group, parameter.name))
          << record->id << " " << parameter.name;
    }
  }
}

TEST(ParameterRoles, DecideStorage) {
  core::PrecisionConfig precision;
  precision.gates = precision.scalars = core::StoredPrecision::kBfloat16;
  EXPECT_EQ(core::muon_storage(precision, ParameterRole::kGate), core::StoredPrecision::kBfloat16);
  EXPECT_EQ(core::muon_storage(precision, ParameterRole::kMlpUp), core::StoredPrecision::kFloat32);
  EXPECT_EQ(core::adam_storage(precision, ParameterGroup::kHiddenMatrices, ParameterRole::kSkipGate),
            core::StoredPrecision::kBfloat16);
  EXPECT_EQ(core::adam_storage(precision, ParameterGroup::kScalars, ParameterRole::kSkip),
            core::StoredPrecision::kBfloat16);
  EXPECT_EQ(core::adam_storage(precision, ParameterGroup::kLmHead, ParameterRole::kHead),
            core::StoredPrecision::kFloat32);
  EXPECT_TRUE(core::has_master(core::ParameterStorage::kBfloat16Truncated, ParameterRole::kMergedAttention));
  EXPECT_FALSE(core::has_master(core::ParameterStorage::kBfloat16Truncated, ParameterRole::kGate));
  EXPECT_TRUE(core::has_master(core::ParameterStorage::kBfloat16Stochastic, ParameterRole::kGate));
}

}  // namespace
}  // namespace nanobench::ablations
