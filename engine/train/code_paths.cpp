#include "engine/train/code_paths.h"

#include "core/protocol/run_event.h"
#include "engine/ops/attention_plan.h"

namespace nanobench::core {
namespace {

std::string attention_path(const TrainConfig& config, const GPT& model) {
  if (config.attention.implementation == AttentionImplementation::kDense) return "dense";
  const AttentionPlan plan(BlockMask({}, {}), model.dtype(), {}, model.device());
  return plan.uses_kernel(config.model.head_dim()) ? "kernel" : "tiled";
}

std::string no_kernel_for(const std::map<std::string, std::string>& paths, const OptimizerSet& optimizers) {
  StepParts parts;
  if (paths.at("blocks") != "fused") parts.insert("blocks");
  if (paths.at("attention") == "tiled") parts.insert("attention");
  if (optimizers.lacks_adam_kernel()) parts.insert("adam");
  if (optimizers.lacks_muon_kernel()) parts.insert("muon");
  return text_of(parts);
}

}  // namespace

std::map<std::string, std::string> code_paths(const RunSpec& spec, const GPT& model, const OptimizerSet& optimizers) {
  std::map<std::string, std::string> paths = optimizers.paths();
  paths["blocks"] = model.fuses_blocks(Pass::kTraining) ? "fused" : "op by op";
  paths["attention"] = attention_path(spec.config, model);
  paths["no_kernel_for"] = spec.kernels == KernelChoice::kReference ? "all" : no_kernel_for(paths, optimizers);
  return paths;
}

}  // namespace nanobench::core
