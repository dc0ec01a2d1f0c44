/// Muon with the GPU kernels and Newton-Schulz iterations in bfloat16: a few launches for all matrices of one shape.
/// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/train_config.h"
#include "engine/cuda/muon.h"
#include "engine/ops/torch.h"
#include "engine/optim/device_memory.h"
#include "engine/optim/muon_rate.h"

namespace nanobench::core {

/// All matrices of one shape.
struct DeviceMuonBatch {
  std::int64_t rows = 0, columns = 0;
  std::vector<at::Tensor> parameters;  ///< each holds one or more matrices, stacked along the rows
  at::Tensor buffer;                   ///< [n, rows, columns] momentum of the matrices, in order
  MuonRate rate;                       ///< rate of the matrices; rate.update_scale in bfloat16
};

/// Whether the kernels support `config` (core/config/kernel_coverage.h) for these matrices on their device: a GPU with
/// kernels, contiguous float32 parameters, sides that are multiples of 8.
bool fits_device_muon(const DeviceMuonBatch& batch, const OptimizerGroupConfig& config);

/// The update of Muon (engine/optim/muon.h) with ns_dtype kBfloat16. Rounds like Muon, except for b A + c A A
/// (engine/ops/device_newton_schulz.h).
class DeviceMuon {
 public:
  /// REQUIRES fits_device_muon(batch, config) for each batch, one common device, and at least one batch. Updates the
  /// batches' buffers.
  DeviceMuon(std::vector<DeviceMuonBatch> batches, const OptimizerGroupConfig& config);

  /// Begins a step: enqueues copies of its factors, and of any addresses that changed. Does not wait.
  void prepare(double lr_factor, double momentum);
  /// The update. Reads everything that changes between steps from memory that prepare() fills.
  void launch();
  /// Alternative to launch() by batch: what launch() would subtract, without the rate; [n, rows, columns] float32.
  at::Tensor update_of(std::size_t batch);

 private:
  at::Tensor orthogonal_update(std::size_t batch);
  cuda::MuonShape shape_of(std::size_t batch) const;

  std::vector<DeviceMuonBatch> batches_;
  OptimizerGroupConfig config_;
  std::vector<std::int64_t> first_matrix_;  ///< index of each batch's first matrix, among all
  std::vector<std::int64_t> matrices_;      ///< number of matrices of each parameter, over all batches
  DeviceGradients gradients_;
  DeviceTable factors_;              ///< one cuda::MuonFactors per batch
  DeviceTable gradient_addresses_;   ///< one per matrix
  DeviceTable parameter_addresses_;  ///< one per matrix
};

}  // namespace nanobench::core
