#include "core/config/parameter_list.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace nanobench::core {
namespace {

using Dimensions = std::vector<std::int64_t>;

/// Lists the parameters of one model.
class Lister {
 public:
  Lister(const ModelConfig& model, bool splits_qkv) : model_(model), splits_qkv_(splits_qkv) {}

  std::vector<ParameterShape> list() {
    tables();
    for (std::int64_t layer = 0; layer < model_.num_layers; ++layer) block(layer);
    norm("ln_f");
    if (model_.unet_skips) scalars("skip_weights", {model_.num_layers / 2}, ParameterRole::kSkip);
    if (model_.skip.to) scalars("skip_lambda", {}, ParameterRole::kSkip);
    if (model_.skip.to && model_.skip.gate == LateSkipGate::kX0)
      matrix("skip_gate.weight", {1, model_.skip.gate_dim}, ParameterRole::kSkipGate);
    if (model_.residual_scaling != ResidualScaling::kNone) {
      const bool has_sublayers = model_.residual_scaling == ResidualScaling::kSublayer;
      const Dimensions scaling = has_sublayers ? Dimensions{model_.num_layers, 2} : Dimensions{model_.num_layers};
      scalars("resid_lambdas", scaling);
      if (has_sublayers)
        scalars("post_lambdas", model_.two_lanes.first_layer ? Dimensions{model_.num_layers, 2, 2} : scaling);
      const bool is_generated = model_.x0_injection == EmbeddingInjection::kGenerated;
      if (!is_generated) scalars("x0_lambdas", {model_.num_layers});
      if (!is_generated && model_.bigram.rows > 0) scalars("bigram_lambdas", {model_.num_layers});
    }
    if (model_.generated_gates.hidden > 0) generated_gates();
    if (!model_.xsa_layers.empty() && !model_.generates_xsa())
      scalars("xsa_alphas", {model_.num_layers, model_.num_heads});
    for (std::int64_t set = 0; model_.mudd.hidden > 0 && set < kMuddSets; ++set) mudd(set);
    if (model_.smear_gate_dim > 0) {
      matrix("smear_gate.weight", {1, model_.smear_gate_dim}, ParameterRole::kGate);
      scalars("smear_lambda", {});
    }
    if (model_.backout_layer) scalars("backout_lambda", {});
    if (model_.unread_rows) scalars("unread", {unread_numbers(model_)});
    return std::move(parameters_);
  }

 private:
  static constexpr std::int64_t kMuddSets = 2;

  void generated_gates() {
    const GeneratedGatesConfig& gates = model_.generated_gates;
    for (std::size_t set = 0; set < gates.sets.size(); ++set) {
      const std::string prefix = "gates." + std::to_string(set) + ".";
      const std::int64_t outputs = gates.sets[set].outputs(model_.num_heads);
      matrix(prefix + "w1", {gates.hidden, model_.model_dim}, ParameterRole::kOther);
      matrix(prefix + "w2", {outputs, gates.hidden}, ParameterRole::kOther);
      scalars(prefix + "b2", {outputs});
    }
    scalars("gates.scale", {});
  }

  void mudd(std::int64_t set) {
    const std::string prefix = "mudd." + std::to_string(set) + ".";
    const std::int64_t outputs = set == 0 ? kMuddLayerOutputs : kMuddHeadOutputs;
    matrix(prefix + "w1", {model_.mudd.hidden, model_.model_dim}, ParameterRole::kOther);
    matrix(prefix + "w2", {outputs, model_.mudd.hidden}, ParameterRole::kOther);
    scalars(prefix + "b2", {outputs});
  }

  void add(const std::string& name, ParameterGroup group, ParameterRole role, Dimensions sizes,
           std::int64_t matrices = 1) {
    parameters_.push_back(
        {.name = name, .group = group, .role = role, .sizes = std::move(sizes), .matrices = matrices});
  }
  void matrix(const std::string& name, Dimensions sizes, ParameterRole role, std::int64_t matrices = 1) {
    add(name, ParameterGroup::kHiddenMatrices, role, std::move(sizes), matrices);
  }
  void table(const std::string& name, Dimensions sizes, ParameterRole role = ParameterRole::kOther) {
    add(name, ParameterGroup::kEmbeddings, role, std::move(sizes));
  }
  void scalars(const std::string& name, Dimensions sizes, ParameterRole role = ParameterRole::kOther) {
    add(name, ParameterGroup::kScalars, role, std::move(sizes));
  }

