/// A suite file: which cells to measure, on what data, with which seeds. suite.schema.json describes the same format
/// for editors. Plain values, no shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/protocol/run_choices.h"
#include "results/records.h"
#include "results/weights.h"
#include "suites/design/data_source.h"
#include "suites/design/evaluations.h"
#include "suites/design/external_suite.h"

namespace nanobench::suites {

using results::Design;

/// One entry of "features": an id, {"id", "value"} to choose a value other than the design's, or in factorials {"id",
/// "values"}.
struct FeatureChoice {
  std::string id;
  std::optional<std::string> value;
  std::vector<std::string> values;
};

/// One direction of a sweep.
struct Axis {
  std::string feature;             ///< feature id; empty: `path` is set
  std::string path;                ///< JSON pointer of one setting of the official configuration
  std::vector<core::Json> values;  ///< the others are compared with the first
};

struct Limits {
  double seconds_per_run = 6 * 3600;  ///< a run that takes longer is killed: timed_out
  double silence_seconds = 600;       ///< a run that sends no event for this long is killed too
};

struct Suite {
  std::string source;  ///< file, for messages
  std::string name;
  std::string title;
  std::string text;
  Design design = Design::kHistory;
  std::vector<std::string> records;                  ///< history
  std::string base_record;                           ///< for the other designs
  std::map<std::string, std::string> base_features;  ///< settings on top of the base record
  core::Json base_patch = core::Json::object();      ///< merge patch on the base's official configuration
  std::optional<std::int64_t> ranks;                 ///< ranks of every cell; replace the scale's
  std::optional<std::int64_t> processes;             ///< processes of every run; without `ranks`: as many ranks
  std::vector<FeatureChoice> features;               ///< empty: every feature that the base has at `after`
  std::vector<Axis> axes;                            ///< sweep
  std::optional<std::int64_t> runs;                  ///< fractional_factorial: cells, a power of two; screening: cells
  std::optional<std::int64_t> resolution;            ///< fractional_factorial: instead of `runs`; default 4
  std::int64_t arms = 2;                             ///< a_a
  std::vector<std::string> claims;                   ///< claims: ids; empty: all that need runs
  std::vector<core::Json> inline_features;           ///< feature files written into the suite
  std::string scale = "nano";
  std::vector<std::uint64_t> seeds = {1};
  DataRequest data;                            ///< unused by external trainers
  std::vector<EvaluationRequest> evaluations;  ///< of every run of our own engine, after training
  core::Dtype dtype = core::Dtype::kFloat32;
  int threads = 0;                                          ///< 0: all cores
  core::DeviceChoice device;                                ///< device of every run
  core::KernelChoice kernels = core::KernelChoice::kFused;  ///< kernels of every run
  core::AskedMetrics metrics;                               ///< that every run measures besides
  std::uint64_t order_seed = 1;                             ///< seed of the shuffled execution order
  std::optional<results::SequentialLook> sequential;        ///< set by a runner that adds seeds; not from the file
  std::optional<double> target;  ///< validation loss of "time to target"; absent: the first cell's final loss
  Limits limits;
  std::optional<results::KeepWeights> keep_weights;  ///< absent: none
  core::Json mock;                                   ///< settings of the mock engine; null for the native one
  std::optional<ExternalTrainer> external;           ///< an external trainer instead of our engine
};

/// Command-line overrides. Absent members keep the file's value.
struct SuiteOverrides {
  std::optional<std::string> scale;
  std::optional<std::vector<std::uint64_t>> seeds;
  std::optional<DataRequest> data;
  std::optional<int> threads;
  std::optional<core::DeviceChoice> device;
  std::optional<core::KernelChoice> kernels;
  std::optional<core::AskedMetrics> metrics;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> processes;
  std::optional<std::uint64_t> order_seed;
};

/// Throw Error{kInvalidArgument} with file and JSON pointer; unknown keys are errors.
Suite read_suite(const core::Json& value, const std::string& source);
Suite read_suite_file(const std::filesystem::path& file);

Suite with_overrides(Suite suite, const SuiteOverrides& overrides);

}  // namespace nanobench::suites
