/// How a run computes, apart from its configuration (type, device, kernels, communicator), and how it ended. Plain
/// values.
#pragma once

#include <cstdint>
#include <optional>
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

/// What a run records on request, beyond its losses and times. None of it changes a bit of what is trained.
enum class RecordKind {
  kHealth,  ///< gradient norms and sizes of updates, by group and layer
};
NB_ENUM_NAMES(RecordKind, {RecordKind::kHealth, "health"});

/// One request: "health", or "health:10" for every tenth step.
struct RecordChoice {
  RecordKind kind = RecordKind::kHealth;
  std::optional<std::int64_t> every;  ///< steps between samples, from step 0; absent: at the steps of validations

  bool operator==(const RecordChoice&) const = default;
};

std::string to_string(const RecordChoice& choice);
/// nullopt for an unknown name, or a number of steps that is not a whole number from 1 to 10^9.
std::optional<RecordChoice> record_choice(std::string_view text);
/// Reads the list of requests at `key`; empty if it is absent. Throws LocatedError for unknown and repeated ones.
std::vector<RecordChoice> read_record(JsonObject& object, const char* key);
/// The request of this kind, or nullptr.
const RecordChoice* find_record(const std::vector<RecordChoice>& record, RecordKind kind);

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
