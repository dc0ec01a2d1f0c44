/// Gradients as the GPU's kernels take them: addresses of numbers without gaps. Not thread-safe.
#pragma once

#include <vector>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// Of float32 parameters.
class DeviceGradients {
 public:
  explicit DeviceGradients(std::vector<at::Tensor> parameters);

  /// Where the gradients lie now, or, of those with gaps, where gather() copies them to; null: undefined.
  std::vector<const float*> addresses();
  /// Enqueues those copies.
  void gather();

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> copies_;  ///< by parameter, where one was needed
};

}  // namespace nanobench::core
