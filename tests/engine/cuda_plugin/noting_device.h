/// A GPU that computes nothing and notes what it is asked for: every kernel with its arguments, every operation of
/// LibTorch with shapes, types and numbers, every allocation, every copy of tokens. Its memory is the CPU's, and zero.
#pragma once

#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/library.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/ops/kernels.h"
#include "engine/train/cuda_plugin.h"
#include "tests/engine/cuda_plugin/emulated_graph.h"

namespace nanobench::core::testing {

/// All notes of this process as one number, in order.
class Notes {
 public:
  static void add(std::uint64_t value) { digest_ = (digest_ ^ value) * 1099511628211U + (digest_ >> 47U); }
  static void add_bytes(const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) add(static_cast<const unsigned char*>(data)[i]);
  }
  static void restart() { digest_ = 14695981039346656037U; }
  static std::uint64_t digest() { return digest_; }

 private:
  static inline std::uint64_t digest_ = 0;
};

/// Converts to anything, to count the members of a structure.
struct AnyMember {
  template <class Member>
  operator Member() const;  // NOLINT(google-explicit-constructor)
};

template <class Structure, class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { Structure{Members{}..., AnyMember{}}; }) {
    return member_count<Structure, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

template <class Value>
void note(const Value& value);

template <class... Members>
void note_all(const Members&... members) {
  (note(members), ...);
}

/// Each member, so that no padding counts.
template <class Structure>
void note_members_of(const Structure& of) {
  constexpr std::size_t kCount = member_count<Structure>();
  static_assert(kCount >= 1 && kCount <= 14, "add a case");
  // clang-format off
  if constexpr (kCount == 1) { const auto& [a] = of; note_all(a); }
  if constexpr (kCount == 2) { const auto& [a, b] = of; note_all(a, b); }
  if constexpr (kCount == 3) { const auto& [a, b, c] = of; note_all(a, b, c); }
  if constexpr (kCount == 4) { const auto& [a, b, c, d] = of; note_all(a, b, c, d); }
  if constexpr (kCount == 5) { const auto& [a, b, c, d, e] = of; note_all(a, b, c, d, e); }
  if constexpr (kCount == 6) { const auto& [a, b, c, d, e, f] = of; note_all(a, b, c, d, e, f); }
  if constexpr (kCount == 7) { const auto& [a, b, c, d, e, f, g] = of; note_all(a, b, c, d, e, f, g); }
  if constexpr (kCount == 8) { const auto& [a, b, c, d, e, f, g, h] = of; note_all(a, b, c, d, e, f, g, h); }
  if constexpr (kCount == 9) { const auto& [a, b, c, d, e, f, g, h, i] = of; note_all(a, b, c, d, e, f, g, h, i); }
  if constexpr (kCount == 10) { const auto& [a, b, c, d, e, f, g, h, i, j] = of; note_all(a, b, c, d, e, f, g, h, i, j); }
  if constexpr (kCount == 11) { const auto& [a, b, c, d, e, f, g, h, i, j, k] = of; note_all(a, b, c, d, e, f, g, h, i, j, k); }
  if constexpr (kCount == 12) { const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = of; note_all(a, b, c, d, e, f, g, h, i, j, k, l); }
  if constexpr (kCount == 13) { const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = of; note_all(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  if constexpr (kCount == 14) { const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = of; note_all(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
  // clang-format on
}

template <class Element>
inline constexpr bool kIsSpan = false;
template <class Element>
inline constexpr bool kIsSpan<std::span<Element>> = true;

/// A number; of an address only that there is one, except where it is of a step's numbers in the GPU's memory.
template <class Value>
void note(const Value& value) {
  if constexpr (std::is_same_v<Value, cuda::Stream>) {
  } else if constexpr (std::is_same_v<Value, const cuda::MuonFactors*>) {
    if (value != nullptr) note(*value);
  } else if constexpr (std::is_pointer_v<Value>) {
    Notes::add(value != nullptr ? 1 : 0);
  } else if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>) {
    Notes::add_bytes(&value, sizeof value);
  } else if constexpr (kIsSpan<Value> || std::is_array_v<Value>) {
    for (const auto& element : value) note(element);
  } else if constexpr (std::is_same_v<Value, cuda::DeviceSecondMoment>) {  // has arrays
    note_all(value.rows, value.columns, value.matrices, value.updates, value.moments, value.parameters, value.rate,
             value.rest, value.rounds);
  } else {
    note_members_of(value);
  }
}

/// Stands in the table where `kMember` is: notes its arguments. What it would write stays zero. Helpers of the host,
/// which return something, and the mask, which holds the window, are computed.
template <auto kMember, class Function>
struct NotedKernel;

template <auto kMember, class Result, class... Arguments>
struct NotedKernel<kMember, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    Notes::add(kPlace);
    (note(arguments), ...);
    if constexpr (!std::is_void_v<Result>) {
      Result result = (kReal.*kMember)(arguments...);
      note(result);
      return result;
    } else if constexpr (kIsMask) {
      (kReal.*kMember)(arguments...);
    } else if constexpr (kIsAttention) {
      note_mask(arguments...);
    } else if constexpr (kIsAdam) {
      note_adam(arguments...);
    }
  }

 private:
  static constexpr bool kIsMask = std::is_same_v<Result (*)(Arguments...), decltype(&cuda::attention_mask)>;
  static constexpr bool kIsAttention = std::is_same_v<Result (*)(Arguments...), decltype(&cuda::attention_forward)>;
  static constexpr bool kIsAdam = std::is_same_v<Result (*)(Arguments...), decltype(&cuda::adam_update)>;
  static inline const cuda::KernelTable kReal = cuda::kernel_table();
  static inline const std::uint64_t kPlace = [] {
    static std::uint64_t next = 0;
    return ++next;
  }();

  static void note_mask(const cuda::DeviceAttentionShape& shape, const cuda::DeviceAttentionInputs& in, cuda::bf16*,
                        float*, cuda::Stream) {
    Notes::add_bytes(in.mask.first_key, static_cast<std::size_t>(shape.length) * sizeof *in.mask.first_key);
  }
  static void note_adam(const cuda::AdamTensor* tensors, std::int64_t count, std::int64_t,
                        const cuda::AdamFactors* factors, cuda::Stream) {
    for (std::int64_t i = 0; i < count; ++i) {
      note(tensors[i]);
      note(factors[tensors[i].group]);
    }
  }
};

/// A structure of function pointers in which every member is noted: `members` in any order.
template <auto... kMembers>
void note_members(cuda::KernelTable& table) {
  ((table.*kMembers = &NotedKernel<kMembers, std::remove_reference_t<decltype(table.*kMembers)>>::call), ...);
}

inline CudaKernels noting_kernels() {
  using T = cuda::KernelTable;
  CudaKernels kernels = {cuda::kernel_table(), at::kCPU, [] { return cuda::Stream(nullptr); }};
  note_members<&T::attention_mask, &T::attention_forward, &T::attention_backward, &T::residual_norm_forward,
               &T::residual_norm_backward, &T::qkv_heads_forward, &T::qkv_heads_backward, &T::head_gate_forward,
               &T::head_gate_backward, &T::smear_forward, &T::smear_backward, &T::relu_squared_forward,
               &T::relu_squared_backward, &T::cross_entropy_rows_bf16, &T::cross_entropy_rows_bf16_e5m2,
               &T::quantize_e4m3_bf16, &T::quantize_e4m3_float, &T::transpose_e5m2, &T::sum_partials,
               &T::embedding_forward, &T::embedding_backward, &T::adam_factors, &T::adam_items, &T::adam_update,
               &T::muon_factors, &T::muon_momentum, &T::muon_momentum_float, &T::muon_normalize,
               &T::muon_normalize_float, &T::muon_combine, &T::muon_apply, &T::second_moment_workspace,
               &T::second_moment_normalize, &T::symmetric_product>(kernels);
  kernels.has_float8_products = true;
  kernels.upload = [](std::span<const std::uint16_t> tokens, at::ScalarType type, Upload how) {
    Notes::add_bytes(tokens.data(), tokens.size_bytes());
    Notes::add(static_cast<std::uint64_t>(type) * 2 + (how == Upload::kAsynchronous ? 1 : 0));
    at::Tensor copied = at::empty({static_cast<std::int64_t>(tokens.size())}, at::kLong);
    std::copy(tokens.begin(), tokens.end(), copied.data_ptr<std::int64_t>());
    return copied.to(type);
  };
  return kernels;
}

/// The CPU's memory, zero, with a note of each size. Which memory is used again depends on nothing but the order of
/// calls, because optimisers copy the gradients' addresses only where they have changed.
class NotingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    Notes::add(bytes);
    if (bytes == 0) return {nullptr, nullptr, &release, c10::DeviceType::CPU};
    const std::size_t rounded = std::bit_ceil(bytes);
    std::vector<Block*>& unused = unused_blocks()[rounded];
    Block* block = nullptr;
    if (unused.empty()) {
      block = static_cast<Block*>(::operator new(sizeof(Block) + rounded, kAlignment));
      block->bytes = rounded;
    } else {
      block = unused.back();
      unused.pop_back();
    }
    void* const data = block + 1;
    std::memset(data, 0, bytes);
    return {data, data, &release, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }

  /// Forgets the memory that is unused now.
  static void restart() {
    for (const auto& [bytes, blocks] : unused_blocks()) {
      for (Block* const block : blocks) ::operator delete(block, kAlignment);
    }
    unused_blocks().clear();
  }

 private:
  static constexpr std::align_val_t kAlignment = std::align_val_t(64);
  struct alignas(64) Block {
    std::size_t bytes;  ///< of what follows
  };
  static void release(void* data) {
    if (data == nullptr) return;
    Block* const block = static_cast<Block*>(data) - 1;
    unused_blocks()[block->bytes].push_back(block);
  }
  /// By bytes. Never destroyed: memory may be released while the process ends.
  static std::map<std::size_t, std::vector<Block*>>& unused_blocks() {
    static auto* const blocks = new std::map<std::size_t, std::vector<Block*>>();
    return *blocks;
  }
};

inline void note_value(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    Notes::add(static_cast<std::uint64_t>(tensor.scalar_type()));
    for (const std::int64_t size : tensor.sizes()) Notes::add(static_cast<std::uint64_t>(size));
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) note_value(tensor);
  } else if (value.isDouble()) {
    const double number = value.toDouble();
    Notes::add_bytes(&number, sizeof number);
  } else if (value.isInt()) {
    Notes::add(static_cast<std::uint64_t>(value.toInt()));
  } else if (value.isBool()) {
    Notes::add(value.toBool() ? 1 : 0);
  } else if (value.isIntList()) {
    for (const std::int64_t number : value.toIntVector()) Notes::add(static_cast<std::uint64_t>(number));
  }
}

