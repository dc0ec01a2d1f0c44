/// Muon: momentum, then an orthogonalised update, for the matrices of the blocks. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/train_config.h"
#include "engine/kernels/newton_schulz.h"
#include "engine/ops/torch.h"
#include "engine/optim/device_muon.h"

namespace nanobench::core {

/// A parameter of Muon: [rows, columns], [n, rows, columns], or [n * rows, columns] to be taken as n matrices one below
/// the other.
struct MuonParameter {
  at::Tensor tensor;
  std::int64_t matrices = 1;  ///< n; each is orthogonalised and scaled by itself
};

/// Whether the kernel computes what `config` asks for, on contiguous float32 parameters.
bool muon_fits_kernel(const OptimizerGroupConfig& config);

/// p -= lr * scale * O(u): u from the momentum buffer (form and Nesterov as configured), O by Newton-Schulz or SVD,
/// scale from the shape of one matrix.
///
/// Newton-Schulz without rounding, on contiguous float32 parameters, is one call of engine/kernels/newton_schulz.h for
/// all matrices; in bfloat16 on a GPU, kernels of its own (engine/optim/device_muon.h). Everything else goes through
/// LibTorch, the matrices of one shape as one batch.
class Muon {
 public:
  Muon(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config);

  /// One update with base rate config.lr * lr_factor: prepare, then launch.
  void step(double lr_factor, double momentum);

  /// Takes the numbers of a step. By a GPU's kernels: enqueues copies of all that differs from the last one.
  void prepare(double lr_factor, double momentum);
  /// The update. By a GPU's kernels, all launches are the same in every step, so that they can be captured and
  /// replayed.
  void launch();

  /// For a Muon of one parameter: what step() would apply to it, [n, rows, columns]; moves the momentum on.
  at::Tensor single_update(double momentum);

  /// Momentum buffer of parameter i, in the shape of the parameter.
  at::Tensor momentum_buffer(std::size_t parameter) const;

  bool uses_kernel() const { return uses_kernel_; }
  bool uses_device_kernels() const { return device_.has_value(); }
  /// "GPU kernels", "CPU kernels" or "operations".
  std::string path() const;

 private:
  /// All matrices of one shape: slices [begin, begin + matrices) of `buffer` belong to one parameter.
  struct Batch {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::size_t> parameters;
    at::Tensor buffer;  ///< [n, rows, columns]
  };
  /// A matrix of the kernel: matrix `index` of a parameter.
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
  void step_by_operations();
  at::Tensor gradients_of(const Batch& batch) const;
  at::Tensor orthogonalize(const at::Tensor& updates) const;
  at::Tensor update_of(Batch& batch, double momentum) const;

  std::vector<MuonParameter> parameters_;
  OptimizerGroupConfig config_;
  std::vector<Batch> batches_;
  double lr_factor_ = 1.0;
  double momentum_ = 0.0;
  std::optional<DeviceMuon> device_;
  bool uses_kernel_ = false;
  std::vector<NewtonSchulzMatrix> matrices_;  ///< the largest first
  std::vector<Place> places_;                 ///< of matrices_
};

/// parameter -= rate * update, with the rate of its shape; `update` holds the parameter's matrices in any shape.
void apply_muon_update(const MuonParameter& parameter, const at::Tensor& update, const OptimizerGroupConfig& config,
                       double lr_factor);

/// The factor on a parameter's update: config.lr * lr_factor, times the shape's scale where it is in the rate.
double muon_rate(const MuonParameter& parameter, const OptimizerGroupConfig& config, double lr_factor);

/// The factor on the orthogonalised update of a [rows, columns] matrix.
double muon_update_scale(UpdateScale scale, std::int64_t rows, std::int64_t columns);

}  // namespace nanobench::core
