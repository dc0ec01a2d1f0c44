// The GPUs that `nanobench doctor` tells of.
#include <cstdlib>

#include "core/base/text.h"
#include "core/hardware/nvml.h"
#include "tools/cli/doctor_checks.h"

namespace nanobench::tools {
namespace {

constexpr long kCudaOfLibTorch = 13;  // the major version that LibTorch is built with: tools/setup/libtorch.json

std::string driver_text(const core::GpuFacts& facts) {
  std::string text = facts.driver.empty() ? "of an unknown version" : printable(facts.driver);
  if (facts.cuda_driver.empty()) return text;
  text += ", runs programs of CUDA " + facts.cuda_driver + " and older";
  if (std::strtol(facts.cuda_driver.c_str(), nullptr, 10) < kCudaOfLibTorch)
    text += ": too old for LibTorch, which is built with CUDA " + std::to_string(kCudaOfLibTorch);
  return text;
}

Check driver_check(const core::GpuList& gpus) {
  Check check{"nvidia_driver", "NVIDIA driver", "absent", printable(gpus.problem),
              "GPUs; what they are, their clocks, power and other users, beside each run"};
  if (gpus.devices.empty()) return check;
  check.status = "ok";
  check.found = driver_text(gpus.devices.front().facts());
  if (!gpus.problem.empty()) check.found += "; " + printable(gpus.problem);
  return check;
}

/// "NVIDIA H100 80GB HBM3, 79.6 GiB, limit 700 W, up to 1980 MHz, in use by 2 processes"
std::string gpu_text(const core::GpuFacts& facts, const core::GpuState& state) {
  std::string text = printable(facts.name);
  if (facts.memory_bytes) text += ", " + format_bytes(static_cast<double>(*facts.memory_bytes));
  if (facts.power_limit_w) text += ", limit " + format_significant(*facts.power_limit_w, 3) + " W";
  if (facts.max_sm_clock_mhz) text += ", up to " + format_fixed(*facts.max_sm_clock_mhz, 0) + " MHz";
  if (facts.has_mig.value_or(false)) text += ", split into instances (MIG)";
  if (!facts.is_persistent.value_or(true)) text += ", persistence mode off: the first use of it is slow";
  if (state.processes && !state.processes->empty()) {
    const std::size_t count = state.processes->size();
    text += ", in use by " + std::to_string(count) + (count == 1 ? " process" : " processes") + ": times are doubtful";
  }
  return text;
}

}  // namespace

std::vector<Check> gpu_checks() {
  const core::GpuList gpus = core::list_gpus();
  std::vector<Check> checks = {driver_check(gpus)};
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    const std::string number = std::to_string(i);
    checks.push_back({"gpu_" + number, "GPU " + number, "ok",
                      gpu_text(gpus.devices[i].facts(), gpus.devices[i].state()),
                      "training on it, with the GPU plugin"});
  }
  return checks;
}

}  // namespace nanobench::tools
