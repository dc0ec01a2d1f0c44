/// NorMuon's second moments of orthogonalised updates (record #41). Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/train_config.h"
#include "engine/optim/muon_rate.h"

namespace nanobench::core {

/// Evens out the rows or columns of the updates of some parameters:
///   n = |V|_F; q = mean of V^2 over each row if rows >= columns, else over each column; s <- s + (1 - beta2) (q - s),
///   s = 0 at first; V <- V / max(sqrt(s), 1e-10); V <- V n / max(|V|_F, 1e-10)
/// for each matrix V of the parameter's stored shape [..., rows, columns], which need not be the matrices that were
/// orthogonalised.
class SecondMoment {
 public:
  SecondMoment(const std::vector<MuonParameter>& parameters, double beta2, bool rounds_to_bfloat16);

  /// Normalises the update of each parameter in place. `updates`: one for each parameter, contiguous, with its number
  /// of elements. With `rates` a kernel also takes rate * update off the parameter, and returns true; false: it did
  /// not.
  bool normalize_(std::vector<at::Tensor>& updates, const std::vector<double>& rates = {});

  /// By parameter: s, [..., rows] or [..., columns].
  const std::vector<at::Tensor>& moments() const { return moments_; }

 private:
  bool normalize_by_kernel(std::vector<at::Tensor>& updates, const std::vector<double>& rates);
  bool normalize_on_device(std::vector<at::Tensor>& updates, const std::vector<double>& rates);
  void normalize_by_operations(std::size_t parameter, at::Tensor& update);

  std::vector<at::Tensor> parameters_;
  double beta2_;
  bool rounds_;
  std::vector<at::Tensor> moments_;
};

}  // namespace nanobench::core
