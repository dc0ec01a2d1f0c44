/// The largest number of bytes that tensors of this thread held at once, beyond those that were there before. Not
/// thread-safe; one at a time.
#pragma once

#include <cstdint>
#include <memory>

namespace nanobench::core {

class AllocationMeter {
 public:
  /// Counts from here until it goes away.
  AllocationMeter();
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  std::int64_t peak_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nanobench::core
