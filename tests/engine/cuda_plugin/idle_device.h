/// A GPU that has kernels which do nothing and memory that is only counted: LibTorch's meta device. Shows what a step
/// allocates at full size, and that nothing of it asks for a value.
#pragma once

#include <c10/core/Allocator.h>

#include <algorithm>
#include <atomic>

#include "engine/ops/kernels.h"

namespace nanobench::core::testing {

/// Hands out addresses that nobody may follow, in the units of a GPU's allocator.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static CountingAllocator allocator;
    return allocator;
  }
  c10::DataPtr allocate(std::size_t bytes) override {
    const std::size_t size = (bytes + kUnit - 1) / kUnit * kUnit;
    live_ += size;
    peak_ = std::max(peak_, live_);
    auto* const tag = new std::size_t(size);
    return {reinterpret_cast<void*>(kAddress), tag, &release, c10::Device(c10::kMeta)};
  }
  void copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const override {}

  void reset_peak() { peak_ = live_; }
  std::size_t live() const { return live_; }
  std::size_t peak() const { return peak_; }

 private:
  static constexpr std::size_t kUnit = 512;
  static constexpr std::uintptr_t kAddress = 4096;  // aligned, and never mapped
  static void release(void* tag) {
    auto* const size = static_cast<std::size_t*>(tag);
    instance().live_ -= *size;
    delete size;
  }
  std::size_t live_ = 0, peak_ = 0;
};

template <class... Arguments>
void does_nothing(Arguments... /*arguments*/) {}

/// The engine has such a GPU, and meta tensors are counted, as long as an object of this class lives. One at a time.
class IdleDevice {
 public:
  IdleDevice() : before_(c10::GetAllocator(c10::kMeta)) {
    c10::SetAllocator(c10::kMeta, &CountingAllocator::instance());
    context_.set_gpu(&kernels_);
  }
  ~IdleDevice() { c10::SetAllocator(c10::kMeta, before_); }
  IdleDevice(const IdleDevice&) = delete;
  IdleDevice& operator=(const IdleDevice&) = delete;

 private:
  static cuda::KernelTable table() {
    return {.attention_mask = does_nothing,
            .attention_forward = does_nothing,
            .attention_backward = does_nothing,
            .residual_norm_forward = does_nothing,
            .residual_norm_backward = does_nothing,
            .qkv_heads_forward = does_nothing,
            .qkv_heads_backward = does_nothing,
            .head_gate_forward = does_nothing,
            .head_gate_backward = does_nothing,
            .smear_forward = does_nothing,
            .smear_backward = does_nothing,
            .relu_squared_forward = does_nothing,
            .relu_squared_backward = does_nothing,
            .cross_entropy_rows_bf16 = does_nothing,
            .cross_entropy_rows_bf16_e5m2 = does_nothing,
            .quantize_e4m3_bf16 = does_nothing,
            .quantize_e4m3_float = does_nothing,
            .transpose_e5m2 = does_nothing,
            .sum_partials = does_nothing,
            .embedding_forward = does_nothing,
            .embedding_backward = does_nothing,
            .adam_factors = cuda::adam_factors,
            .adam_items = cuda::adam_items,
            .adam_update = does_nothing,
            .muon_factors = cuda::muon_factors,
            .muon_momentum = does_nothing,
            .muon_momentum_float = does_nothing,
            .muon_normalize = does_nothing,
            .muon_normalize_float = does_nothing,
            .muon_combine = does_nothing,
            .muon_apply = does_nothing,
            .second_moment_workspace = cuda::second_moment_workspace,
            .second_moment_normalize = does_nothing,
            .symmetric_product = does_nothing};
  }
  c10::Allocator* before_;
  CudaKernels kernels_{table(), at::kMeta, [] { return cuda::Stream(nullptr); }};
  EngineContext context_;
};

}  // namespace nanobench::core::testing
