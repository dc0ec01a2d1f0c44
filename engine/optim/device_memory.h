/// What the kernels of a GPU read from its memory for an update and the host changes between launches: factors of a
/// step, addresses, gradients. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// A place of fixed size on the device: its address never changes, so that a captured launch finds there what was
/// assigned before its replay.
class DeviceTable {
 public:
  DeviceTable(std::int64_t bytes, at::Device device);

  /// Enqueues a copy on the current stream, unless the device has these bytes from before. Waits for nothing; `entries`
  /// may change at once. Throws c10::Error when they do not fit.
  template <class Entry>
  void assign(const std::vector<Entry>& entries) {
    static_assert(std::is_trivially_copyable_v<Entry>);
    assign_bytes(std::as_bytes(std::span(entries)));
  }

  /// On the device.
  template <class Entry>
  const Entry* data() const {
    return static_cast<const Entry*>(table_.const_data_ptr());
  }

  std::int64_t copies() const { return copies_; }  ///< enqueued until now

 private:
  void assign_bytes(std::span<const std::byte> bytes);

  at::Tensor table_;
  std::vector<std::byte> assigned_;
  std::int64_t copies_ = 0;
};

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
