/// NorMuon's second moments for each matrix that was orthogonalised (record #42 on). Not thread-safe.
#pragma once

#include <vector>

#include "core/config/train_config.h"
#include "engine/optim/muon_rate.h"

namespace nanobench::core {

/// Evens out the rows or columns of each matrix X of an update:
///   q = mean of X^2 over each row if rows >= columns, else over each column; s <- beta2 s + (1 - beta2) q, s = 0 at
///   first; Y = X / sqrt(max(s, 1e-10)); X <- Y |X|_F / max(|Y|_F, 1e-10)
/// (with MeanAxis::kRow always over each row). rows and columns are those of X, or with ShapeSource::kStored those of
/// the parameter that holds it. It differs from SecondMoment in taking norms and means of the matrices themselves, and
/// in the floor, which is on s.
class BlockwiseMoment {
 public:
  BlockwiseMoment(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config);

  /// Normalises the update of a parameter in place. `update`: its matrices one after the other, in any shape.
  void normalize_(std::size_t parameter, at::Tensor& update);

  /// By parameter: s, [n, rows, 1] or [n, 1, columns].
  const std::vector<at::Tensor>& moments() const { return moments_; }

 private:
  std::vector<MuonParameter> parameters_;
  double beta2_;
  bool rounds_;
  std::vector<at::Tensor> moments_;
};

}  // namespace nanobench::core
