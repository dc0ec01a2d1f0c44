#include "engine/operations/allocation_meter.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

namespace nanobench::core {
namespace {

/// LibTorch's allocators tell each allocation of the thread to whoever is its profiler.
class Reporter : public c10::MemoryReportingInfoBase {
 public:
  using c10::MemoryReportingInfoBase::reportMemoryUsage;
  void reportMemoryUsage(void* /*pointer*/, std::int64_t size, std::size_t /*allocated*/, std::size_t /*reserved*/,
                         c10::Device /*device*/) override {
    held_ += size;  // negative when memory is given back
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

 private:
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

struct AllocationMeter::State {
  std::shared_ptr<Reporter> reporter = std::make_shared<Reporter>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, reporter};
};

AllocationMeter::AllocationMeter() : state_(std::make_unique<State>()) {}
AllocationMeter::~AllocationMeter() = default;

std::int64_t AllocationMeter::peak_bytes() const {
  return state_->reporter->peak();
}

}  // namespace nanobench::core
