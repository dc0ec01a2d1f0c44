/// The trained tensors of a model: names, shapes and optimiser groups. The engine registers exactly these
/// (engine/nn/parameters.h), and cost counting reads the same list (core/config/cost_model.h). Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/train_config.h"

namespace nanobench::core {

inline constexpr std::int64_t kMuddLayerOutputs = 14;  ///< coefficients of model.mudd for its layer
inline constexpr std::int64_t kMuddHeadOutputs = 5;    ///< and before the head

/// Which optimiser group a parameter belongs to (TrainConfig::optimizer).
enum class ParameterGroup { kEmbeddings, kLmHead, kHiddenMatrices, kScalars };

/// What a parameter does in the model, where its storage or its cost depends on it.
enum class ParameterRole {
  kOther,
  kTokenTable,
  kHead,
  kAttention,        ///< matrices of an attention layer
  kMergedAttention,  ///< those of queries, keys, values and output in one parameter (model.merged_qkvo)
  kMlpUp,
  kMlpDown,
  kGate,  ///< the matrix of a gate that its input controls
  kSkip,
  kSkipGate,
};

struct ParameterShape {
  std::string name;
  ParameterGroup group = ParameterGroup::kScalars;
  ParameterRole role = ParameterRole::kOther;
  std::vector<std::int64_t> sizes;  ///< empty: a scalar
  std::int64_t matrices = 1;        ///< number of matrices the optimiser splits it into
  /// Columns of one of `matrices` if they are not rows of this shape but pieces of its memory (merged_qkvo "wide").
  std::optional<std::int64_t> matrix_columns;

  std::int64_t numbers() const;
  std::int64_t columns() const { return matrix_columns.value_or(sizes.back()); }  ///< of one; REQUIRES a matrix
  std::int64_t matrix_rows() const { return numbers() / columns() / matrices; }   ///< rows of one of `matrices`
};

/// Numbers of the rows that model.unread_rows keeps.
std::int64_t unread_numbers(const ModelConfig& model);

/// Every parameter of the model; each name appears once.
std::vector<ParameterShape> parameter_list(const TrainConfig& config);

/// The family of a parameter (OptimizerConfig::families): its name without a leading "blocks.", a trailing ".weight"
/// and numbers. "blocks.3.attn.qkvo_w" is of the family "attn.qkvo_w".
std::string family_of(const std::string& name);

/// Whether the optimiser keeps a float32 copy of such a parameter (PrecisionConfig::parameters).
bool has_master(ParameterStorage storage, ParameterRole role);
/// The type in which such a parameter is stored if Adam trains it.
StoredPrecision adam_storage(const PrecisionConfig& precision, ParameterGroup group, ParameterRole role);
/// If Muon trains it: only gates may be stored in a shorter type.
StoredPrecision muon_storage(const PrecisionConfig& precision, ParameterRole role);

/// The settings by which a parameter is trained: those of its family, or else of its group.
const OptimizerGroupConfig& settings_of(const OptimizerConfig& optimizer, ParameterGroup group,
                                        const std::string& name);

/// What matrices of one of Muon's groups have in common: their element count, or their shape.
std::vector<std::int64_t> muon_group_key(std::span<const std::int64_t> sizes, MuonGroups grouping);

/// Number of parameters in the group optimizer.hidden_matrices, by the key of Muon's group. Its work is divided by it.
std::map<std::vector<std::int64_t>, std::int64_t> hidden_matrix_counts(const ModelConfig& model,
                                                                       MuonGroups grouping = MuonGroups::kElements);

/// Whether a parameter of so many elements is cut into equal slices, one a process, each a multiple of 64 bytes in
/// float32 (DistributedConfig::gradient_sums kOwners).
bool is_sliced(std::int64_t elements, std::int64_t processes);

}  // namespace nanobench::core
