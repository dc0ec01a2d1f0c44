#include "core/hardware/run_gpus.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/input_file.h"
#include "core/base/text.h"
#include "core/hardware/gpu_report.h"
#include "core/hardware/nvml_abi.h"

namespace nanobench::core {
namespace {

/// Indices of the packed numbers; ranges take three each.
enum PackedPlace : std::size_t {
  kProcess,
  kPid,
  kHost,
  kGpu,
  kIsWatched,
  kSamples,
  kRanges,
  kUsedBytes = kRanges + 3 * kGpuSampled.size(),
  kReasons,
  kOthers,
  kFirstOther
};
static_assert(kFirstOther + kMaxPackedProcesses <= static_cast<std::size_t>(kPackedGpu));

constexpr std::uint64_t kOtherReason = 1U << 20U;  // beyond NVML's bits: "other", and names of a later version
constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

void pack_range(std::vector<double>& values, std::size_t place, const std::optional<GpuRange>& range) {
  values[place] = range ? range->min : kAbsent;
  values[place + 1] = range ? range->median : kAbsent;
  values[place + 2] = range ? range->max : kAbsent;
}

std::optional<GpuRange> unpacked_range(const std::vector<double>& values, std::size_t place) {
  if (std::isnan(values[place])) return std::nullopt;
  return GpuRange{.min = values[place], .median = values[place + 1], .max = values[place + 2]};
}

double packed_reasons(const std::set<std::string>& reasons) {
  std::uint64_t bits = 0;
  for (const std::string& reason : reasons) {
    std::uint64_t bit = kOtherReason;
    for (const nvml::ThrottleBit& known : nvml::kThrottleBits) {
      if (reason == known.name) bit = known.bit;
    }
    bits |= bit;
  }
  return static_cast<double>(bits);
}

std::set<std::string> unpacked_reasons(double value) {
  const auto bits = static_cast<std::uint64_t>(value);
  std::set<std::string> reasons;
  for (const nvml::ThrottleBit& known : nvml::kThrottleBits) {
    if ((bits & known.bit) != 0) reasons.insert(known.name);
  }
  if ((bits & kOtherReason) != 0) reasons.insert("other");
  return reasons;
}

/// Whether the driver reported anything on it.
bool has_answered(const ProcessGpu& gpu) {
  if (!gpu.summary) return false;
  const GpuSummary& seen = *gpu.summary;
  return seen.most_used_bytes || seen.throttle_reasons || seen.other_processes ||
         std::any_of(kGpuSampled.begin(), kGpuSampled.end(),
                     [&](const GpuSampled& sampled) { return (seen.*sampled.range).has_value(); });
}

void add_to(std::optional<GpuRange>& sum, const std::optional<GpuRange>& range) {
  if (!range) return;
  if (!sum) sum.emplace();
  sum->min += range->min;
  sum->median += range->median;
  sum->max += range->max;
}

bool is_lower(const GpuRange& a, const GpuRange& b) {
  return std::pair(a.min, a.median) < std::pair(b.min, b.median);
}

bool is_higher(const GpuRange& a, const GpuRange& b) {
  return std::pair(a.max, a.median) > std::pair(b.max, b.median);
}

void combine(std::optional<GpuRange>& all, const std::optional<GpuRange>& range, GpuRangeOfAll how) {
  if (how == GpuRangeOfAll::kSum) return add_to(all, range);
  const auto is_worse = how == GpuRangeOfAll::kLowest ? is_lower : is_higher;
  if (range && (!all || is_worse(*range, *all))) all = range;
}

/// "GPU 3"; with several hosts "GPU 3 of process 11".
std::string name_of(const ProcessGpu& gpu, bool has_hosts) {
  const std::string name = "GPU " + std::to_string(gpu.gpu < 0 ? gpu.process : gpu.gpu);
  return has_hosts ? name + " of process " + std::to_string(gpu.process) : name;
}

void add_part(std::string& text, const std::string& part) {
  text += (text.empty() ? "" : ", ") + part;
}

void add_troubles(std::string& text, const std::string& name, const GpuSummary& seen) {
  const std::vector<std::int64_t> others = seen.other_processes.value_or(std::vector<std::int64_t>());
  std::vector<std::string> reasons;
  for (const std::string& reason : seen.throttle_reasons.value_or(std::set<std::string>())) {
    if (is_disturbing_throttle(reason)) reasons.push_back(reason);
  }
  if (!others.empty())
    add_part(text, (others.size() == 1 ? "another process was on " : "other processes were on ") + name + " (" +
                       joined(others) + ")");
  if (!reasons.empty()) add_part(text, name + " slowed down (" + joined(reasons) + ")");
}

}  // namespace

std::int64_t host_number() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  std::error_code ignored;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  std::uint64_t number = 14695981039346656037U;  // FNV-1a
  for (const char c : std::string(host.data()) + boot + space)
    number = (number ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<std::int64_t>(number >> 12U);  // 52 bits
}

std::vector<double> packed(const ProcessGpu& gpu) {
  std::vector<double> values(kPackedGpu, kAbsent);
  values[kProcess] = gpu.process;
  values[kPid] = static_cast<double>(gpu.pid);
  values[kHost] = static_cast<double>(gpu.host);
  values[kGpu] = static_cast<double>(gpu.gpu);
  values[kIsWatched] = gpu.summary ? 1 : 0;
  if (!gpu.summary) return values;
  const GpuSummary& seen = *gpu.summary;
  values[kSamples] = seen.samples;
  for (std::size_t i = 0; i < kGpuSampled.size(); ++i) pack_range(values, kRanges + 3 * i, seen.*kGpuSampled[i].range);
  if (seen.most_used_bytes) values[kUsedBytes] = static_cast<double>(*seen.most_used_bytes);
  if (seen.throttle_reasons) values[kReasons] = packed_reasons(*seen.throttle_reasons);
  if (!seen.other_processes) return values;
  const std::size_t count = std::min<std::size_t>(seen.other_processes->size(), kMaxPackedProcesses);
  values[kOthers] = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) values[kFirstOther + i] = static_cast<double>((*seen.other_processes)[i]);
  return values;
}

