/// A request to an engine process: one fully resolved run. The file format is in FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/config/train_config.h"
#include "core/protocol/evaluation_spec.h"
#include "core/protocol/operation_spec.h"
#include "core/protocol/run_choices.h"

namespace nanobench::core {

inline constexpr int kProtocolVersion = 1;
/// Version 1 with turns; an engine says it only if it was offered turns.
inline constexpr int kTurnsProtocolVersion = 2;
inline constexpr std::int64_t kMaxProfiledSteps = 64;  ///< each has thousands of spans

/// In RunSpec::save_file it stands for the number of the step.
inline constexpr const char* kStepInFile = "{step}";

/// Self-contained: an engine reads only this file and the shards and files it names.
struct RunSpec {
  std::string run_id;      ///< the runner's name for this run
  TrainConfig config;      ///< what to train; all features are resolved
  std::uint64_t seed = 1;  ///< seed of the initial parameters
  Dtype dtype = Dtype::kFloat32;
  DeviceChoice device;
  int threads = 0;           ///< total over all processes; 0: one per core of the machine
  bool pin_threads = false;  ///< each thread is pinned to one processor
  KernelChoice kernels = KernelChoice::kFused;
  CommunicatorChoice communicator = CommunicatorChoice::kAuto;
  AskedMetrics metrics;
  std::vector<std::string> train_shards;
  std::vector<std::string> val_shards;
  std::optional<std::string> vocabulary;  ///< of the shards (core/data/vocabulary.h); only where loss.prefix is set
  std::optional<std::string> init_file;   ///< safetensors with every parameter; absent: initialised from the seed
  std::optional<std::string> trace_file;  ///< where to write the trace (JSON); absent: none
  /// Where to write checkpoints (core/data/checkpoint_header.h); absent: none. With kStepInFile in the name each has
  /// its own file, otherwise the newest takes the place of the one before it.
  std::optional<std::string> save_file;
  std::optional<std::string> resume_file;   ///< checkpoint of this run to continue from; absent: from the first step
  std::optional<std::string> profile_file;  ///< where to write the profile (JSON); absent: none, and nothing is timed
  std::optional<OperationSpec> operation;   ///< measured instead of training; `config` is then that of its last arm
  std::vector<EvaluationSpec> evaluations;  ///< answered after training; they change nothing of it
  bool only_evaluates = false;              ///< answers them with the parameters of init_file, and trains nothing
  Json mock;                                ///< settings of the mock engine; null for real engines
  Json external;                            ///< command of an external trainer, for its adapter; null for our engine
};

/// The JSON that an engine reads. Settings at their defaults are omitted, so that an older engine can run every
/// specification that uses no newer setting.
Json to_json(const RunSpec& spec);

/// Throws Error{kInvalidArgument} with `source` and the JSON pointer; Error{kUnavailable} for a different protocol
/// version.
RunSpec read_run_spec(const Json& value, const std::string& source);

}  // namespace nanobench::core
