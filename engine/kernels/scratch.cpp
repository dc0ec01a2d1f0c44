#include "engine/kernels/scratch.h"

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

namespace nanobench::core {
namespace {

constexpr std::align_val_t kAlignment{64};

std::atomic<std::int64_t> held_bytes{0};

constexpr std::int64_t bytes_of(std::int64_t size) {
  return size * static_cast<std::int64_t>(sizeof(float));
}

struct Release {
  void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
};

struct Buffer {
  std::unique_ptr<float, Release> memory;
  std::int64_t size = 0;

  ~Buffer() { held_bytes -= bytes_of(size); }
};

}  // namespace

float* scratch(ScratchUse use, std::int64_t size) {
  thread_local std::array<Buffer, static_cast<std::size_t>(ScratchUse::kCount)> buffers;
  Buffer& buffer = buffers[static_cast<std::size_t>(use)];
  if (buffer.size < size) {
    buffer.memory.reset();
    held_bytes -= bytes_of(std::exchange(buffer.size, 0));
    buffer.memory.reset(
        static_cast<float*>(::operator new(static_cast<std::size_t>(size) * sizeof(float), kAlignment)));
    buffer.size = size;
    held_bytes += bytes_of(size);
  }
  return buffer.memory.get();
}

std::int64_t scratch_bytes() {
  return held_bytes;
}

}  // namespace nanobench::core
