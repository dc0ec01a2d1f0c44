/// How a run computes, apart from its configuration (type, device, kernels, communicator), and how it ended. Plain
/// values.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"

namespace nanobench::core {

/// The dtype of parameters and arithmetic; float64 is for accuracy, not for speed.
enum class Dtype { kFloat32, kFloat64 };
NB_ENUM_NAMES(Dtype, {Dtype::kFloat32, "float32"}, {Dtype::kFloat64, "float64"});

/// kFused: a kernel wherever one fits. kReference: separate operations, for comparison.
enum class KernelChoice { kFused, kReference };
NB_ENUM_NAMES(KernelChoice, {KernelChoice::kFused, "fused"}, {KernelChoice::kReference, "reference"});

/// How the processes of a run communicate; kAuto lets the engine choose.
enum class CommunicatorChoice { kAuto, kSharedMemory, kTcp, kMpi };
NB_ENUM_NAMES(CommunicatorChoice, {CommunicatorChoice::kAuto, "auto"},
              {CommunicatorChoice::kSharedMemory, "shared_memory"}, {CommunicatorChoice::kTcp, "tcp"},
              {CommunicatorChoice::kMpi, "mpi"});

/// Where a run computes: the CPU, the GPU whose index is the process's number on its host, or one GPU by index.
struct DeviceChoice {
  bool is_gpu = false;
  std::optional<int> index;  ///< GPU index, if chosen; GPUs only

  bool operator==(const DeviceChoice&) const = default;
};
inline constexpr DeviceChoice kCpuDevice{};
inline constexpr DeviceChoice kGpuDevice{.is_gpu = true};

/// "cpu", "cuda" or "cuda:N".
std::string to_string(const DeviceChoice& device);
/// nullopt for any other text.
std::optional<DeviceChoice> device_choice(std::string_view text);
/// The member "device"; the CPU when it is absent. Throws LocatedError for any other text.
DeviceChoice read_device(JsonObject& object);

/// What a run measures only where it is asked for it: losses of the last validation's tokens, by group
/// (core/data/token_groups.h), and the health of training. It changes no loss and no time.
enum class AskedMetric {
  kLossAtPosition,        ///< by the place of the token before it in its document, from 1: the context that there is
  kLossByDocumentLength,  ///< by the tokens of the document
  kLossByTokenFrequency,  ///< by the target's rank in the training data: 1 is the most frequent token
  kHealth,                ///< gradient norms and sizes of updates, by group and layer (engine/train/training_health.h)
};
NB_ENUM_NAMES(AskedMetric, {AskedMetric::kLossAtPosition, "loss_at_position"},
              {AskedMetric::kLossByDocumentLength, "loss_by_document_length"},
              {AskedMetric::kLossByTokenFrequency, "loss_by_token_frequency"}, {AskedMetric::kHealth, "health"});
using AskedMetrics = std::set<AskedMetric>;

/// Whether it is a loss of tokens by group, which is reported by bucket (BucketsEvent).
constexpr bool is_by_bucket(AskedMetric metric) {
  return metric != AskedMetric::kHealth;
}
/// Those among `metrics` that are.
AskedMetrics metrics_by_bucket(const AskedMetrics& metrics);

/// Their names, in the order of the enumeration.
std::vector<std::string> names_of(const AskedMetrics& metrics);
/// The member "metrics", a list of names; none when it is absent. Throws LocatedError for a name that there is not.
AskedMetrics read_asked_metrics(JsonObject& object);
/// The member "health_every"; nullopt when it is absent. REQUIRES that `metrics` were read. Throws LocatedError for a
/// number below 1, and where the health of training is not asked for.
std::optional<std::int64_t> read_health_every(JsonObject& object, const AskedMetrics& metrics);
inline constexpr std::int64_t kMaxHealthEvery = 1'000'000'000;

enum class RunOutcome {
  kCompleted,    ///< all steps done
  kDiverged,     ///< a loss was NaN or infinite
  kTimedOut,     ///< killed by the runner's limit, or silent for too long
  kCrashed,      ///< a signal, a non-zero exit, or a broken event stream
  kOutOfMemory,  ///< reported by the engine or by the kernel
  kUnsupported,  ///< the engine cannot do what the run asks for
  kInterrupted,  ///< the user stopped it; `run` resumes it
};
NB_ENUM_NAMES(RunOutcome, {RunOutcome::kCompleted, "completed"}, {RunOutcome::kDiverged, "diverged"},
              {RunOutcome::kTimedOut, "timed_out"}, {RunOutcome::kCrashed, "crashed"},
              {RunOutcome::kOutOfMemory, "out_of_memory"}, {RunOutcome::kUnsupported, "unsupported"},
              {RunOutcome::kInterrupted, "interrupted"});

}  // namespace nanobench::core