  void tables() {
    const ValueEmbeddingConfig& values = model_.value_embeddings;
    const std::int64_t rows = model_.embedding_rows(), width = model_.model_dim;
    table("embed.weight", {rows, width}, ParameterRole::kTokenTable);
    if (model_.position == PositionEncoding::kLearned) table("position_embed.weight", {model_.rope.max_seq_len, width});
    if (values.layout == ValueTableLayout::kJoined) {
      table("value_embeds.weight", {rows, values.num_tables * model_.kv_dim()});
    } else {
      for (std::int64_t i = 0; i < values.num_tables; ++i)
        table("value_embeds.embed." + std::to_string(i) + ".weight", {rows, model_.kv_dim()});
    }
    if (model_.bigram.rows > 0) table("bigram_embed.weight", {model_.bigram.rows, model_.bigram.dim});
    if (!model_.tied_head)
      add("lm_head.weight", ParameterGroup::kLmHead, ParameterRole::kHead, {model_.padded_vocab_size(), width});
  }

  void block(std::int64_t layer) {
    const std::int64_t width = model_.model_dim, hidden = model_.mlp_ratio * width;
    const std::string prefix = "blocks." + std::to_string(layer) + ".";
    if (!model_.has_layer(layer)) return;
    if (model_.has_attention(layer)) {
      norm(prefix + "ln_1");
      attention(prefix + "attn.");
      if (model_.has_attention_gate(layer))
        matrix(prefix + "attn.attn_gate.weight", {model_.num_heads, model_.attention_gate_dim}, ParameterRole::kGate);
      const ValueEmbeddingConfig& values = model_.value_embeddings;
      const bool has_coefficients = model_.mudd.hidden > 0 && model_.mudd.layer == layer;
      if (values.mix == ValueMix::kGate && !has_coefficients && values.layer_map[static_cast<std::size_t>(layer)])
        matrix(prefix + "attn.ve_gate.weight", {model_.num_kv_heads, values.gate_dim}, ParameterRole::kGate);
    }
    if (model_.has_mlp(layer)) {
      norm(prefix + "ln_2");
      const std::string first = prefix + "mlp.c_fc";
      if (model_.mlp_fc_transposed) {
        linear(first, {width, hidden}, hidden, ParameterRole::kMlpUp);
      } else {
        linear(first, {hidden, width}, hidden, ParameterRole::kMlpUp);
      }
      const Dimensions second = model_.mlp_proj_transposed ? Dimensions{hidden, width} : Dimensions{width, hidden};
      linear(prefix + "mlp.c_proj", second, width, ParameterRole::kMlpDown);
    }
    if (model_.x0_lambdas) scalars(prefix + "lambdas", {2});
  }

  void attention(const std::string& prefix) {
    const std::int64_t width = model_.model_dim;
    if (model_.merged_qkvo != MergedQkvo::kOff) {
      qkvo(prefix + "qkvo_w");
    } else if (model_.merged_qkv) {
      joined_qkv(prefix + "qkv_w", prefix + "qkv_b", {3, width, width});
    } else if (model_.qkv_rows == QkvRows::kStacked) {
      joined_qkv(prefix + "c_attn.weight", prefix + "c_attn.bias", {3 * width, width});
    } else {
      linear(prefix + "c_q", {width, width}, width, ParameterRole::kAttention);
      linear(prefix + "c_k", {model_.kv_dim(), width}, model_.kv_dim(), ParameterRole::kAttention);
      linear(prefix + "c_v", {model_.kv_dim(), width}, model_.kv_dim(), ParameterRole::kAttention);
    }
    if (model_.value_embeddings.mix == ValueMix::kLerp) scalars(prefix + "lamb", {});
    if (model_.value_embeddings.mix == ValueMix::kPair ||
        model_.attention_weight_lambdas != AttentionWeightLambdas::kNone)
      scalars(prefix + "lambdas", {2});
    if (model_.merged_qkvo == MergedQkvo::kOff)
      linear(prefix + "c_proj", {width, width}, width, ParameterRole::kAttention);
  }

  void linear(const std::string& name, const Dimensions& sizes, std::int64_t outputs, ParameterRole role) {
    matrix(name + ".weight", sizes, role);
    if (model_.bias) scalars(name + ".bias", {outputs});
  }

  void qkvo(const std::string& name) {
    const std::int64_t width = model_.model_dim;
    const bool is_wide = model_.merged_qkvo == MergedQkvo::kWide;
    const bool has_rows = model_.merged_qkvo == MergedQkvo::kRows;
    matrix(name,
           is_wide    ? Dimensions{width, 4 * width}
           : has_rows ? Dimensions{4 * width, width}
                      : Dimensions{4, width, width},
           ParameterRole::kMergedAttention, 4);
    if (is_wide) parameters_.back().matrix_columns = width;
  }

  void joined_qkv(const std::string& weight, const std::string& bias, const Dimensions& sizes) {
    matrix(weight, sizes, ParameterRole::kAttention, splits_qkv_ ? 3 : 1);
    if (model_.bias) scalars(bias, {sizes.begin(), sizes.end() - 1});
  }

