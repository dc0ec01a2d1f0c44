/// One operation of the engine, ready for repeated calls on its own data. Not thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "core/protocol/operation_spec.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

struct MeasuredOperation {
  /// One call, as a training step makes it: forward and backward, or one update. Returns everything that outlives the
  /// call: results and gradients.
  std::function<std::vector<at::Tensor>()> call;
  double flops = 0;                           ///< FLOPs of one call; 0: unknown
  std::function<double()> error;              ///< relative distance of the result from the float64 result; may be empty
  std::function<double()> distance_to_polar;  ///< |x - U V^T| / |U V^T| for g = U S V^T; may be empty
};

/// Creates an operation with float32 data drawn from `seed`. Throws Error{kInvalidArgument} for missing or invalid
/// sizes.
MeasuredOperation make_operation(const std::string& op, const OperationArm& arm, std::uint64_t seed);

/// The kinds of operation.
MeasuredOperation attention_operation(const OperationArm& arm, std::uint64_t seed);
MeasuredOperation head_operation(const OperationArm& arm, std::uint64_t seed);
MeasuredOperation matrix_product_operation(const OperationArm& arm, std::uint64_t seed);
MeasuredOperation muon_step_operation(const OperationArm& arm, std::uint64_t seed);
MeasuredOperation orthogonalize_operation(const OperationArm& arm, std::uint64_t seed);

/// A sequence of standard normal tensors, the same for the same seed.
class Normal {
 public:
  explicit Normal(std::uint64_t seed);
  at::Tensor operator()(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat);
  at::Tensor leaf(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat);

 private:
  at::Generator generator_;
};

/// |a - b| / |b|, in float64.
double relative_distance(const at::Tensor& a, const at::Tensor& b);

}  // namespace nanobench::core
