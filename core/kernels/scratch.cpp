#include "core/kernels/scratch.h"

#include <array>
#include <memory>
#include <new>

namespace nanobench::core {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Release {
  void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
};

struct Buffer {
  std::unique_ptr<float, Release> memory;
  std::int64_t size = 0;
};

}  // namespace

float* scratch(ScratchUse use, std::int64_t size) {
  thread_local std::array<Buffer, static_cast<std::size_t>(ScratchUse::kCount)> buffers;
  Buffer& buffer = buffers[static_cast<std::size_t>(use)];
  if (buffer.size < size) {
    buffer.memory.reset();
    buffer.memory.reset(
        static_cast<float*>(::operator new(static_cast<std::size_t>(size) * sizeof(float), kAlignment)));
    buffer.size = size;
  }
  return buffer.memory.get();
}

}  // namespace nanobench::core