  void norm(const std::string& name) {
    if (model_.norm == NormType::kRms) return;
    scalars(name + ".weight", {model_.model_dim});
    scalars(name + ".bias", {model_.model_dim});
  }

  const ModelConfig& model_;
  bool splits_qkv_;
  std::vector<ParameterShape> parameters_;
};

bool is_gate(ParameterRole role) {
  return role == ParameterRole::kGate || role == ParameterRole::kSkipGate;
}

/// Whether it is a matrix of attention or of an MLP.
bool is_block_matrix(ParameterRole role) {
  switch (role) {
    case ParameterRole::kAttention:
    case ParameterRole::kMergedAttention:
    case ParameterRole::kMlpUp:
    case ParameterRole::kMlpDown: return true;
    default: return false;
  }
}

}  // namespace

std::int64_t ParameterShape::numbers() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t unread_numbers(const ModelConfig& model) {
  const GeneratedGatesConfig& gates = model.generated_gates;
  std::int64_t most = 0, read = 0;
  for (const GateSetConfig& set : gates.sets) {
    most = std::max(most, set.outputs(model.num_heads));
    read += set.outputs(model.num_heads);
  }
  std::int64_t numbers = (most * static_cast<std::int64_t>(gates.sets.size()) - read) * (gates.hidden + 1);
  if (model.mudd.hidden > 0) numbers += (kMuddLayerOutputs - kMuddHeadOutputs) * (model.mudd.hidden + 1);
  const ValueEmbeddingConfig& values = model.value_embeddings;
  if (values.mix == ValueMix::kGate && values.num_tables > 0) numbers += model.num_heads * values.gate_dim;
  return numbers;
}

std::vector<ParameterShape> parameter_list(const TrainConfig& config) {
  const OptimizerGroupConfig& hidden = config.optimizer.hidden_matrices;
  return Lister(config.model, hidden.type != OptimizerType::kMuon || hidden.split_qkv).list();
}

StoredPrecision adam_storage(const PrecisionConfig& precision, ParameterGroup group, ParameterRole role) {
  if (is_gate(role)) return precision.gates;
  switch (group) {
    case ParameterGroup::kEmbeddings: return precision.embeddings;
    case ParameterGroup::kScalars: return precision.scalars;
    case ParameterGroup::kLmHead: return precision.lm_head;
    case ParameterGroup::kHiddenMatrices: break;
  }
  return StoredPrecision::kFloat32;
}

StoredPrecision muon_storage(const PrecisionConfig& precision, ParameterRole role) {
  return is_gate(role) ? precision.gates : StoredPrecision::kFloat32;
}

bool has_master(ParameterStorage storage, ParameterRole role) {
  switch (storage) {
    case ParameterStorage::kFloat32: return false;
    case ParameterStorage::kBfloat16Stochastic: return true;
    case ParameterStorage::kBfloat16Truncated: break;
  }
  return is_block_matrix(role);
}

std::string family_of(const std::string& name) {
  std::string family;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool is_number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool is_left_out = is_number || (begin == 0 && part == "blocks") || (end == name.size() && part == "weight");
    if (!is_left_out) family += (family.empty() ? "" : ".") + part;
    begin = end + 1;
  }
  return family;
}

const OptimizerGroupConfig& settings_of(const OptimizerConfig& optimizer, ParameterGroup group,
                                        const std::string& name) {
  const auto family = optimizer.families.find(family_of(name));
  if (family != optimizer.families.end()) return family->second;
  switch (group) {
    case ParameterGroup::kEmbeddings: return optimizer.embeddings;
    case ParameterGroup::kLmHead: return optimizer.lm_head;
    case ParameterGroup::kHiddenMatrices: return optimizer.hidden_matrices;
    case ParameterGroup::kScalars: break;
  }
  return optimizer.scalars;
}

std::vector<std::int64_t> muon_group_key(std::span<const std::int64_t> sizes, MuonGroups grouping) {
  if (grouping == MuonGroups::kShape) return {sizes.begin(), sizes.end()};
  return {std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>())};
}

std::map<std::vector<std::int64_t>, std::int64_t> hidden_matrix_counts(const ModelConfig& model, MuonGroups grouping) {
  std::map<std::vector<std::int64_t>, std::int64_t> counts;
  for (const ParameterShape& parameter : Lister(model, /*splits_qkv=*/true).list()) {
    if (parameter.group == ParameterGroup::kHiddenMatrices) ++counts[muon_group_key(parameter.sizes, grouping)];
  }
  return counts;
}

bool is_sliced(std::int64_t elements, std::int64_t processes) {
  constexpr std::int64_t kMultiple = 16;
  return elements % (kMultiple * processes) == 0;
}

}  // namespace nanobench::core
