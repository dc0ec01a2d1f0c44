/// Muon: momentum, then an orthogonalised update, for the matrices of the blocks. Not thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "core/config/train_config.h"
#include "engine/kernels/newton_schulz.h"
#include "engine/optim/blockwise_moment.h"
#include "engine/optim/device_muon.h"
#include "engine/optim/muon_rate.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/second_moment.h"

namespace nanobench::core {

/// p -= lr * scale * O(u). u comes from the momentum buffer (form and Nesterov as configured), O is Newton-Schulz,
/// Polar Express or SVD, followed by NorMuon's normalisation if second_moment_beta2 is set (of whole parameters, or
/// with config.blockwise of each matrix), and scale depends on the shape of one matrix.
///
/// The iterations without rounding, on contiguous float32 parameters, is one call of engine/kernels/newton_schulz.h for
/// all matrices. In bfloat16 on a GPU it uses GPU kernels (engine/optim/device_muon.h). Everything else uses LibTorch,
/// with one batch per matrix shape.
class Muon final : public Optimizer {
 public:
  Muon(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config);

  void launch() override;
  bool is_replayable() const override { return device_.has_value() && !second_moment_ && !config_.blockwise; }
  OptimizerType type() const override { return OptimizerType::kMuon; }
  std::set<UpdatePath> paths() const override { return {path()}; }

  /// For a Muon of one parameter: returns the update that step() would apply, [n, rows, columns], and updates the
  /// momentum.
  at::Tensor single_update(double momentum);

  /// Momentum buffer of parameter i, in the shape of the parameter.
  at::Tensor momentum_buffer(std::size_t parameter) const;
  /// Its second moments; undefined without.
  at::Tensor second_moments(std::size_t parameter) const;

  bool uses_kernel() const { return uses_kernel_; }
  bool uses_device_kernels() const { return device_.has_value(); }
  UpdatePath path() const;

 protected:
  std::vector<at::Tensor> state_tensors() const override;
  void send_numbers() override;

 private:
  /// All matrices of one shape: slices [begin, begin + matrices) of `buffer` belong to one parameter.
  struct Batch {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::size_t> parameters;
    at::Tensor buffer;  ///< [n, rows, columns]
    MuonRate rate;
  };
  /// Source of a kernel matrix: matrix `index` of a parameter.
  struct Place {
    std::size_t parameter = 0;
    std::int64_t index = 0;
    std::int64_t numbers = 0;  ///< rows * columns
  };

  void build_batches();
  void build_device_batches();
  void build_kernel_matrices();
  bool kernel_applies() const;
  NewtonSchulzSettings kernel_settings(double momentum) const;
  void run_kernel(double momentum);
  void step_by_kernel();
  void step_normalized();
  void step_blockwise();
  std::vector<at::Tensor> orthogonal_updates();
  std::vector<at::Tensor> kernel_updates();
  void round_stored();
  void step_by_operations();
  at::Tensor gradients_of(const Batch& batch) const;
  at::Tensor orthogonalize(const at::Tensor& updates) const;
  at::Tensor update_of(Batch& batch, double momentum) const;

  std::vector<MuonParameter> parameters_;
  OptimizerGroupConfig config_;
  std::vector<Batch> batches_;
  std::optional<DeviceMuon> device_;
  std::optional<SecondMoment> second_moment_;
  std::optional<BlockwiseMoment> blockwise_moment_;
  bool uses_kernel_ = false;
  std::vector<NewtonSchulzMatrix> matrices_;  ///< largest first
  std::vector<Place> places_;                 ///< source of each of matrices_
};

}  // namespace nanobench::core
