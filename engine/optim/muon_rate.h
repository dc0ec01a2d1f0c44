/// Muon's effective learning rate from a matrix's shape, the settings and the step, for all implementations. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// A parameter of Muon: [rows, columns], [n, rows, columns], or the memory of n matrices in another shape, such as
/// [n * rows, columns].
struct MuonParameter {
  at::Tensor tensor;
  std::int64_t matrices = 1;                                  ///< n; each is orthogonalised and scaled separately
  std::optional<std::int64_t> matrix_columns = std::nullopt;  ///< of one matrix, if not the parameter's own
  StoredPrecision storage = StoredPrecision::kFloat32;        ///< kBfloat16: rounded after each step, with its momentum
  /// The parameter of which `tensor` is rows from `first_row` on, as a view without gradient of its own; undefined:
  /// none.
  at::Tensor whole = {};
  std::int64_t first_row = 0;

  at::Tensor gradient() const;  ///< undefined: zero

  std::int64_t columns() const { return matrix_columns.value_or(tensor.size(-1)); }
  std::int64_t rows() const { return tensor.numel() / columns() / matrices; }  ///< rows of one matrix
};

/// parameter -= at(lr_factor) * (update_scale * orthogonalised update). The shape's scale is in one of the two factors,
/// as set by OptimizerGroupConfig::scale_application.
struct MuonRate {
  double lr = 0.0;            ///< base rate of the group
  double rate_scale = 1.0;    ///< factor on the rate
  double update_scale = 1.0;  ///< factor on the orthogonalised update, in the iterations' dtype

  double at(double lr_factor) const { return lr * lr_factor * rate_scale; }
};
/// The rate of a [rows, columns] matrix.
MuonRate muon_rate(const OptimizerGroupConfig& config, std::int64_t rows, std::int64_t columns);
/// The rate of the matrices of a parameter, by the shape that config.shape_of chooses.
MuonRate muon_rate(const OptimizerGroupConfig& config, const MuonParameter& parameter);

/// Rows and columns of the shape that config.shape_of chooses.
std::pair<std::int64_t, std::int64_t> shape_for(const OptimizerGroupConfig& config, const MuonParameter& parameter);

/// Applies an update that already includes the factor update_scale; `update` holds the parameter's matrices in any
/// shape. Decays with config.cautious_decay. Rounds the parameter if it is stored in bfloat16.
void apply_muon_update(const MuonParameter& parameter, const at::Tensor& update, const OptimizerGroupConfig& config,
                       double lr_factor);

/// The update scale of a [rows, columns] matrix.
double muon_update_scale(UpdateScale scale, std::int64_t rows, std::int64_t columns);

}  // namespace nanobench::core
