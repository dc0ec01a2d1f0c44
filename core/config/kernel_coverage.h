/// One table of the parts of a training step that have a kernel, with the devices and settings it needs. The engine
/// uses it to choose its code (engine/nn, engine/optim) and to report parts without a kernel
/// (engine/train/engine_facts.h); docs/kernels.md is its text. Plain C++, pure, thread-safe.
///
/// A condition is either a limit of the kernel or a choice: a setting that asks for operations (dense attention,
/// unfused Adam). A part has a gap when a limit rules out its kernel and no choice does. A part without a row for a
/// device has one code there, whatever the settings.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/config/train_config.h"

namespace nanobench::core {

enum class StepPart { kEmbeddings, kBlocks, kAttention, kHead, kAdam, kMuon };
inline constexpr std::array kStepParts = {StepPart::kEmbeddings, StepPart::kBlocks, StepPart::kAttention,
                                          StepPart::kHead,       StepPart::kAdam,   StepPart::kMuon};
enum class KernelDevice { kCpu, kGpu };

/// Its name in the fact no_kernel_for.
NB_ENUM_NAMES(StepPart, {StepPart::kEmbeddings, "embeddings"}, {StepPart::kBlocks, "blocks"},
              {StepPart::kAttention, "attention"}, {StepPart::kHead, "head"}, {StepPart::kAdam, "adam"},
              {StepPart::kMuon, "muon"});
NB_ENUM_NAMES(KernelDevice, {KernelDevice::kCpu, "CPU"}, {KernelDevice::kGpu, "GPU"});

/// Sizes that kernels accept; the kernels themselves check these limits.
namespace kernel_units {
inline constexpr std::int64_t kVector = 16;         ///< CPU: model and head dimensions are multiples of it
inline constexpr std::int64_t kHead = 16;           ///< GPU: head dimensions are multiples of it
inline constexpr std::int64_t kMaxHead = 256;       ///< GPU: max head dimension of the blocks' kernels
inline constexpr std::int64_t kMaxAttention = 128;  ///< GPU: max head dimension of the attention kernel
inline constexpr std::int64_t kRow = 8;             ///< GPU: model dimensions are multiples of it
inline constexpr std::int64_t kMaxRow = 1024;       ///< GPU: max model dimension
inline constexpr std::int64_t kFloat8 = 16;         ///< GPU: dimensions of 8-bit products are multiples of it
inline constexpr std::int64_t kMatrixSide = 8;      ///< GPU: sides of Muon's matrices are multiples of it
}  // namespace kernel_units

/// Inputs to the choice of kernels.
struct KernelQuery {
  const TrainConfig& config;
  bool is_float32;                  ///< dtype of the model's tensors: RunSpec::dtype
  ActivationPrecision activations;  ///< precision of the pass: validation may be more precise than training

  /// A training pass.
  explicit KernelQuery(const TrainConfig& all, bool float32 = true)
      : config(all), is_float32(float32), activations(all.precision.activations) {}
};

struct KernelCondition {
  const char* needs;                  ///< readable text: "float32 tensors"
  std::vector<const char*> settings;  ///< JSON pointers of the settings it depends on
  bool (*holds)(const KernelQuery&);
  bool is_choice = false;
};

struct KernelRow {
  StepPart part;
  KernelDevice device;
  std::vector<KernelCondition> conditions;  ///< the kernel computes the part if all hold
};

const std::vector<KernelRow>& kernel_table();

/// Conditions that do not hold; empty: the kernel computes the part.
std::vector<const KernelCondition*> unmet_conditions(StepPart part, KernelDevice device, const KernelQuery& query);
bool has_kernel(StepPart part, KernelDevice device, const KernelQuery& query);

/// The parts with a gap in a run that may use the kernels of `devices`: none of the devices has a kernel, and the
/// configuration does not ask for operations.
std::set<StepPart> parts_without_kernel(const KernelQuery& query, std::span<const KernelDevice> devices);

/// The same for one group of parameters, whose tensors are float32.
bool muon_has_kernel(KernelDevice device, const OptimizerGroupConfig& group);

/// The table in Markdown, for the documentation.
std::string kernel_table_text();

}  // namespace nanobench::core