/// Products of matrices take long on a CPU, and nobody needs them here.
inline at::Tensor no_product(const at::Tensor& a, const at::Tensor& b) {
  return at::empty({a.size(0), b.size(1)}, a.options());
}
inline at::Tensor& no_product_out(const at::Tensor&, const at::Tensor&, at::Tensor& out) {
  return out;
}
inline at::Tensor no_product_plus(const at::Tensor&, const at::Tensor& a, const at::Tensor& b, const at::Scalar&,
                                  const at::Scalar&) {
  return no_product(a, b);
}
inline at::Tensor no_products(const at::Tensor& a, const at::Tensor& b) {
  return at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
}
inline at::Tensor& no_products_plus_out(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Scalar&,
                                        const at::Scalar&, at::Tensor& out) {
  return out;
}

/// Every mark is a millisecond after the one before.
class MillisecondMarks final : public DeviceMarks {
 public:
  int mark() noexcept override { return next_++; }
  double elapsed_ms(int from, int to) override { return to - from; }
  void reset() override { next_ = 0; }

 private:
  int next_ = 0;
};

/// The plugin of the GPU that notes.
inline const CudaPlugin& noting_plugin() {
  static CudaKernels kernels = noting_kernels();
  static CudaPlugin table;
  table.version = kCudaPluginVersion;
  table.device_count = [] { return 1; };
  table.open = [](const CudaOptions& options) { kernels.attention_products = options.attention_products; };
  table.facts = [] { return std::map<std::string, std::string>{{"gpu_uuid", "GPU-noting"}}; };
  table.synchronize = [] {};
  table.memory = [] { return DeviceMemory(); };
  table.make_marks = []() -> std::unique_ptr<DeviceMarks> { return std::make_unique<MillisecondMarks>(); };
  table.kernels = &kernels;
  return table;
}

