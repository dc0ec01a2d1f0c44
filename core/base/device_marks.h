/// Marks on the stream of a device that works on its own, such as a GPU.
#pragma once

namespace nanobench::core {

/// Measures times between marks on the device's stream; nothing waits before elapsed_ms. Not thread-safe.
class DeviceMarks {
 public:
  virtual ~DeviceMarks() = default;
  /// Enqueues a mark; returns its number, 0, 1, ... since the last reset. Never throws, since scopes mark their ends:
  /// if the device fails, elapsed_ms says so.
  virtual int mark() noexcept = 0;
  /// Milliseconds between two marks. Waits for the second one, which costs nothing after a synchronisation.
  virtual double elapsed_ms(int from, int to) = 0;
  virtual void reset() = 0;
};

}  // namespace nanobench::core
