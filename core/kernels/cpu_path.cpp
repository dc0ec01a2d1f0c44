#include "core/kernels/cpu_path.h"

#include <algorithm>
#include <atomic>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

CpuPath& chosen() {
  static CpuPath path = available_cpu_paths().back();
  return path;
}

std::atomic<bool> fused_ops{true};

}  // namespace

const char* to_string(CpuPath path) {
  switch (path) {
    case CpuPath::kGeneric: return "generic";
    case CpuPath::kAvx2: return "avx2";
    case CpuPath::kAvx512: return "avx512";
  }
  return "?";
}

std::vector<CpuPath> available_cpu_paths() {
  std::vector<CpuPath> paths = {CpuPath::kGeneric};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) paths.push_back(CpuPath::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    paths.push_back(CpuPath::kAvx512);
#endif
  return paths;
}

CpuPath cpu_path() {
  return chosen();
}

void set_cpu_path(std::optional<CpuPath> path) {
  const std::vector<CpuPath> paths = available_cpu_paths();
  if (path && std::find(paths.begin(), paths.end(), *path) == paths.end())
    throw Error(ErrorCode::kUnavailable, std::string("this processor has no ") + to_string(*path));
  chosen() = path.value_or(paths.back());
}

bool uses_fused_ops() {
  return fused_ops;
}

void set_fused_ops(bool uses) {
  fused_ops = uses;
}

}  // namespace nanobench::core
