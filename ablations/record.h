/// A record of the speedrun: its parent, plus feature values, plus a patch for the remaining settings. It also holds
/// the published figures. Plain values; thread-safe when not modified.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::ablations {

/// Feature id -> value name.
using FeatureSettings = std::map<std::string, std::string>;

/// Figures published or logged on 8 H100; used for comparison, never for training.
struct PublishedFigures {
  struct FinalValLoss {
    double mean = 0;
    std::optional<double> sd;  ///< absent for one log
    std::int64_t n = 0;        ///< logs
  };
  std::optional<double> minutes;        ///< official time of the record table
  std::optional<double> train_seconds;  ///< training clock of the logs, mean
  std::optional<std::int64_t> steps;
  std::optional<double> step_avg_ms;  ///< training clock over timed steps
  std::optional<FinalValLoss> final_val_loss;
  std::optional<std::int64_t> tokens_per_step;
  std::optional<double> peak_mib;  ///< allocated on one GPU
  std::string source;              ///< log folder in the repository modded-nanogpt
  /// The logs are of another script than this configuration, as the record's note says: their times do not show what
  /// lies between this record and its neighbours.
  bool is_of_another_script = false;
};

struct Record {
  std::string id;  ///< "record17", the file's stem
  std::int64_t number = 0;
  std::string title;
  std::string date;                   ///< YYYY-MM-DD of the record table
  std::optional<std::string> parent;  ///< absent for a root, whose patch is complete
  FeatureSettings features;           ///< applied to the parent
  core::Json patch;                   ///< object over TrainConfig, applied after the features
  PublishedFigures published;
  std::vector<std::string> changes;  ///< short phrases: what changed from the parent
  /// Where the published figures are of another script than this configuration, or it lacks something; else empty.
  std::string note;
  std::string source;  ///< the file it was read from, for messages
};

/// Throws Error{kInvalidArgument} with `source` and the JSON pointer.
Record read_record(const core::Json& json, const std::string& source);

}  // namespace nanobench::ablations
