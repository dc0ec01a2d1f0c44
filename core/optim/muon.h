/// Muon: momentum, then an orthogonalised update, for the matrices of the blocks. Not thread-safe.
#pragma once

#include <vector>

#include "core/config/train_config.h"
#include "core/ops/torch.h"

namespace nanobench::core {

/// A parameter of Muon: [rows, columns], [n, rows, columns], or [n * rows, columns] to be taken as n matrices one below
/// the other.
struct MuonParameter {
  at::Tensor tensor;
  std::int64_t matrices = 1;  ///< n; each is orthogonalised and scaled by itself
};

/// p -= lr * scale * O(u): u from the momentum buffer (form and Nesterov as configured), O by Newton-Schulz or SVD,
/// scale from the shape of one matrix. Matrices of one shape are updated as one batch.
class Muon {
 public:
  Muon(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config);

  /// One update with base rate config.lr * lr_factor: update_of, then apply_muon_update, for every shape.
  void step(double lr_factor, double momentum);

  /// For a Muon of one parameter: what step() would apply to it, [n, rows, columns]; moves the momentum on.
  at::Tensor single_update(double momentum);

  /// Momentum buffer of parameter i, in the shape of the parameter.
  at::Tensor momentum_buffer(std::size_t parameter) const;

 private:
  /// All matrices of one shape: slices [begin, begin + matrices) of `buffer` belong to one parameter.
  struct Batch {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::size_t> parameters;
    at::Tensor buffer;  ///< [n, rows, columns]
  };

  at::Tensor gradients_of(const Batch& batch) const;
  at::Tensor orthogonalize(const at::Tensor& updates) const;
  at::Tensor update_of(Batch& batch, double momentum) const;

  std::vector<MuonParameter> parameters_;
  OptimizerGroupConfig config_;
  std::vector<Batch> batches_;
};

/// parameter -= rate * update, with the rate of its shape; `update` holds the parameter's matrices in any shape.
void apply_muon_update(const MuonParameter& parameter, const at::Tensor& update, const OptimizerGroupConfig& config,
                       double lr_factor);

/// The factor on the orthogonalised update of a [rows, columns] matrix.
double muon_update_scale(UpdateScale scale, std::int64_t rows, std::int64_t columns);

}  // namespace nanobench::core
