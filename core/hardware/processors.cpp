#include "core/hardware/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

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
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string cpu_max;
  std::getline(file, cpu_max);
  return std::max(1, std::min(count, processors_of_quota(cpu_max).value_or(count)));
}

}  // namespace nanobench::core
