/// The weights that runs keep: a folder of files beside the store for each run, and what the store knows of each file.
/// Thread-safe: no shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/enum_names.h"

namespace nanobench::results {

/// Which checkpoints of a run stay.
enum class KeepWeights {
  kLast,  ///< the newest one: each takes the place of the one before it
  kAll    ///< one for each validation
};
NB_ENUM_NAMES(KeepWeights, {KeepWeights::kLast, "last"}, {KeepWeights::kAll, "all"});

/// Beginning of the names of a run's facts, each of one file: "weights/last.safetensors". A value is a JSON object with
/// `step`, `bytes` and `digest` (digest_of_file).
inline constexpr const char* kWeightsFact = "weights/";
/// Names of facts of a run that was continued: the run with the same digest that was interrupted, and the step.
inline constexpr const char* kResumedRun = "resumed/run";
inline constexpr const char* kResumedStep = "resumed/step";

/// STORE.weights/run-17, as an absolute path; it need not exist.
std::filesystem::path weights_folder(const std::filesystem::path& store, std::int64_t run_id);

struct KeptFile {
  std::string name;  ///< within the run's folder
  std::int64_t step = 0;
  std::int64_t bytes = 0;
  std::string digest;
};

/// The fact that records the file.
std::pair<std::string, std::string> weights_fact(const KeptFile& file);
/// The files that a run's facts name, in the order of their steps.
std::vector<KeptFile> kept_files(const std::map<std::string, std::string>& facts);

/// Why the file in the run's folder is not as it was written ("is missing"); nullopt if it is. Reads it whole.
std::optional<std::string> problem_of(const std::filesystem::path& folder, const KeptFile& file);

}  // namespace nanobench::results
