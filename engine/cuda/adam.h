/// Adam's update of many tensors in one launch. Plain C++: includes no CUDA header. Thread-safe.
///
/// One pass reads g, m, v, p and writes m, v, p. What changes from step to step is read from device memory, so that a
/// captured graph can be replayed after new factors are copied there. Each number is computed independently: the bits
/// do not depend on how the work is divided.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// kRoundedFloat32: bfloat16 values in float32 storage, with moments in bfloat16 storage.
enum class NumberType : std::int32_t { kFloat32, kBfloat16, kRoundedFloat32 };

/// One tensor: pointers to `count` numbers on the device. Aligned ones (16 bytes) are processed eight numbers at a
/// time.
struct AdamTensor {
  void* parameter = nullptr;       ///< of `type`; unless kFloat32, stored numbers are rounded, the arithmetic is not
  void* first_moment = nullptr;    ///< float32 with kFloat32, else bfloat16
  void* second_moment = nullptr;   ///< same type as first_moment
  const void* gradient = nullptr;  ///< of `gradient_type`, rounded like the moments before use; null: zero
  bf16* copy = nullptr;            ///< rounded new parameter for matrix products; null: not wanted
  std::int64_t count = 0;
  std::int64_t first_item = 0;  ///< set by adam_items
  NumberType type = NumberType::kFloat32;
  NumberType gradient_type = NumberType::kFloat32;  ///< kFloat32 or kBfloat16
  std::int32_t group = 0;                           ///< index of the group's factors
};

/// The numbers of one step.
struct AdamStep {
  double rate = 0.0;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::int64_t step = 1;  ///< t, from 1
};

/// Factors that the kernel uses, computed in double precision from a step.
struct AdamFactors {
  float keep;                     ///< fraction of p kept after weight decay
  float first, second;            ///< weights of the new g and g^2
  float keep_first, keep_second;  ///< fractions of m and v kept
  float rate, root;               ///< including the bias corrections
  float eps;
  std::int32_t lerps_from_gradient;  ///< 1: m is interpolated from the nearer end, the gradient
};

AdamFactors adam_factors(const AdamStep& step);

/// Divides the tensors among blocks: sets first_item of each, in order. Returns the number of items.
std::int64_t adam_items(std::span<AdamTensor> tensors);

/// p -= rate weight_decay p; m = lerp(m, g, 1 - b1); v = b2 v + (1 - b2) g^2;
/// p -= rate / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps), as engine/kernels/adam.h.
///   tensors  `count` of them on the device, as adam_items left them; `items` is what it returned
///   factors  one for each group, on the device
/// Enqueues on the stream, does not synchronise. Throws CudaError.
void adam_update(const AdamTensor* tensors, std::int64_t count, std::int64_t items, const AdamFactors* factors,
                 Stream stream);

}  // namespace nanobench::core::cuda
