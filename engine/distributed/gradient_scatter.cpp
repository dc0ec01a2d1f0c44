#include "engine/distributed/gradient_scatter.h"

#include "core/base/error.h"

namespace nanobench::core {

GradientScatter::GradientScatter(Parameters& parameters, const TrainConfig& config, Communicator& communicator)
    : parameters_(parameters),
      communicator_(communicator),
      owners_(update_owners(parameters, config, communicator.size())) {}

void GradientScatter::after_backward(SyncPoint point) {
  if (point == SyncPoint::kNone) return;
  if (point == SyncPoint::kMicroStep)
    throw Error(ErrorCode::kInternal, "scattered sums are taken once a step, not after each micro-step");
  std::vector<WorkHandle> works;
  for (const std::vector<std::size_t>& round : owners_.rounds)
    works.push_back(communicator_.start_reduce_scatter_sum(parts_of_round(round)));
  for (const std::size_t parameter : owners_.sliced)
    works.push_back(communicator_.start_reduce_scatter_sum(parts_of_slices(parameter)));
  for (const std::size_t parameter : owners_.replicated)
    works.push_back(communicator_.start_all_reduce_sum(gradient(parameter)));
  for (const WorkHandle& work : works) work->wait();
}

/// The gradients of a round; processes without a matrix get an empty part.
std::vector<at::Tensor> GradientScatter::parts_of_round(const std::vector<std::size_t>& round) {
  std::vector<at::Tensor> parts;
  for (const std::size_t parameter : round) parts.push_back(gradient(parameter));
  const at::Tensor empty = at::empty({0}, parts.front().options());
  parts.resize(static_cast<std::size_t>(communicator_.size()), empty);
  return parts;
}

std::vector<at::Tensor> GradientScatter::parts_of_slices(std::size_t parameter) {
  return gradient(parameter).view({communicator_.size(), -1}).unbind(0);
}

at::Tensor GradientScatter::gradient(std::size_t parameter) {
  at::Tensor& tensor = parameters_.all()[parameter].tensor;
  if (!tensor.grad().defined()) tensor.mutable_grad() = at::zeros_like(tensor).detach();
  return tensor.grad();
}

}  // namespace nanobench::core
