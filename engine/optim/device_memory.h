/// Device memory that the GPU kernels read for an update and the host changes between launches: factors of a step,
/// addresses, gradients. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// A device buffer of fixed size and address, so that a captured launch reads what was assigned before its replay.
class DeviceTable {
 public:
  DeviceTable(std::int64_t bytes, at::Device device);

  /// Enqueues a copy on the current stream, unless the device already has these bytes. Does not wait; `entries` may
  /// change immediately. Throws c10::Error if they do not fit.
  template <class Entry>
  void assign(const std::vector<Entry>& entries) {
    static_assert(std::is_trivially_copyable_v<Entry>);
    assign_bytes(std::as_bytes(std::span(entries)));
  }

  /// Pointer on the device.
  template <class Entry>
  const Entry* data() const {
    return static_cast<const Entry*>(table_.const_data_ptr());
  }

  std::int64_t copies() const { return copies_; }  ///< copies enqueued so far

 private:
  void assign_bytes(std::span<const std::byte> bytes);

  at::Tensor table_;
  std::vector<std::byte> assigned_;
  std::int64_t copies_ = 0;
};

/// Gradients of float32 parameters.
class DeviceGradients {
 public:
  explicit DeviceGradients(std::vector<at::Tensor> parameters);

  /// Current addresses of the gradients, or for non-contiguous ones, of the copies that gather() makes; null:
  /// undefined.
  std::vector<const float*> addresses();
  /// Enqueues those copies.
  void gather();

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> copies_;  ///< by parameter, where needed
};

}  // namespace nanobench::core
