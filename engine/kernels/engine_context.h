/// What this process computes with: kernels or operations, the processor's vector path, threads, and GPU kernels. It is
/// the engine's only process-wide state, because autograd calls operations from its own threads. Plain C++. Do not
/// change it during a computation.
#pragma once

#include <memory>
#include <optional>

#include "core/hardware/processors.h"
#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

struct CudaKernels;

/// Created at start-up, and by each test that needs other settings. It is the current context from construction to
/// destruction; then the previous one is current again, so contexts nest. Without one, a process has a default context:
/// kernels wherever they fit, the best path, one thread per processor, no GPU.
class EngineContext {
 public:
  /// Starts with the settings of the current context, and shares its threads until set_threads().
  EngineContext();
  ~EngineContext();
  EngineContext(const EngineContext&) = delete;
  EngineContext& operator=(const EngineContext&) = delete;

  static EngineContext& current();

  /// Whether models and optimisers use the kernels that fit (core/config/kernel_coverage.h), or separate operations for
  /// comparison. Optimisers read this at construction.
  bool uses_kernels() const { return uses_kernels_; }
  void set_uses_kernels(bool uses) { uses_kernels_ = uses; }

  /// The vector path of the kernels; nullopt: the best of this processor. Throws Error{kUnavailable} for a path that
  /// the processor lacks.
  CpuPath cpu_path() const { return cpu_path_; }
  void set_cpu_path(std::optional<CpuPath> path);

  /// How products of bfloat16 matrices are computed; nullopt: the best for the vector path.
  Bfloat16Path bfloat16_path() const { return bfloat16_path_.value_or(best_bfloat16_path(cpu_path_)); }
  void set_bfloat16_path(std::optional<Bfloat16Path> path);

  /// The threads of the kernels: one per processor that this process may use, unless set otherwise.
  ThreadPool& threads();
  void set_threads(int threads, std::optional<int> first_processor = std::nullopt);

  /// The kernels of the open GPU (engine/ops/kernels.h), which must outlive the context; null: none.
  const CudaKernels* gpu() const { return gpu_; }
  void set_gpu(const CudaKernels* kernels) { gpu_ = kernels; }

 private:
  struct Defaults {};
  explicit EngineContext(Defaults) : before_(nullptr) {}

  EngineContext* before_;
  bool uses_kernels_ = true;
  CpuPath cpu_path_ = best_cpu_path();
  std::optional<Bfloat16Path> bfloat16_path_;
  std::shared_ptr<ThreadPool> threads_;
  std::optional<int> first_processor_;
  const CudaKernels* gpu_ = nullptr;
};

}  // namespace nanobench::core
