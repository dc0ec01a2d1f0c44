/// Checkpoints: the parameters of a run at a step, what it needs to continue to the bit, and its specification, in one
/// safetensors file (core/data/FORMAT.md). Thread-safe: no state.
#pragma once

#include <filesystem>

#include "core/data/checkpoint_header.h"
#include "core/protocol/run_spec.h"
#include "engine/train/safetensors.h"

namespace nanobench::core {

struct Checkpoint {
  std::int64_t step = 0;  ///< the next step to train
  std::string engine_version;
  RunSpec spec;             ///< of the run that wrote it
  NamedTensors parameters;  ///< for Parameters::assign()
  NamedTensors state;       ///< for continuing the run; names have a slash
};

enum class CheckpointPart { kParameters, kWhole };

/// With kParameters, `state` stays empty and is not read. Throws Error as read_checkpoint_header(), read_run_spec() and
/// read_safetensors() do: for a file that is cut, is no checkpoint, or has a newer version.
Checkpoint read_checkpoint(const std::filesystem::path& file, CheckpointPart part = CheckpointPart::kParameters);

/// Parameters to start from: those of a checkpoint, or all tensors of another safetensors file.
NamedTensors read_parameters(const std::filesystem::path& file);

/// Writes the file atomically; throws as write_safetensors() does.
WrittenFile write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);

}  // namespace nanobench::core