inline std::unique_ptr<at::ObserverContext> note_operation(const at::RecordFunction& call) {
  Notes::add_bytes(call.name(), std::strlen(call.name()));
  for (const c10::IValue& input : call.inputs()) note_value(input);
  return nullptr;
}

/// Notes are taken as long as an object of this class lives. One at a time.
class NotingScope {
 public:
  NotingScope() : library_(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__) {
    library_.impl("mm", no_product);
    library_.impl("mm.out", no_product_out);
    library_.impl("addmm", no_product_plus);
    library_.impl("bmm", no_products);
    library_.impl("bmm.out", no_product_out);
    library_.impl("baddbmm.out", no_products_plus_out);
    Notes::restart();
    NotingAllocator::restart();
    c10::SetCPUAllocator(&allocator_, kTestAllocatorPriority);
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&note_operation).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~NotingScope() {
    at::removeCallback(handle_);
    c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), kTestAllocatorPriority);
  }
  NotingScope(const NotingScope&) = delete;
  NotingScope& operator=(const NotingScope&) = delete;

 private:
  static inline NotingAllocator allocator_;
  torch::Library library_;
  EngineContext context_;  ///< in which the plugin opens its GPU
  at::CallbackHandle handle_ = 0;
};

}  // namespace nanobench::core::testing
