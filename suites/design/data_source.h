/// A suite's "data": its text, and the DataSet on disk that it names. The generated corpus and tokenised texts are made
/// once, atomically, in a cache folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/data/data_set.h"

namespace nanobench::suites {

/// "synthetic", "text:FILE[,FILE...]" or "shards:DIR".
struct DataRequest {
  enum class Kind { kSynthetic, kText, kShards };
  Kind kind = Kind::kSynthetic;
  std::vector<std::filesystem::path> paths;

  bool operator==(const DataRequest&) const = default;
};

/// Throws Error{kInvalidArgument} naming `source` (e.g. "suite.json: /data" or "--data").
DataRequest parse_data_request(const std::string& text, const std::string& source);

/// The text that parse_data_request reads as this request.
std::string text_of(const DataRequest& request);

/// The same request with relative paths resolved against `folder`: a suite file names files relative to itself.
DataRequest relative_to(DataRequest request, const std::filesystem::path& folder);

/// Tokens that the runs need to avoid repeating an epoch, for data that can be made in any size.
struct TokenNeed {
  std::int64_t train_tokens = 0;
  std::int64_t val_tokens = 0;
};

/// Sizes of the generated corpus: capped powers of two, so that suites of similar size share one data set.
TokenNeed synthetic_sizes(const TokenNeed& need);

/// Finds the data, or makes it. Throws the same errors as core/data.
core::DataSet open_data(const DataRequest& request, const TokenNeed& need, const std::filesystem::path& cache_dir);

/// $XDG_CACHE_HOME/nanobench, else ~/.cache/nanobench, else a folder in the system's temporary folder.
std::filesystem::path default_cache_dir();

}  // namespace nanobench::suites
