#include "engine/optim/device_gradients.h"

namespace nanobench::core {
namespace {

bool has_gaps(const at::Tensor& gradient) {
  return gradient.defined() && !gradient.is_contiguous();
}

}  // namespace

DeviceGradients::DeviceGradients(std::vector<at::Tensor> parameters)
    : parameters_(std::move(parameters)), copies_(parameters_.size()) {}

std::vector<const float*> DeviceGradients::addresses() {
  std::vector<const float*> addresses;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    if (has_gaps(gradient) && !copies_[i].defined())
      copies_[i] = at::empty(gradient.sizes(), gradient.options().requires_grad(false));
    const at::Tensor& place = has_gaps(gradient) ? copies_[i] : gradient;
    addresses.push_back(place.defined() ? place.const_data_ptr<float>() : nullptr);
  }
  return addresses;
}

void DeviceGradients::gather() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (has_gaps(parameters_[i].grad())) copies_[i].copy_(parameters_[i].grad());
  }
}

}  // namespace nanobench::core
