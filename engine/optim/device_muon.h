/// Muon by the GPU's kernels, with Newton-Schulz iterations in bfloat16: a few launches for all matrices of a shape.
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
  std::vector<at::Tensor> parameters;  ///< each of one or several matrices, one below the other
  at::Tensor buffer;                   ///< [n, rows, columns], their momentum in order
  MuonRate rate;                       ///< of its matrices; rate.update_scale in bfloat16
};

/// Whether the kernels compute what `config` asks for (core/config/kernel_coverage.h) for these matrices, where they
/// lie: a GPU with kernels, contiguous float32 parameters, sides that are multiples of 8.
bool fits_device_muon(const DeviceMuonBatch& batch, const OptimizerGroupConfig& config);

/// The update of Muon (engine/optim/muon.h) with ns_dtype kBfloat16. Rounds as that does, but for b A + c A A
/// (engine/ops/device_newton_schulz.h).
class DeviceMuon {
 public:
  /// REQUIRES fits_device_muon(batch, config) of each, and one device. At least one batch. Moves the
  /// batches' buffers on.
  DeviceMuon(std::vector<DeviceMuonBatch> batches, const OptimizerGroupConfig& config);

  /// Begins a step: enqueues copies of its factors, and of addresses where those changed. Waits for nothing.
  void prepare(double lr_factor, double momentum);
  /// The update. Everything that differs between steps is read from memory that prepare() fills.
  void launch();
  /// In place of launch(), for one batch: what that would subtract, but for the rate, [n, rows, columns] float32.
  at::Tensor single_update();

 private:
  at::Tensor orthogonal_update(std::size_t batch);
  cuda::MuonShape shape_of(std::size_t batch) const;

  std::vector<DeviceMuonBatch> batches_;
  OptimizerGroupConfig config_;
  std::vector<std::int64_t> first_matrix_;  ///< of each batch, among all
  std::vector<std::int64_t> matrices_;      ///< of each parameter of all batches
  DeviceGradients gradients_;
  DeviceTable factors_;              ///< one cuda::MuonFactors a batch
  DeviceTable gradient_addresses_;   ///< of each matrix
  DeviceTable parameter_addresses_;  ///< of each matrix
};

}  // namespace nanobench::core
