#include "engine/train/code_paths.h"

#include <vector>

#include "engine/ops/attention_plan.h"

namespace nanobench::core {
namespace {

std::string attention_path(const TrainConfig& config, const GPT& model) {
  if (config.attention.implementation == AttentionImplementation::kDense) return "dense";
  const AttentionPlan plan(BlockMask({}, {}), model.dtype(), {}, model.device());
  return plan.uses_kernel(config.model.head_dim()) ? "kernel" : "tiled";
}

std::string no_kernel_for(const std::map<std::string, std::string>& paths, const OptimizerSet& optimizers) {
  std::vector<std::string> parts;
  if (paths.at("blocks") != "fused") parts.emplace_back("blocks");
  if (paths.at("attention") == "tiled") parts.emplace_back("attention");
  if (optimizers.lacks_adam_kernel()) parts.emplace_back("adam");
  if (optimizers.lacks_muon_kernel()) parts.emplace_back("muon");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "none" : text;
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
