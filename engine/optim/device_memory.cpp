#include "engine/optim/device_memory.h"

#include <algorithm>
#include <cstring>

namespace nanobench::core {
namespace {

bool has_gaps(const at::Tensor& gradient) {
  return gradient.defined() && !gradient.is_contiguous();
}

}  // namespace

DeviceTable::DeviceTable(std::int64_t bytes, at::Device device)
    : table_(at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device))) {}

void DeviceTable::assign_bytes(std::span<const std::byte> bytes) {
  const auto count = static_cast<std::int64_t>(bytes.size());
  TORCH_CHECK(count <= table_.numel(), "device table: ", count, " bytes for a place of ", table_.numel());
  if (std::ranges::equal(bytes, assigned_)) return;
  assigned_.assign(bytes.begin(), bytes.end());
  // Copies from locked memory, which its allocator keeps until the device has read it.
  const at::Tensor staged =
      at::empty({count}, at::TensorOptions().dtype(at::kByte).pinned_memory(table_.device().is_cuda()));
  std::memcpy(staged.mutable_data_ptr(), bytes.data(), bytes.size());
  table_.narrow(0, 0, count).copy_(staged, /*non_blocking=*/true);
  ++copies_;
}

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
