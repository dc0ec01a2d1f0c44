// A plugin whose GPUs are two names in the driver's library: everything is computed on the CPU, by operations.
#include <torch/version.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/distributed/communicator.h"
#include "engine/train/cuda_plugin.h"

namespace {

using namespace nanobench::core;

int opened = -1;

void open(const CudaOptions& options) {
  opened = options.index;
}

std::map<std::string, std::string> facts() {
  return {{"gpu_uuid", "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(opened)}};
}

class Marks final : public DeviceMarks {
 public:
  int mark() noexcept override {
    marks_.push_back(Clock::now());
    return static_cast<int>(marks_.size()) - 1;
  }
  double elapsed_ms(int from, int to) override {
    return std::chrono::duration<double, std::milli>(at(to) - at(from)).count();
  }
  void reset() override { marks_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at(int mark) const { return marks_[static_cast<std::size_t>(mark)]; }
  std::vector<Clock::time_point> marks_;
};

/// Everything through the processes' own communicator.
class ByTheHost final : public Communicator {
 public:
  explicit ByTheHost(Communicator& host) : host_(host) {}
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  double waited_ms() const override { return host_.waited_ms(); }
  std::string name() const override { return host_.name(); }
  HostShare host_share() const override { return host_.host_share(); }

 protected:
  void run(const Collective& collective) override { run_by(host_, collective); }
  WorkHandle start(const Collective& collective) override { return start_by(host_, collective); }

 private:
  Communicator& host_;
};

const CudaKernels kKernels{{}, at::kCPU, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* nanobench_cuda_plugin() {
  static const CudaPlugin plugin = {
      .version = kCudaPluginVersion,
      .libtorch = TORCH_VERSION,
      .device_count = [] { return 2; },
      .open = open,
      .facts = facts,
      .synchronize = [] {},
      .memory = [] { return DeviceMemory{}; },
      .make_marks = []() -> std::unique_ptr<DeviceMarks> { return std::make_unique<Marks>(); },
      .make_communicator = [](const DeviceGroup& group) -> std::unique_ptr<Communicator> {
        return std::make_unique<ByTheHost>(*group.host);
      },
      .kernels = &kKernels};
  return &plugin;
}
