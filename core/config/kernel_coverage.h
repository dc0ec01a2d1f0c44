/// Which parts of a training step the engine has a kernel for, on which device, under which settings: one table. The
/// engine chooses its code by it (engine/nn, engine/optim), states the parts without a kernel by it
/// (engine/train/engine_facts.h), and docs/kernels.md is its text. Plain C++, pure, thread-safe.
///
/// A condition is either a limit of the kernel, or a choice: a setting that asks for operations (dense attention, Adam
/// that is not fused). A part has a gap where a limit stands against its kernel and no choice does.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/config/train_config.h"

namespace nanobench::core {

enum class StepPart { kBlocks, kAttention, kAdam, kMuon };
enum class KernelDevice { kCpu, kGpu };

const char* to_string(StepPart part);  ///< as the fact no_kernel_for names it: "blocks", "attention", "adam", "muon"
const char* to_string(KernelDevice device);

/// Sizes that kernels take; the kernels themselves check against these.
namespace kernel_units {
inline constexpr std::int64_t kVector = 16;         ///< CPU: model and head dimensions are multiples
inline constexpr std::int64_t kHead = 16;           ///< GPU: head dimensions are multiples
inline constexpr std::int64_t kMaxHead = 256;       ///< GPU: of the blocks' kernels
inline constexpr std::int64_t kMaxAttention = 128;  ///< GPU: head dimension of attention's kernel
inline constexpr std::int64_t kRow = 8;             ///< GPU: model dimensions are multiples
inline constexpr std::int64_t kMaxRow = 1024;       ///< GPU: model dimension
inline constexpr std::int64_t kMatrixSide = 8;      ///< GPU: sides of Muon's matrices are multiples
}  // namespace kernel_units

/// What a choice of kernels depends on.
struct KernelQuery {
  const TrainConfig& config;
  bool is_float32;                  ///< tensors of the model: RunSpec::dtype
  ActivationPrecision activations;  ///< of the pass: a validation may be more precise than training

  /// A training pass.
  explicit KernelQuery(const TrainConfig& all, bool float32 = true)
      : config(all), is_float32(float32), activations(all.precision.activations) {}
};

struct KernelCondition {
  const char* needs;                  ///< for people: "float32 tensors"
  std::vector<const char*> settings;  ///< JSON pointers of the settings that it depends on
  bool (*holds)(const KernelQuery&);
  bool is_choice = false;
};

struct KernelRow {
  StepPart part;
  KernelDevice device;
  std::vector<KernelCondition> conditions;  ///< the kernel computes the part where all hold
};

const std::vector<KernelRow>& kernel_table();

/// The conditions that do not hold; empty: the kernel computes the part.
std::vector<const KernelCondition*> unmet_conditions(StepPart part, KernelDevice device, const KernelQuery& query);
bool has_kernel(StepPart part, KernelDevice device, const KernelQuery& query);

/// The parts with a gap where a run may use the kernels of `devices`: no device has a kernel, and the configuration
/// does not ask for operations.
std::set<StepPart> parts_without_kernel(const KernelQuery& query, std::span<const KernelDevice> devices);

/// The same for one group of parameters, whose tensors are float32.
bool muon_has_kernel(KernelDevice device, const OptimizerGroupConfig& group);

/// The table in Markdown, for the documentation.
std::string kernel_table_text();

}  // namespace nanobench::core
