#include "engine/train/run_device.h"

#include <unistd.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/hardware/gpu_report.h"

namespace nanobench::core {
namespace {

cuda::DeviceAttentionProducts products_of(AttentionProducts products) {
  return products == AttentionProducts::kWarpgroup ? cuda::DeviceAttentionProducts::kWarpgroup
                                                   : cuda::DeviceAttentionProducts::kWarp;
}

int index_of(const DeviceChoice& choice, const HostShare& host, int devices) {
  const int index = choice.index.value_or(host.rank);
  if (index < devices) return index;
  const std::string what = !choice.index && host.size > 1 ? "process " + std::to_string(host.rank) + " of the " +
                                                                std::to_string(host.size) + " of this host has none"
                                                          : "there is no cuda:" + std::to_string(index);
  throw Error(ErrorCode::kUnavailable,
              "this machine has " + std::to_string(devices) + (devices == 1 ? " GPU" : " GPUs") + "; " + what);
}

}  // namespace

RunDevice::RunDevice(const DeviceChoice& choice, const HostShare& host, const GpuConfig& config) {
  if (choice.is_gpu) open(load_cuda_plugin(), choice, host, config);
}

RunDevice::RunDevice(const CudaPlugin& plugin, const DeviceChoice& choice, const HostShare& host,
                     const GpuConfig& config) {
  open(plugin, choice, host, config);
}

void RunDevice::open(const CudaPlugin& plugin, const DeviceChoice& choice, const HostShare& host,
                     const GpuConfig& config) {
  try {
    const int index = index_of(choice, host, plugin.device_count());
    plugin.open({.index = index,
                 .expandable_segments = config.expandable_segments,
                 .initial_backward = config.initial_backward,
                 .attention_products = products_of(config.attention_products)});
    device_ = plugin.kernels->device;
    if (!device_.is_cpu()) device_.set_index(static_cast<at::DeviceIndex>(index));
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kUnavailable, "cannot use a GPU: " + first_line(error.what_without_backtrace()));
  }
  plugin_ = &plugin;
  EngineContext::current().set_gpu(plugin.kernels);
  gpu_ = find_gpu(plugin.facts().at("gpu_uuid")).device;
}

std::map<std::string, std::string> RunDevice::facts() const {
  if (plugin_ == nullptr) return {};
  std::map<std::string, std::string> facts = plugin_->facts();
  if (gpu_) facts.merge(gpu_environment(gpu_->facts()));
  return facts;
}

void RunDevice::synchronize() const {
  if (plugin_ != nullptr) plugin_->synchronize();
}

std::optional<DeviceMemory> RunDevice::memory() const {
  if (plugin_ == nullptr) return std::nullopt;
  return plugin_->memory();
}

std::unique_ptr<DeviceMarks> RunDevice::make_marks() const {
  return plugin_ == nullptr ? nullptr : plugin_->make_marks();
}

std::unique_ptr<GpuMonitor> RunDevice::make_monitor(bool takes_turns) const {
  if (!gpu_) return nullptr;
  return std::make_unique<GpuMonitor>(*gpu_, GpuMonitorOptions{.root = takes_turns ? getppid() : getpid()});
}

Communicator& RunDevice::communicator_for(const DeviceGroup& group) {
  if (plugin_ == nullptr || group.host->size() == 1) return *group.host;
  communicator_ = plugin_->make_communicator(group);
  return *communicator_;
}

}  // namespace nanobench::core
