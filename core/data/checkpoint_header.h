/// What a checkpoint says of itself: a safetensors file whose `__metadata__` names format, version, step and the
/// specification of the run. The format is in FORMAT.md. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace nanobench::core {

/// Increases when an older program could misread a newer file.
inline constexpr int kCheckpointVersion = 1;

struct CheckpointHeader {
  std::int64_t step = 0;       ///< steps whose updates the parameters have: the next one trained is this one
  std::string engine_version;  ///< version and revision of the engine that wrote it
  Json spec;                   ///< of the run, as read_run_spec() reads it (core/protocol/run_spec.h)
};

/// The entries of `__metadata__`.
std::map<std::string, std::string> to_metadata(const CheckpointHeader& header);

/// nullopt: another safetensors file. Throws Error{kUnavailable} naming `source` for a newer version, and
/// Error{kDataLoss} for a header that is incomplete.
std::optional<CheckpointHeader> checkpoint_header(const std::map<std::string, std::string>& metadata,
                                                  const std::string& source);

/// The header of a file; reads no tensor, but checks that the file is whole. Throws as the above, as
/// read_safetensors_header() does, and Error{kInvalidArgument} for a file that is no checkpoint.
CheckpointHeader read_checkpoint_header(const std::filesystem::path& file);

/// Names of tensors with a slash are state that only a continued run needs ("optimizer/..."); all others are parameters
/// and tables of the model, under the names that files of initial parameters use.
inline bool is_checkpoint_state(const std::string& tensor_name) {
  return tensor_name.find('/') != std::string::npos;
}

}  // namespace nanobench::core
