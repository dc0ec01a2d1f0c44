#include "engine/ops/device_table.h"

#include <algorithm>
#include <cstring>

namespace nanobench::core {

DeviceTable::DeviceTable(std::int64_t bytes, at::Device device)
    : table_(at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device))) {}

void DeviceTable::assign_bytes(std::span<const std::byte> bytes) {
  const auto count = static_cast<std::int64_t>(bytes.size());
  TORCH_CHECK(count <= table_.numel(), "device table: ", count, " bytes for a place of ", table_.numel());
  if (std::ranges::equal(bytes, assigned_)) return;
  assigned_.assign(bytes.begin(), bytes.end());
  // From locked memory, which its allocator keeps until the device has read it.
  const at::Tensor staged =
      at::empty({count}, at::TensorOptions().dtype(at::kByte).pinned_memory(table_.device().is_cuda()));
  std::memcpy(staged.mutable_data_ptr(), bytes.data(), bytes.size());
  table_.narrow(0, 0, count).copy_(staged, /*non_blocking=*/true);
  ++copies_;
}

}  // namespace nanobench::core
