#include "core/hardware/gpu_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr std::array<std::string_view, 4> kDisturbing = {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown",
                                                         "hw_power_brake"};

/// The shortest text that reads back as the same number.
std::string text_of(double value) {
  std::array<char, 32> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), done.ptr};
}

void add(std::map<std::string, double>& counters, const std::string& name, const std::optional<GpuRange>& range) {
  if (!range) return;
  counters["gpu/" + name + "/min"] = range->min;
  counters["gpu/" + name + "/median"] = range->median;
  counters["gpu/" + name + "/max"] = range->max;
}

}  // namespace

std::map<std::string, std::string> gpu_environment(const GpuFacts& facts) {
  std::map<std::string, std::string> environment;
  const auto add_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) environment[name] = text;
  };
  const auto add_number = [&](const char* name, const std::optional<double>& value) {
    if (value) environment[name] = text_of(*value);
  };
  const auto add_switch = [&](const char* name, const std::optional<bool>& is_on) {
    if (is_on) environment[name] = *is_on ? "on" : "off";
  };
  add_text("gpu", facts.name);
  add_text("gpu_uuid", facts.uuid);
  add_text("driver", facts.driver);
  add_text("cuda_driver", facts.cuda_driver);
  if (facts.memory_bytes) environment["gpu_memory_bytes"] = std::to_string(*facts.memory_bytes);
  add_number("gpu_power_limit_w", facts.power_limit_w);
  add_number("gpu_max_sm_clock_mhz", facts.max_sm_clock_mhz);
  add_number("gpu_max_memory_clock_mhz", facts.max_memory_clock_mhz);
  add_switch("gpu_ecc", facts.has_ecc);
  add_switch("gpu_persistence", facts.is_persistent);
  add_switch("gpu_mig", facts.has_mig);
  return environment;
}

std::map<std::string, double> gpu_counters(const GpuSummary& summary) {
  std::map<std::string, double> counters;
  for (const GpuSampled& sampled : kGpuSampled) add(counters, sampled.name, summary.*sampled.range);
  if (summary.most_used_bytes) counters["gpu/used_bytes/max"] = static_cast<double>(*summary.most_used_bytes);
  if (summary.throttle_reasons) {
    for (const std::string& reason : *summary.throttle_reasons) counters[kGpuThrottlePrefix + reason] = 1.0;
  }
  if (summary.other_processes) counters[kGpuOthers] = static_cast<double>(summary.other_processes->size());
  counters["gpu/samples"] = summary.samples;
  return counters;
}

std::optional<std::string> gpu_warning(const GpuSummary& summary) {
  std::string text;
  if (summary.other_processes && !summary.other_processes->empty()) {
    const std::vector<std::int64_t>& pids = *summary.other_processes;
    text = pids.size() == 1 ? "another process was on the GPU (" : "other processes were on the GPU (";
    text += joined(pids) + ")";
  }
  std::vector<std::string> reasons;
  for (const std::string& reason : summary.throttle_reasons.value_or(std::set<std::string>())) {
    if (is_disturbing_throttle(reason)) reasons.push_back(reason);
  }
  if (!reasons.empty())
    text += (text.empty() ? "the GPU slowed down (" : ", and it slowed down (") + joined(reasons) + ")";
  if (text.empty()) return std::nullopt;
  return text + ": the times of this run are doubtful";
}

bool tells_gpu_disturbance(const std::string& counter) {
  const std::string_view of_process = kGpuOfProcessPrefix;
  if (counter.starts_with(of_process)) {
    const std::size_t end = counter.find('/', of_process.size());
    return end != std::string::npos && tells_gpu_disturbance("gpu" + counter.substr(end));
  }
  return counter == kGpuOthers || counter.starts_with(kGpuThrottlePrefix);
}

bool is_disturbing_throttle(const std::string& reason) {
  return std::find(kDisturbing.begin(), kDisturbing.end(), reason) != kDisturbing.end();
}

}  // namespace nanobench::core