ProcessGpu unpacked(const std::vector<double>& values) {
  ProcessGpu gpu{.process = static_cast<int>(values.at(kProcess)),
                 .pid = static_cast<std::int64_t>(values.at(kPid)),
                 .host = static_cast<std::int64_t>(values.at(kHost)),
                 .gpu = static_cast<std::int64_t>(values.at(kGpu)),
                 .summary = {}};
  if (values.at(kIsWatched) == 0) return gpu;
  GpuSummary& seen = gpu.summary.emplace();
  seen.samples = static_cast<int>(values.at(kSamples));
  for (std::size_t i = 0; i < kGpuSampled.size(); ++i)
    seen.*kGpuSampled[i].range = unpacked_range(values, kRanges + 3 * i);
  if (!std::isnan(values.at(kUsedBytes))) seen.most_used_bytes = static_cast<std::int64_t>(values[kUsedBytes]);
  if (!std::isnan(values.at(kReasons))) seen.throttle_reasons = unpacked_reasons(values[kReasons]);
  if (std::isnan(values.at(kOthers))) return gpu;
  seen.other_processes.emplace();
  for (std::size_t i = 0; i < static_cast<std::size_t>(values[kOthers]); ++i)
    seen.other_processes->push_back(static_cast<std::int64_t>(values.at(kFirstOther + i)));
  return gpu;
}

void exclude_own_processes(std::vector<ProcessGpu>& gpus) {
  std::set<std::pair<std::int64_t, std::int64_t>> own;  // host and pid
  for (const ProcessGpu& gpu : gpus) own.emplace(gpu.host, gpu.pid);
  for (ProcessGpu& gpu : gpus) {
    if (!gpu.summary || !gpu.summary->other_processes) continue;
    std::erase_if(*gpu.summary->other_processes, [&](std::int64_t pid) { return own.contains({gpu.host, pid}); });
  }
}

std::map<std::string, double> run_gpu_counters(const std::vector<ProcessGpu>& gpus) {
  GpuSummary all;
  std::set<std::pair<std::int64_t, std::int64_t>> others;  // one may be on several GPUs
  std::map<std::string, double> counters;
  int watched = 0;
  for (const ProcessGpu& gpu : gpus) {
    if (!has_answered(gpu)) continue;
    const GpuSummary& seen = *gpu.summary;
    all.samples = watched == 0 ? seen.samples : std::min(all.samples, seen.samples);
    ++watched;
    for (const GpuSampled& sampled : kGpuSampled) combine(all.*sampled.range, seen.*sampled.range, sampled.of_all);
    if (seen.most_used_bytes) all.most_used_bytes = std::max(all.most_used_bytes.value_or(0), *seen.most_used_bytes);
    if (seen.throttle_reasons) {
      if (!all.throttle_reasons) all.throttle_reasons.emplace();
      all.throttle_reasons->insert(seen.throttle_reasons->begin(), seen.throttle_reasons->end());
    }
    if (seen.other_processes) {
      if (!all.other_processes) all.other_processes.emplace();
      for (const std::int64_t pid : *seen.other_processes) {
        if (others.emplace(gpu.host, pid).second) all.other_processes->push_back(pid);
      }
    }
    const std::string prefix = kGpuOfProcessPrefix + std::to_string(gpu.process);
    for (const auto& [name, value] : gpu_counters(seen)) counters[prefix + name.substr(3)] = value;
  }
  const bool is_any_asked =
      std::any_of(gpus.begin(), gpus.end(), [](const ProcessGpu& gpu) { return gpu.summary.has_value(); });
  if (!is_any_asked) return {};  // no driver's library
  if (watched > 0) counters.merge(gpu_counters(all));
  counters["gpu/watched"] = watched;
  return counters;
}

std::optional<std::string> run_gpu_warning(const std::vector<ProcessGpu>& gpus) {
  std::set<std::int64_t> hosts;
  bool is_any_watched = false;
  for (const ProcessGpu& gpu : gpus) {
    hosts.insert(gpu.host);
    is_any_watched = is_any_watched || has_answered(gpu);
  }
  std::string troubles, silent;
  for (const ProcessGpu& gpu : gpus) {
    const std::string name = name_of(gpu, hosts.size() > 1);
    if (!has_answered(gpu))
      add_part(silent, name);
    else
      add_troubles(troubles, name, *gpu.summary);
  }
  if (!is_any_watched) return std::nullopt;  // no driver's library: nobody expects to be told
  if (!troubles.empty()) troubles += ": the times of this run are doubtful";
  if (!silent.empty()) {
    troubles +=
        (troubles.empty() ? "" : "; ") + silent + " could not be watched: whether something disturbed it is not known";
  }
  return troubles.empty() ? std::nullopt : std::optional(troubles);
}

}  // namespace nanobench::core
