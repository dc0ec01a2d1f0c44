#include "core/hardware/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <initializer_list>

#include "core/hardware/nvml_abi.h"

namespace nanobench::core {

/// The loaded and initialised library.
class NvmlLibrary {
 public:
  struct Opened {
    std::shared_ptr<const NvmlLibrary> library;
    std::string problem;
    GpuTrouble trouble = GpuTrouble::kNone;
  };
  static Opened open();

  ~NvmlLibrary() {
    if (is_initialised_ && functions_.shutdown != nullptr) functions_.shutdown();
    if (handle_ != nullptr) dlclose(handle_);
  }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const nvml::Functions& functions() const { return functions_; }

  /// "Driver Not Loaded", or the number if the library has no text.
  std::string text_of(nvml::Return result) const {
    const char* const text = functions_.error_text != nullptr ? functions_.error_text(result) : nullptr;
    return text != nullptr ? text : "NVML's error " + std::to_string(result);
  }

 private:
  NvmlLibrary() = default;
  void take_functions();

  template <class Function>
  void take(Function& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (void* const symbol = dlsym(handle_, name)) {
        function = reinterpret_cast<Function>(symbol);
        return;
      }
    }
  }

  void* handle_ = nullptr;
  bool is_initialised_ = false;
  nvml::Functions functions_;
};

namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr std::size_t kTextBytes = 96;  // more than any text that is asked for
constexpr unsigned int kMaxGrowth = 4;  // times that a list of processes grows between two questions
constexpr unsigned int kSpareProcesses = 8;
constexpr double kMilliwatts = 1000.0;
constexpr double kKilobytes = 1000.0;

std::string last_loader_error(const std::string& name) {
  const char* const text = dlerror();
  return text != nullptr ? text : name + " cannot be loaded";
}

/// The text that `ask` writes into a buffer of this size; empty if it fails.
template <class Ask>
std::string text(const Ask& ask) {
  std::array<char, kTextBytes> buffer{};
  return ask(buffer.data(), static_cast<unsigned int>(buffer.size() - 1)) == nvml::kSuccess ? buffer.data() : "";
}

std::string text(nvml::Return (*function)(char*, unsigned int)) {
  return function == nullptr ? "" : text([&](char* to, unsigned int size) { return function(to, size); });
}

std::string text(nvml::Return (*function)(nvml::Device, char*, unsigned int), nvml::Device device) {
  return function == nullptr ? "" : text([&](char* to, unsigned int size) { return function(device, to, size); });
}

