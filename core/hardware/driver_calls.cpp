#include "core/hardware/driver_calls.h"

#include <dlfcn.h>

#include <cstdlib>

namespace nanobench::core {
namespace {

/// The part of CUPTI's public binary interface that we call, declared here so that the build needs no CUDA header.
/// Numbers and layouts are the library's: do not change them.
constexpr int kSuccess = 0;
constexpr int kDriverApi = 1;  // a domain of callbacks
constexpr int kEnter = 0;      // a call begins, not ends

struct CallbackData {
  int site;
  const char* function;
};

using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

struct CuptiFunctions {
  int (*subscribe)(void** subscriber, Callback callback, void* user) = nullptr;
  int (*unsubscribe)(void* subscriber) = nullptr;
  int (*enable_domain)(std::uint32_t enable, void* subscriber, int domain) = nullptr;

  bool are_complete() const { return subscribe != nullptr && unsubscribe != nullptr && enable_domain != nullptr; }
};

CuptiFunctions load_functions() {
  const char* const asked = std::getenv("NANOBENCH_CUPTI");
  CuptiFunctions functions;
  void* const library = dlopen(asked != nullptr ? asked : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return functions;  // and it stays open: callbacks may be on their way
  const auto take = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  };
  take(functions.subscribe, "cuptiSubscribe");
  take(functions.unsubscribe, "cuptiUnsubscribe");
  take(functions.enable_domain, "cuptiEnableDomain");
  return functions;
}

}  // namespace

std::optional<DriverCall> driver_call_of(std::string_view function) {
  if (function.starts_with("cuLaunchHostFunc")) return std::nullopt;
  if (function.starts_with("cuLaunch")) return DriverCall::kLaunch;
  if (function.starts_with("cuGraphLaunch")) return DriverCall::kGraphLaunch;
  if (function.starts_with("cuMemcpy")) return DriverCall::kCopy;
  if (function.starts_with("cuMemsetD")) return DriverCall::kFill;
  if (function.starts_with("cuMemAlloc") || function.starts_with("cuMemCreate")) return DriverCall::kAllocation;
  for (const std::string_view wait : {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"}) {
    if (function.starts_with(wait)) return DriverCall::kWait;
  }
  return std::nullopt;
}

std::unique_ptr<DriverCallCounter> DriverCallCounter::start() {
  const CuptiFunctions cupti = load_functions();
  if (!cupti.are_complete()) return nullptr;
  std::unique_ptr<DriverCallCounter> counter(new DriverCallCounter);
  void* subscriber = nullptr;
  if (cupti.subscribe(&subscriber, &called, counter.get()) != kSuccess) return nullptr;
  counter->subscriber_ = subscriber;
  counter->unsubscribe_ = cupti.unsubscribe;
  if (cupti.enable_domain(1, subscriber, kDriverApi) != kSuccess) return nullptr;
  return counter;
}

DriverCallCounter::~DriverCallCounter() {
  if (subscriber_ != nullptr) unsubscribe_(subscriber_);
}

void DriverCallCounter::called(void* counter, int domain, std::uint32_t /*id*/, const void* data) {
  const auto& call = *static_cast<const CallbackData*>(data);
  if (domain != kDriverApi || call.site != kEnter || call.function == nullptr) return;
  if (const std::optional<DriverCall> kind = driver_call_of(call.function))
    ++static_cast<DriverCallCounter*>(counter)->counts_[static_cast<std::size_t>(*kind)];
}

}  // namespace nanobench::core
