/// What an engine process is asked to do: one fully resolved run. The file format is in FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/config/train_config.h"
#include "core/protocol/operation_spec.h"
#include "core/protocol/run_choices.h"

namespace nanobench::core {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::int64_t kMaxProfiledSteps = 64;  ///< each has thousands of spans

/// Complete in itself: an engine reads this file and nothing else but the shards and files it names.
struct RunSpec {
  std::string run_id;      ///< the runner's name for this run
  TrainConfig config;      ///< what to train; no feature is left in it
  std::uint64_t seed = 1;  ///< of the initial parameters
  Dtype dtype = Dtype::kFloat32;
  DeviceChoice device;
  int threads = 0;           ///< of all processes together; 0: as many as the machine has cores
  bool pin_threads = false;  ///< each thread stays on one processor
  KernelChoice kernels = KernelChoice::kFused;
  CommunicatorChoice communicator = CommunicatorChoice::kAuto;
  std::vector<std::string> train_shards;
  std::vector<std::string> val_shards;
  std::optional<std::string> init_file;     ///< safetensors with every parameter; absent: initialised from the seed
  std::optional<std::string> trace_file;    ///< where to write the trace (JSON); absent: none
  std::optional<std::string> profile_file;  ///< where to write the profile (JSON); absent: none, and nothing is timed
  std::optional<OperationSpec> operation;   ///< to measure in place of training; `config` is then its last arm's
  Json mock;                                ///< settings of the mock engine; null for real engines
  Json external;                            ///< another trainer's command, for the adapter around it; null for ours
};

/// What an engine reads. Settings at their defaults are left out, so that an older engine runs every specification
/// that uses none of the newer ones.
Json to_json(const RunSpec& spec);

/// Throws Error{kInvalidArgument} with `source` and the JSON pointer; Error{kUnavailable} for another protocol version.
RunSpec read_run_spec(const Json& value, const std::string& source);

}  // namespace nanobench::core
