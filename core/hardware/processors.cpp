#include "core/hardware/processors.h"

#include "core/base/input_file.h"

#include <sched.h>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <thread>
#include <utility>

namespace nanobench::core {

std::optional<int> processors_of_quota(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0.0, period = 0.0;
  if (!(words >> quota >> period) || quota <= 0.0 || period <= 0.0) return std::nullopt;  // "max 100000": none
  return static_cast<int>(std::ceil(quota / period));
}

int available_processors() {
  cpu_set_t allowed;
  int count = static_cast<int>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) count = CPU_COUNT(&allowed);
  return std::max(1, std::min(count, processors_of_quota(first_line_of("/sys/fs/cgroup/cpu.max")).value_or(count)));
}

namespace {

int topology(int processor, const char* name, int otherwise) {
  std::istringstream file(
      first_line_of("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/" + name));
  int value = 0;
  return file >> value ? value : otherwise;
}

}  // namespace

std::vector<Processor> usable_processors() {
  cpu_set_t allowed;
  std::vector<Processor> processors;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return processors;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(number, &allowed)) continue;
    processors.push_back({number, topology(number, "physical_package_id", 0), topology(number, "core_id", number)});
  }
  return processors;
}

std::vector<std::vector<int>> disjoint_processors(std::vector<Processor> processors, int sets, int each) {
  const auto place = [](const Processor& one) { return std::pair(one.package, one.core); };
  std::stable_sort(processors.begin(), processors.end(),
                   [&](const Processor& a, const Processor& b) { return place(a) < place(b); });
  std::vector<Processor> cores = processors;
  cores.erase(std::unique(cores.begin(), cores.end(),
                          [&](const Processor& a, const Processor& b) { return place(a) == place(b); }),
              cores.end());
  const auto needed = static_cast<std::size_t>(sets) * static_cast<std::size_t>(each);
  if (cores.size() >= needed) processors = cores;
  std::vector<std::vector<int>> result;
  for (std::size_t next = 0;
       result.size() < static_cast<std::size_t>(sets) && next + static_cast<std::size_t>(each) <= processors.size();) {
    std::vector<int>& set = result.emplace_back();
    for (int i = 0; i < each; ++i) set.push_back(processors[next++].number);
  }
  return result;
}

namespace {

bool has_bfloat16_units() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") && available_cpu_paths().back() == CpuPath::kAvx512;
#else
  return false;
#endif
}

bool are_bfloat16_units_fast() {
#if defined(__x86_64__)
  return has_bfloat16_units() && __builtin_cpu_is("amd");
#else
  return false;
#endif
}

}  // namespace

std::vector<CpuPath> available_cpu_paths() {
  std::vector<CpuPath> paths = {CpuPath::kGeneric};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) paths.push_back(CpuPath::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    paths.push_back(CpuPath::kAvx512);
#endif
  return paths;
}

CpuPath best_cpu_path() {
  static const CpuPath best = available_cpu_paths().back();
  return best;
}

std::vector<Bfloat16Path> available_bfloat16_paths() {
  std::vector<Bfloat16Path> paths = {Bfloat16Path::kEmulated};
  if (has_bfloat16_units()) paths.push_back(Bfloat16Path::kAvx512Bf16);
  return paths;
}

Bfloat16Path best_bfloat16_path(CpuPath path) {
  static const Bfloat16Path best = are_bfloat16_units_fast() ? Bfloat16Path::kAvx512Bf16 : Bfloat16Path::kEmulated;
  return path == CpuPath::kAvx512 ? best : Bfloat16Path::kEmulated;
}

}  // namespace nanobench::core