template <class Number>
std::optional<Number> number(nvml::Return (*function)(nvml::Device, Number*), nvml::Device device) {
  Number value = 0;
  if (function == nullptr || function(device, &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

/// A number in units of 1 / `divisor` of the wanted unit.
std::optional<double> real(nvml::Return (*function)(nvml::Device, unsigned int*), nvml::Device device, double divisor) {
  const std::optional<unsigned int> value = number(function, device);
  return value ? std::optional(*value / divisor) : std::nullopt;
}

/// Value of this clock or sensor.
std::optional<double> real(nvml::Return (*function)(nvml::Device, int, unsigned int*), nvml::Device device, int which) {
  unsigned int value = 0;
  if (function == nullptr || function(device, which, &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

std::optional<nvml::Utilization> utilization_of(const nvml::Functions& nvml, nvml::Device device) {
  nvml::Utilization percent = {};
  if (nvml.utilization == nullptr || nvml.utilization(device, &percent) != nvml::kSuccess) return std::nullopt;
  return percent;
}

/// MB/s
std::optional<double> pcie_rate(const nvml::Functions& nvml, nvml::Device device, nvml::PcieCounter which) {
  const std::optional<double> kilobytes = real(nvml.pcie_throughput, device, which);
  return kilobytes ? std::optional(*kilobytes / kKilobytes) : std::nullopt;
}

std::optional<nvml::Memory> memory_of(const nvml::Functions& nvml, nvml::Device device) {
  nvml::Memory memory = {};
  if (nvml.memory == nullptr || nvml.memory(device, &memory) != nvml::kSuccess) return std::nullopt;
  return memory;
}

/// A setting that is reported together with its pending value.
template <class Number>
std::optional<bool> is_enabled(nvml::Return (*function)(nvml::Device, Number*, Number*), nvml::Device device) {
  Number now = 0, later = 0;
  if (function == nullptr || function(device, &now, &later) != nvml::kSuccess) return std::nullopt;
  return now == static_cast<Number>(nvml::kEnabled);
}

std::vector<std::string> names_of(unsigned long long reasons) {
  std::vector<std::string> names;
  for (const nvml::ThrottleBit& known : nvml::kThrottleBits) {
    if ((reasons & known.bit) != 0) names.emplace_back(known.name);
    reasons &= ~known.bit;
  }
  if (reasons != 0) names.emplace_back("other");  // of a driver newer than this list
  return names;
}

/// The list may grow between the query of its length and that of its contents.
template <class Process>
std::optional<std::vector<GpuProcess>> processes_by(nvml::Return (*function)(nvml::Device, unsigned int*, Process*),
                                                    nvml::Device device) {
  std::vector<Process> list(kSpareProcesses);
  for (unsigned int attempt = 0; attempt < kMaxGrowth; ++attempt) {
    auto count = static_cast<unsigned int>(list.size());
    const nvml::Return result = function(device, &count, list.data());
    if (result == nvml::kInsufficientSize) {
      list.resize(std::max<std::size_t>(count, list.size()) + kSpareProcesses);
      continue;
    }
    if (result != nvml::kSuccess) return std::nullopt;
    std::vector<GpuProcess> processes;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, list.size()); ++i) {
      GpuProcess& process = processes.emplace_back();
      process.pid = list[i].pid;
      if (list[i].used_bytes != nvml::kNotAvailable) process.used_bytes = static_cast<std::int64_t>(list[i].used_bytes);
    }
    return processes;
  }
  return std::nullopt;
}

std::optional<std::vector<GpuProcess>> processes_of(const nvml::Functions& nvml, nvml::Device device) {
  if (nvml.processes != nullptr) return processes_by(nvml.processes, device);
  if (nvml.first_processes != nullptr) return processes_by(nvml.first_processes, device);
  return std::nullopt;
}

/// 12080 is "12.8".
std::string cuda_text(const nvml::Functions& nvml) {
  int version = 0;
  if (nvml.cuda_version == nullptr || nvml.cuda_version(&version) != nvml::kSuccess) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

void NvmlLibrary::take_functions() {
  nvml::Functions& f = functions_;
  take(f.init, {"nvmlInit_v2", "nvmlInit"});
  take(f.shutdown, {"nvmlShutdown"});
  take(f.error_text, {"nvmlErrorString"});
  take(f.driver_version, {"nvmlSystemGetDriverVersion"});
  take(f.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  take(f.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  take(f.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  take(f.device_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  take(f.device_by_bus, {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"});
  take(f.name, {"nvmlDeviceGetName"});
  take(f.uuid, {"nvmlDeviceGetUUID"});
  take(f.memory, {"nvmlDeviceGetMemoryInfo"});
  take(f.power, {"nvmlDeviceGetPowerUsage"});
  take(f.power_limit, {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"});
  take(f.clock, {"nvmlDeviceGetClockInfo"});
  take(f.highest_clock, {"nvmlDeviceGetMaxClockInfo"});
  take(f.temperature, {"nvmlDeviceGetTemperature"});
  take(f.utilization, {"nvmlDeviceGetUtilizationRates"});
  take(f.pcie_throughput, {"nvmlDeviceGetPcieThroughput"});
  take(f.throttle_reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  take(f.ecc_mode, {"nvmlDeviceGetEccMode"});
  take(f.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  take(f.mig_mode, {"nvmlDeviceGetMigMode"});
  take(f.processes, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  take(f.first_processes, {"nvmlDeviceGetComputeRunningProcesses"});
}

NvmlLibrary::Opened NvmlLibrary::open() {
  const char* const asked = std::getenv("NANOBENCH_NVML");
  const std::string name = asked != nullptr && *asked != '\0' ? asked : kLibrary;
  const std::shared_ptr<NvmlLibrary> library(new NvmlLibrary);
  library->handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) return {nullptr, last_loader_error(name), GpuTrouble::kNoLibrary};
  library->take_functions();
  const nvml::Functions& functions = library->functions_;
  if (functions.init == nullptr || functions.device_count == nullptr || functions.device_by_index == nullptr)
    return {nullptr, name + " lacks the functions of NVML", GpuTrouble::kNoFunctions};
  if (const nvml::Return result = functions.init(); result != nvml::kSuccess)
    return {nullptr, "NVML does not start: " + library->text_of(result), GpuTrouble::kNotStarted};
  library->is_initialised_ = true;
  return {library, "", GpuTrouble::kNone};
}

GpuDevice::GpuDevice(std::shared_ptr<const NvmlLibrary> library, void* handle)
    : library_(std::move(library)), handle_(handle) {}

GpuFacts GpuDevice::facts() const {
  const nvml::Functions& nvml = library_->functions();
  auto* const device = static_cast<nvml::Device>(handle_);
  GpuFacts facts;
  facts.name = text(nvml.name, device);
  if (facts.name.empty()) facts.name = "NVIDIA GPU";
  facts.uuid = text(nvml.uuid, device);
  facts.driver = text(nvml.driver_version);
  facts.cuda_driver = cuda_text(nvml);
  if (const auto memory = memory_of(nvml, device)) facts.memory_bytes = static_cast<std::int64_t>(memory->total);
  facts.power_limit_w = real(nvml.power_limit, device, kMilliwatts);
  facts.max_sm_clock_mhz = real(nvml.highest_clock, device, nvml::kSmClock);
  facts.max_memory_clock_mhz = real(nvml.highest_clock, device, nvml::kMemoryClock);
  facts.has_ecc = is_enabled(nvml.ecc_mode, device);
  if (const auto mode = number(nvml.persistence_mode, device)) facts.is_persistent = *mode == nvml::kEnabled;
  facts.has_mig = is_enabled(nvml.mig_mode, device);
  return facts;
}

GpuState GpuDevice::state() const {
  const nvml::Functions& nvml = library_->functions();
  auto* const device = static_cast<nvml::Device>(handle_);
  GpuState state;
  if (const auto memory = memory_of(nvml, device)) state.used_bytes = static_cast<std::int64_t>(memory->used);
  state.power_w = real(nvml.power, device, kMilliwatts);
  state.sm_clock_mhz = real(nvml.clock, device, nvml::kSmClock);
  state.memory_clock_mhz = real(nvml.clock, device, nvml::kMemoryClock);
  state.temperature_c = real(nvml.temperature, device, nvml::kGpuSensor);
  if (const auto percent = utilization_of(nvml, device)) {
    state.utilization_percent = percent->gpu;
    state.memory_utilization_percent = percent->memory;
  }
  state.pcie_sent_mb_per_s = pcie_rate(nvml, device, nvml::kPcieSent);
  state.pcie_received_mb_per_s = pcie_rate(nvml, device, nvml::kPcieReceived);
  if (const auto reasons = number(nvml.throttle_reasons, device)) state.throttle_reasons = names_of(*reasons);
  state.processes = processes_of(nvml, device);
  return state;
}

GpuList list_gpus() {
  const NvmlLibrary::Opened opened = NvmlLibrary::open();
  if (!opened.library) return {{}, opened.problem, opened.trouble};
  const nvml::Functions& nvml = opened.library->functions();
  unsigned int count = 0;
  if (const nvml::Return result = nvml.device_count(&count); result != nvml::kSuccess)
    return {{}, "NVML does not count the GPUs: " + opened.library->text_of(result), GpuTrouble::kNotCounted};
  GpuList list;
  if (count == 0) list = {{}, "the NVIDIA driver sees no GPU", GpuTrouble::kNoGpu};
  for (unsigned int i = 0; i < count; ++i) {
    nvml::Device device = nullptr;
    const nvml::Return result = nvml.device_by_index(i, &device);
    if (result == nvml::kSuccess) {
      list.devices.emplace_back(opened.library, device);
    } else {
      list.trouble = GpuTrouble::kNoAnswer;
      list.problem = "GPU " + std::to_string(i) + " does not answer: " + opened.library->text_of(result);
    }
  }
  return list;
}

GpuLookup find_gpu(const std::string& id) {
  const NvmlLibrary::Opened opened = NvmlLibrary::open();
  if (!opened.library) return {std::nullopt, opened.problem, opened.trouble};
  const nvml::Functions& nvml = opened.library->functions();
  nvml::Device device = nullptr;
  std::optional<nvml::Return> result;
  unsigned int index = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), index);
  if (error == std::errc() && end == id.data() + id.size()) {
    result = nvml.device_by_index(index, &device);
  } else if (id.find(':') != std::string::npos) {
    if (nvml.device_by_bus != nullptr) result = nvml.device_by_bus(id.c_str(), &device);
  } else if (nvml.device_by_uuid != nullptr) {
    result = nvml.device_by_uuid(id.c_str(), &device);
  }
  if (!result) return {std::nullopt, "this driver finds no GPU by " + id, GpuTrouble::kNoSuchName};
  if (*result != nvml::kSuccess)
    return {std::nullopt, "GPU " + id + ": " + opened.library->text_of(*result), GpuTrouble::kNotFound};
  return {GpuDevice(opened.library, device), "", GpuTrouble::kNone};
}

std::optional<std::int64_t> free_gpu_bytes(const std::string& id) {
  const std::optional<GpuDevice> device = find_gpu(id).device;
  if (!device) return std::nullopt;
  const std::optional<std::int64_t> all = device->facts().memory_bytes, used = device->state().used_bytes;
  return all && used ? std::optional(std::max<std::int64_t>(*all - *used, 0)) : std::nullopt;
}

}  // namespace nanobench::core
