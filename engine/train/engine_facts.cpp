#include "engine/train/engine_facts.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>
#include <vector>

#include "core/base/build_info.h"
#include "core/config/kernel_coverage.h"
#include "core/protocol/run_event.h"
#include "engine/kernels/engine_context.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

/// Devices whose kernels take the model's tensors; both if a GPU is emulated.
std::vector<KernelDevice> devices_of(const GPT& model) {
  std::vector<KernelDevice> devices;
  if (takes_device_tensors(model.device())) devices.push_back(KernelDevice::kGpu);
  if (model.device().is_cpu()) devices.push_back(KernelDevice::kCpu);
  return devices;
}

std::string attention_path(const KernelQuery& query, const std::vector<KernelDevice>& devices) {
  if (query.config.attention.implementation == AttentionImplementation::kDense) return "dense";
  const bool has_one = std::any_of(devices.begin(), devices.end(), [&](KernelDevice device) {
    return has_kernel(StepPart::kAttention, device, query);
  });
  return has_one ? "kernel" : "tiled";
}

std::string no_kernel_for(const KernelQuery& query, const std::vector<KernelDevice>& devices) {
  StepParts parts;
  for (const StepPart part : parts_without_kernel(query, devices)) parts.insert(enum_name(part));
  return text_of(parts);
}

}  // namespace

std::map<std::string, std::string> engine_facts(const RunSpec& spec) {
  return {{"libtorch", TORCH_VERSION},
          {"device", "cpu"},
          {"cpu_capability", at::get_cpu_capability()},
          {"dtype", enum_name(spec.dtype)},
          {"vector_path", enum_name(EngineContext::current().cpu_path())},
          {"bfloat16", enum_name(EngineContext::current().bfloat16_path())},
          {"compiler", build_info().compiler},
          {"build_type", build_info().build_type}};
}

std::map<std::string, std::string> code_paths(const RunSpec& spec, const GPT& model, const OptimizerSet& optimizers) {
  std::map<std::string, std::string> paths = optimizers.paths();
  paths["blocks"] = model.fuses_blocks(Pass::kTraining) ? "fused" : "op by op";
  const KernelQuery query(spec.config, model.dtype() == at::kFloat);
  const std::vector<KernelDevice> devices = devices_of(model);
  paths["attention"] = attention_path(query, devices);
  paths["no_kernel_for"] = spec.kernels == KernelChoice::kReference ? "all" : no_kernel_for(query, devices);
  return paths;
}

}  // namespace nanobench::core
