#include "core/config/kernel_coverage.h"

#include <algorithm>

#include "core/config/parameter_list.h"

namespace nanobench::core {
namespace {

using namespace kernel_units;
using Query = const KernelQuery&;

/// The settings of all groups and families that use this optimiser.
std::vector<const OptimizerGroupConfig*> settings_with(OptimizerType type, Query query) {
  const OptimizerConfig& all = query.config.optimizer;
  std::vector<const OptimizerGroupConfig*> found;
  for (const OptimizerGroupConfig* group : {&all.embeddings, &all.lm_head, &all.hidden_matrices, &all.scalars})
    if (group->type == type) found.push_back(group);
  for (const auto& [name, family] : all.families)
    if (family.type == type) found.push_back(&family);
  return found;
}

bool any_fused_adam(Query query) {
  const std::vector<const OptimizerGroupConfig*> groups = settings_with(OptimizerType::kAdam, query);
  return std::any_of(groups.begin(), groups.end(), [](const OptimizerGroupConfig* group) { return group->fused; });
}

bool has_plain_adam(Query query) {
  const std::vector<const OptimizerGroupConfig*> groups = settings_with(OptimizerType::kAdam, query);
  return std::all_of(groups.begin(), groups.end(),
                     [](const OptimizerGroupConfig* group) { return group->cautious_decay == 0.0; });
}

template <class Holds>
bool all_muons(Query query, Holds&& holds) {
  const std::vector<const OptimizerGroupConfig*> groups = settings_with(OptimizerType::kMuon, query);
  return std::all_of(groups.begin(), groups.end(), [&](const OptimizerGroupConfig* group) { return holds(*group); });
}

bool has_early_stream(Query query) {
  const ModelConfig& model = query.config.model;
  return model.residual_scaling == ResidualScaling::kNone && !model.skip.to;
}

bool has_early_attention(Query query) {
  const ModelConfig& model = query.config.model;
  return model.attention_weight_lambdas == AttentionWeightLambdas::kNone && model.key_offset_layers.empty() &&
         model.value_embeddings.mix != ValueMix::kAdd && model.value_embeddings.mix != ValueMix::kGate &&
         model.paired_head_layers.empty() && model.rope.pairing == RopePairing::kHalf && model.xsa_layers.empty() &&
         model.generated_gates.hidden == 0;
}

bool has_one_target(Query query) {
  const LossConfig& loss = query.config.loss;
  return loss.multi_token.empty() && loss.prefix.empty() && !query.config.model.logit_cap.scale;
}

bool has_whole_matrix_units(Query query) {
  const std::vector<ParameterShape> parameters = parameter_list(query.config);
  return std::all_of(parameters.begin(), parameters.end(), [](const ParameterShape& parameter) {
    return parameter.group != ParameterGroup::kHiddenMatrices || parameter.matrix_rows() < kMatrixSide ||
           (parameter.matrix_rows() % kMatrixSide == 0 && parameter.columns() % kMatrixSide == 0);
  });
}

const KernelCondition kFloat32{"float32 tensors (`--dtype`)", {}, [](Query query) { return query.is_float32; }};
const KernelCondition kFloat32Activations{"activations in float32", {"/precision/activations"}, [](Query query) {
                                            return query.activations == ActivationPrecision::kFloat32;
                                          }};
const KernelCondition kBfloat16Activations{"activations in bfloat16", {"/precision/activations"}, [](Query query) {
                                             return query.activations == ActivationPrecision::kBfloat16;
                                           }};
const KernelCondition kGpuBlocks{
    "the kernel of `blocks`", {}, [](Query query) { return has_kernel(StepPart::kBlocks, KernelDevice::kGpu, query); }};
const KernelCondition kRmsNorm{
    "RMS norm", {"/model/norm"}, [](Query query) { return query.config.model.norm == NormType::kRms; }};
const KernelCondition kNoBias{
    "linear layers without bias", {"/model/bias"}, [](Query query) { return !query.config.model.bias; }};
const KernelCondition kReluSquared{"activation ReLU^2", {"/model/activation"}, [](Query query) {
                                     return query.config.model.activation == Activation::kReluSquared;
                                   }};
const KernelCondition kPlainMlp{"products of the MLP in the precision of the activations",
                                {"/precision/mlp_up", "/precision/mlp_down"},
                                [](Query query) {
                                  const PrecisionConfig& precision = query.config.precision;
                                  return precision.mlp_up == ProductPrecision::kActivations &&
                                         precision.mlp_down == ProductPrecision::kActivations;
                                }};
const KernelCondition kPlainAdam{"Adam without cautious decay",
                                 {"/optimizer/embeddings/cautious_decay", "/optimizer/lm_head/cautious_decay",
                                  "/optimizer/scalars/cautious_decay", "/optimizer/families"},
                                 has_plain_adam};
const KernelCondition kMomentsAsParameters{
    "moments stored as their parameters are",
    {"/precision/adam_state", "/precision/embeddings", "/precision/lm_head", "/precision/scalars", "/precision/gates"},
    [](Query query) {
      const PrecisionConfig& precision = query.config.precision;
      const auto stored = {precision.embeddings, precision.lm_head, precision.scalars, precision.gates};
      return std::all_of(stored.begin(), stored.end(), [&](StoredPrecision parameters) {
        return precision.adam_state == StoredPrecision::kFloat32 || parameters == precision.adam_state;
      });
    }};
const KernelCondition kEarlyStream{
    "a residual stream as up to record 41", {"/model/residual_scaling", "/model/skip/to"}, has_early_stream};
const KernelCondition kEarlyAttention{
    "attention as up to record 41",
    {"/model/attention_weight_lambdas", "/model/key_offset_layers", "/model/value_embeddings/mix",
     "/model/paired_head_layers", "/model/rope/pairing", "/model/xsa_layers", "/model/generated_gates/hidden"},
    has_early_attention};
const KernelCondition kOneTarget{"one target a token, and the softcap of records up to 53",
                                 {"/loss/multi_token", "/loss/prefix", "/model/logit_cap/scale"},
                                 has_one_target};
const KernelCondition kFloat32Loss{"a loss in float32", {"/precision/cross_entropy"}, [](Query query) {
                                     return query.config.precision.cross_entropy == LossPrecision::kFloat32;
                                   }};
const KernelCondition kTiled{
    "tiled attention",
    {"/attention/implementation"},
    [](Query query) { return query.config.attention.implementation == AttentionImplementation::kTiled; },
    /*is_choice=*/true};
const KernelCondition kFused{"a fused group",
                             {"/optimizer/embeddings/fused", "/optimizer/lm_head/fused", "/optimizer/scalars/fused"},
                             any_fused_adam,
                             /*is_choice=*/true};
const KernelCondition kIsMuon{"matrices trained by Muon",
                              {"/optimizer/hidden_matrices/type"},
                              [](Query query) { return !settings_with(OptimizerType::kMuon, query).empty(); },
                              /*is_choice=*/true};
const KernelCondition kNewtonSchulz{"Newton-Schulz iterations or those of Polar Express",
                                    {"/optimizer/hidden_matrices/orthogonalizer"},
                                    [](Query query) {
                                      return all_muons(query, [](const OptimizerGroupConfig& group) {
                                        return group.orthogonalizer != Orthogonalizer::kSvd;
                                      });
                                    },
                                    /*is_choice=*/true};

KernelRow cpu_blocks() {
  return {StepPart::kBlocks,
          KernelDevice::kCpu,
          {kFloat32,
           kFloat32Activations,
           kRmsNorm,
           kNoBias,
           kReluSquared,
           kPlainMlp,
           kEarlyStream,
           kEarlyAttention,
           {"rotary tables in float32",
            {"/precision/rotary_tables"},
            [](Query query) { return query.config.precision.rotary_tables == RotaryPrecision::kFloat32; }},
           {"norm of queries and keys before their rotation",
            {"/model/qk_norm", "/model/qk_norm_position"},
            [](Query query) {
              const ModelConfig& model = query.config.model;
              return !model.qk_norm || model.qk_norm_position == QkNormPosition::kBeforeRotation;
            }},
           {"model and head dimensions that are multiples of 16",
            {"/model/model_dim", "/model/num_heads"},
            [](Query query) {
              const ModelConfig& model = query.config.model;
              return model.model_dim % kVector == 0 && model.head_dim() % kVector == 0;
            }}}};
}

KernelRow gpu_blocks() {
  return {StepPart::kBlocks,
          KernelDevice::kGpu,
          {kFloat32,
           kBfloat16Activations,
           kRmsNorm,
           kNoBias,
           kReluSquared,
           kPlainMlp,
           kEarlyStream,
           kEarlyAttention,
           {"a model dimension that is a multiple of 8, up to 1,024",
            {"/model/model_dim"},
            [](Query query) {
              return query.config.model.model_dim % kRow == 0 && query.config.model.model_dim <= kMaxRow;
            }},
           {"a head dimension that is a multiple of 16, up to 256",
            {"/model/model_dim", "/model/num_heads"},
            [](Query query) {
              return query.config.model.head_dim() % kHead == 0 && query.config.model.head_dim() <= kMaxHead;
            }}}};
}

KernelRow cpu_attention() {
  return {StepPart::kAttention,
          KernelDevice::kCpu,
          {kTiled,
           kFloat32,
           {"a head dimension that is a multiple of 16", {"/model/model_dim", "/model/num_heads"}, [](Query query) {
              return query.config.model.head_dim() % kVector == 0;
            }}}};
}

KernelRow gpu_attention() {
  return {StepPart::kAttention,
          KernelDevice::kGpu,
          {kTiled,
           {"activations in bfloat16, or products in it",
            {"/precision/activations"},
            [](Query query) { return query.activations != ActivationPrecision::kFloat32; }},
           {"a head dimension that is a multiple of 16, up to 128",
            {"/model/model_dim", "/model/num_heads"},
            [](Query query) {
              return query.config.model.head_dim() % kHead == 0 && query.config.model.head_dim() <= kMaxAttention;
            }}}};
}

KernelRow gpu_embeddings() {
  return {StepPart::kEmbeddings,
          KernelDevice::kGpu,
          {kGpuBlocks, {"no learned positions", {"/model/position"}, [](Query query) {
                          return query.config.model.position != PositionEncoding::kLearned;
                        }}}};
}

KernelRow cpu_head() {
  return {StepPart::kHead,
          KernelDevice::kCpu,
          {kFloat32,
           kFloat32Activations,
           kFloat32Loss,
           kOneTarget,
           {"a head in the precision of the activations", {"/precision/head"}, [](Query query) {
              return query.config.precision.head == ProductPrecision::kActivations;
            }}}};
}

KernelRow gpu_head() {
  return {StepPart::kHead,
          KernelDevice::kGpu,
          {kFloat32,
           kBfloat16Activations,
           kOneTarget,
           {"in 8-bit precision, a model dimension and a padded vocabulary that are multiples of 16",
            {"/precision/head", "/model/model_dim", "/model/vocab_pad_multiple"},
            [](Query query) {
              const ModelConfig& model = query.config.model;
              return query.config.precision.head == ProductPrecision::kActivations ||
                     (model.model_dim % kFloat8 == 0 && model.padded_vocab_size() % kFloat8 == 0);
            }}}};
}

KernelRow cpu_muon() {
  return {StepPart::kMuon,
          KernelDevice::kCpu,
          {kIsMuon,
           kNewtonSchulz,
           {"iterations without rounding",
            {"/optimizer/hidden_matrices/ns_dtype"},
            [](Query query) {
              return all_muons(
                  query, [](const OptimizerGroupConfig& group) { return muon_has_kernel(KernelDevice::kCpu, group); });
            }},
           kFloat32}};
}

KernelRow gpu_muon() {
  return {StepPart::kMuon,
          KernelDevice::kGpu,
          {kIsMuon,
           kNewtonSchulz,
           {"iterations in bfloat16",
            {"/optimizer/hidden_matrices/ns_dtype"},
            [](Query query) {
              return all_muons(
                  query, [](const OptimizerGroupConfig& group) { return muon_has_kernel(KernelDevice::kGpu, group); });
            }},
           kFloat32,
           {"queries and keys orthogonalized as whole matrices",
            {"/optimizer/hidden_matrices/query_key_blocks"},
            [](Query query) {
              return all_muons(query, [](const OptimizerGroupConfig& group) { return group.query_key_blocks == 1; });
            }},
           {"sides that are multiples of 8, of all matrices with at least 8 rows",
            {"/model/model_dim", "/model/num_heads", "/model/num_kv_heads", "/model/mlp_ratio"},
            has_whole_matrix_units}}};
}

std::string in_words(const KernelRow& row) {
  std::string text;
  for (const KernelCondition& condition : row.conditions) {
    text += text.empty() ? "" : "; ";
    text += condition.needs;
    if (condition.settings.empty()) continue;
    text += " (";
    for (const char* const setting : condition.settings)
      text += std::string(setting == condition.settings.front() ? "" : ", ") + "`" + setting + "`";
    text += ")";
  }
  return text;
}

}  // namespace

const std::vector<KernelRow>& kernel_table() {
  static const std::vector<KernelRow> table = {
      gpu_embeddings(),
      cpu_blocks(),
      gpu_blocks(),
      cpu_attention(),
      gpu_attention(),
      cpu_head(),
      gpu_head(),
      {StepPart::kAdam, KernelDevice::kCpu, {kFused, kFloat32, kPlainAdam}},
      {StepPart::kAdam, KernelDevice::kGpu, {kFused, kFloat32, kPlainAdam, kMomentsAsParameters}},
      cpu_muon(),
      gpu_muon()};
  return table;
}

std::vector<const KernelCondition*> unmet_conditions(StepPart part, KernelDevice device, const KernelQuery& query) {
  std::vector<const KernelCondition*> unmet;
  for (const KernelRow& row : kernel_table()) {
    if (row.part != part || row.device != device) continue;
    for (const KernelCondition& condition : row.conditions)
      if (!condition.holds(query)) unmet.push_back(&condition);
  }
  return unmet;
}

bool has_kernel(StepPart part, KernelDevice device, const KernelQuery& query) {
  return unmet_conditions(part, device, query).empty();
}

std::set<StepPart> parts_without_kernel(const KernelQuery& query, std::span<const KernelDevice> devices) {
  std::set<StepPart> parts;
  for (const StepPart part : kStepParts) {
    const bool is_covered = std::any_of(devices.begin(), devices.end(), [&](KernelDevice device) {
      const std::vector<const KernelCondition*> unmet = unmet_conditions(part, device, query);
      return unmet.empty() ||
             std::any_of(unmet.begin(), unmet.end(), [](const KernelCondition* one) { return one->is_choice; });
    });
    if (!is_covered) parts.insert(part);
  }
  return parts;
}

bool muon_has_kernel(KernelDevice device, const OptimizerGroupConfig& group) {
  const NewtonSchulzDtype dtype =
      device == KernelDevice::kCpu ? NewtonSchulzDtype::kCompute : NewtonSchulzDtype::kBfloat16;
  return group.orthogonalizer != Orthogonalizer::kSvd && group.ns_dtype == dtype;
}

std::string kernel_table_text() {
  std::string text = "| Part | Device | The kernel needs |\n|---|---|---|\n";
  for (const KernelRow& row : kernel_table())
    text += "| `" + enum_name(row.part) + "` | " + enum_name(row.device) + " | " + in_words(row) + " |\n";
  return text;
}

}  // namespace nanobench::core
