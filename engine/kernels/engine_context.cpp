#include "engine/kernels/engine_context.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/base/error.h"
#include "core/hardware/processors.h"

namespace nanobench::core {
namespace {

std::atomic<EngineContext*> current_context{nullptr};
std::mutex making_threads;

template <class Path>
void check_available(const std::optional<Path>& path, const std::vector<Path>& available) {
  if (path && std::find(available.begin(), available.end(), *path) == available.end())
    throw Error(ErrorCode::kUnavailable, "this processor has no " + enum_name(*path));
}

}  // namespace

EngineContext& EngineContext::current() {
  if (EngineContext* const context = current_context) return *context;
  static EngineContext defaults{Defaults{}};
  return defaults;
}

EngineContext::EngineContext() : before_(current_context) {
  const EngineContext& outer = current();
  uses_kernels_ = outer.uses_kernels_;
  cpu_path_ = outer.cpu_path_;
  bfloat16_path_ = outer.bfloat16_path_;
  threads_ = outer.threads_;
  first_processor_ = outer.first_processor_;
  gpu_ = outer.gpu_;
  current_context = this;
}

EngineContext::~EngineContext() {
  current_context = before_;
}

void EngineContext::set_cpu_path(std::optional<CpuPath> path) {
  check_available(path, available_cpu_paths());
  cpu_path_ = path.value_or(best_cpu_path());
}

void EngineContext::set_bfloat16_path(std::optional<Bfloat16Path> path) {
  check_available(path, available_bfloat16_paths());
  bfloat16_path_ = path;
}

ThreadPool& EngineContext::threads() {
  const std::lock_guard lock(making_threads);
  if (!threads_) threads_ = std::make_shared<ThreadPool>(available_processors());
  return *threads_;
}

void EngineContext::set_threads(int threads, std::optional<int> first_processor) {
  const std::lock_guard lock(making_threads);
  const int size = std::max(1, threads);
  if (threads_ && threads_->size() == size && first_processor_ == first_processor) return;
  threads_.reset();
  threads_ = std::make_shared<ThreadPool>(size, first_processor);
  first_processor_ = first_processor;
}

ThreadPool& kernel_threads() {
  return EngineContext::current().threads();
}

}  // namespace nanobench::core
